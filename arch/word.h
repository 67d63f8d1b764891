// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Words of the machine whose stacks and files are looked at. That is the machine this runs on, unless HS_ARCH_HEADER
// (arch/arch.h) says otherwise: then its words may be of another size and order, and files are seen as they were
// linked, not as a loader left them.
#ifndef HEAPSONDE_ARCH_WORD_H
#define HEAPSONDE_ARCH_WORD_H

#include <stdbool.h>
#include <stdint.h>

#ifdef HS_ARCH_HEADER
#include HS_ARCH_HEADER
#else
#define HS_WORD_SIZE     sizeof(uintptr_t)
#define HS_WORDS_SWAPPED false // of another byte order than this machine's
#define HS_WORDS_FOREIGN false // of another size or order
#define HS_WORDS_LINKED  false // pointers in files are as the linker wrote them
#endif

#define HS_IN_ORDER_16(value) (HS_WORDS_SWAPPED ? __builtin_bswap16(value) : (value))
#define HS_IN_ORDER_32(value) (HS_WORDS_SWAPPED ? __builtin_bswap32(value) : (value))
#define HS_IN_ORDER_64(value) (HS_WORDS_SWAPPED ? __builtin_bswap64(value) : (value))

// A word in memory, aligned or not.
static inline uintptr_t hs_word_load(const void *at)
{
    uintptr_t word;
    uint32_t half;
    if (HS_WORD_SIZE == sizeof word) {
        __builtin_memcpy(&word, at, sizeof word);
        return sizeof word == 8 ? (uintptr_t)HS_IN_ORDER_64((uint64_t)word) : HS_IN_ORDER_32((uint32_t)word);
    }
    __builtin_memcpy(&half, at, sizeof half);
    return HS_IN_ORDER_32(half);
}

#endif
