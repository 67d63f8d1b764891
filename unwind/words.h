// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The source of a stack's words: the stack itself, or a copy of a part of it. With a copy, only the copy is read.
#ifndef HEAPSONDE_UNWIND_WORDS_H
#define HEAPSONDE_UNWIND_WORDS_H

#include "unwind/stack_memory.h"

#include <stddef.h>

struct hs_words {
    struct hs_stack_memory live;
    const uint8_t *copy; // NULL: the stack itself
    uintptr_t start;     // where the copy was taken
    size_t size;
    bool beyond; // a word above the copy was asked for
};

static inline bool hs_words_of_copy(struct hs_words *words, uintptr_t address, uintptr_t *value)
{
    uintptr_t at = address - words->start;
    if (at < words->size && words->size - at >= HS_WORD_SIZE) {
        *value = hs_word_load(words->copy + at);
        return true;
    }
    words->beyond |= address >= words->start;
    return false;
}

static inline bool hs_words_read(struct hs_words *words, uintptr_t address, uintptr_t *value)
{
    if (words->copy)
        return hs_words_of_copy(words, address, value);
    return hs_stack_memory_read(&words->live, address, value);
}

#endif
