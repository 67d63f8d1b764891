// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where the processor lacks exclusive loads and stores (before ARMv6, and as Thumb-1 code) the compiler calls functions
// for atomic operations, and the kernel has the one for them all at a fixed place. libgcc has every one of them in one
// object, of 5 KiB; these are those that heapsonde calls. Whatever else is called is taken from libgcc, with its own.
#include <stdint.h>

typedef int compare_and_swap_function(uint32_t old, uint32_t new, volatile uint32_t *place);
typedef void barrier_function(void);
#define kernel_compare_and_swap (*(compare_and_swap_function *)0xffff0fc0) // 0: it was done
#define kernel_barrier          (*(barrier_function *)0xffff0fa0)

// By another name than in C, where the compiler knows it and its types.
#define LIBRARY(result, function, name)                                                                                \
    result function __asm__(name) __attribute__((weak, visibility("hidden")));                                         \
    result function

LIBRARY(void, synchronize(void), "__sync_synchronize")
{
    kernel_barrier();
}

LIBRARY(uint32_t, fetch_and_add(volatile uint32_t *place, uint32_t number), "__sync_fetch_and_add_4")
{
    uint32_t before;
    do
        before = *place;
    while (kernel_compare_and_swap(before, before + number, place) != 0);
    return before;
}

LIBRARY(uint32_t, add_and_fetch(volatile uint32_t *place, uint32_t number), "__sync_add_and_fetch_4")
{
    return fetch_and_add(place, number) + number;
}

LIBRARY(uint32_t, fetch_and_subtract(volatile uint32_t *place, uint32_t number), "__sync_fetch_and_sub_4")
{
    return fetch_and_add(place, 0 - number);
}

LIBRARY(uint32_t, fetch_and_or(volatile uint32_t *place, uint32_t bits), "__sync_fetch_and_or_4")
{
    uint32_t before;
    do
        before = *place;
    while (kernel_compare_and_swap(before, before | bits, place) != 0);
    return before;
}

LIBRARY(uint32_t, fetch_and_flip(volatile uint32_t *place, uint32_t bits), "__sync_fetch_and_xor_4")
{
    uint32_t before;
    do
        before = *place;
    while (kernel_compare_and_swap(before, before ^ bits, place) != 0);
    return before;
}

// Of the word at `place` what `mask` has is compared and replaced; the rest may change meanwhile. Returns what was
// there.
static uint32_t swap_part(volatile uint32_t *place, uint32_t mask, uint32_t old, uint32_t new)
{
    for (;;) {
        uint32_t before = *place;
        if ((before & mask) != old)
            return before;
        if (kernel_compare_and_swap(before, (before & ~mask) | new, place) == 0)
            return before;
    }
}

LIBRARY(uint32_t, compare_and_swap(volatile uint32_t *place, uint32_t old, uint32_t new),
        "__sync_val_compare_and_swap_4")
{
    return swap_part(place, UINT32_MAX, old, new);
}

// Compares and swaps `count` bytes at `address`, all in one word.
static uint32_t swap_bytes(uintptr_t address, unsigned count, uint32_t old, uint32_t new)
{
    unsigned at = address % sizeof(uint32_t);
#ifdef __ARM_BIG_ENDIAN
    unsigned shift = 8 * (sizeof(uint32_t) - count - at);
#else
    unsigned shift = 8 * at;
#endif
    uint32_t low = UINT32_MAX >> 8 * (sizeof(uint32_t) - count);
    uint32_t before =
        swap_part((volatile uint32_t *)(address - at), low << shift, (old & low) << shift, (new &low) << shift);
    return before >> shift & low;
}

LIBRARY(uint8_t, compare_and_swap_byte(volatile uint8_t *place, uint8_t old, uint8_t new),
        "__sync_val_compare_and_swap_1")
{
    return (uint8_t)swap_bytes((uintptr_t)place, 1, old, new);
}

LIBRARY(uint16_t, compare_and_swap_half(volatile uint16_t *place, uint16_t old, uint16_t new),
        "__sync_val_compare_and_swap_2")
{
    return (uint16_t)swap_bytes((uintptr_t)place, 2, old, new);
}
