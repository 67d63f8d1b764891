// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reading of instructions that are words of a target.
#ifndef HEAPSONDE_HOST_INJECT_CODE_WORDS_H
#define HEAPSONDE_HOST_INJECT_CODE_WORDS_H

#include <stdint.h>
#include <string.h>

static inline uint32_t hs_code_words__at(const uint8_t *bytes, uint64_t offset)
{
    uint32_t word;
    memcpy(&word, bytes + offset, sizeof word);
    return word;
}

// A number of `width` bits with a sign.
static inline int64_t hs_code_words__extend(uint32_t value, unsigned width)
{
    return (int64_t)((uint64_t)value << (64 - width)) >> (64 - width);
}

#endif
