// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reads a stack without faults: a walk knows a range of readable pages, and asks the kernel once for each page outside
// of it.
#ifndef HEAPSONDE_UNWIND_STACK_MEMORY_H
#define HEAPSONDE_UNWIND_STACK_MEMORY_H

#include "arch/word.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_STACK_PAGE 4096

// The readable range: a word at `address` can be read when address - low < span.
struct hs_stack_memory {
    uintptr_t low;
    uintptr_t span;
};

#pragma GCC visibility push(hidden)
// The range extended by the word at `address`, or moved there. Span 0 when the word cannot be read.
struct hs_stack_memory hs_stack_memory_extend(struct hs_stack_memory memory, uintptr_t address);

// Copies at most a page. False: it cannot be read. `may_go`: another thread may unmap it meanwhile; it never faults
// then where the kernel has process_vm_readv(2).
bool hs_memory_copy(uintptr_t address, void *to, size_t length, bool may_go);

// Whether `length` bytes can be read. The answer for a page is remembered.
bool hs_memory_readable(uintptr_t address, size_t length);

// What lies above a stack pointer, perhaps behind the end of the stack: there may be memory of others, which they may
// unmap at any time. `own`: the range that is read as it is. `address` is a multiple of a word's size.
enum { HS_STACK_WINDOW = 16 }; // words; a page has several
struct hs_stack_window {
    const struct hs_stack_memory *own;
    uintptr_t at, words[HS_STACK_WINDOW];
};
bool hs_stack_window_read(struct hs_stack_window *window, uintptr_t address, uintptr_t *word);

// Whether there is room on the calling thread's stack, which may be one for signal handlers alone: for all that the
// recorder does, 8 KiB below the caller, or for a walk, 4 KiB.
bool hs_stack_has_room(void);
bool hs_stack_has_page(void);

// Starts with the page of `sp`, on which the caller's stack is known to lie.
static inline void hs_stack_memory_start(struct hs_stack_memory *memory, uintptr_t sp)
{
    memory->low = sp & ~(uintptr_t)(HS_STACK_PAGE - 1);
    memory->span = HS_STACK_PAGE - (sizeof(uintptr_t) - 1);
}

static inline bool hs_stack_memory_check(struct hs_stack_memory *memory, uintptr_t address)
{
#if defined(__mips__) || (defined(__arm__) && !defined(__ARM_FEATURE_UNALIGNED))
    if (address % sizeof(uintptr_t))
        return false;
#endif
    if (__builtin_expect(address - memory->low < memory->span, 1))
        return true;
    *memory = hs_stack_memory_extend(*memory, address);
    return memory->span != 0;
}

// One word that has been checked. Relaxed and volatile: the compiler must not move the read.
// Not instrumented: a stack has parts that AddressSanitizer forbids to read.
__attribute__((no_sanitize_address)) static inline uintptr_t hs_stack_word(uintptr_t address)
{
    if (HS_WORDS_FOREIGN)
        return hs_word_load((const void *)address);
    return *(const volatile uintptr_t *)address;
}

static inline bool hs_stack_memory_read(struct hs_stack_memory *memory, uintptr_t address, uintptr_t *value)
{
    if (!hs_stack_memory_check(memory, address))
        return false;
    *value = hs_stack_word(address);
    return true;
}
#pragma GCC visibility pop

#endif
