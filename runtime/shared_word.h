// SPDX-License-Identifier: MIT OR Apache-2.0
//
// 64-bit words that other threads, or readers of the file, read. 32-bit machines may have no 64-bit atomics (the
// compiler's substitutes abort on old kernels). There only the low half is atomic. It is written last, and the value
// has to be recognisable by it.
#ifndef HEAPSONDE_RUNTIME_SHARED_WORD_H
#define HEAPSONDE_RUNTIME_SHARED_WORD_H

#include <stdbool.h>
#include <stdint.h>

#if __SIZEOF_POINTER__ == 4 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

struct hs_shared_halves {
    uint32_t low, high;
} __attribute__((may_alias));

static inline void hs_shared_word__store(uint64_t *word, uint64_t value)
{
    struct hs_shared_halves *halves = (struct hs_shared_halves *)word;
    __atomic_store_n(&halves->high, (uint32_t)(value >> 32), __ATOMIC_RELAXED);
    __atomic_store_n(&halves->low, (uint32_t)value, __ATOMIC_RELEASE);
}

static inline void hs_shared_word__add(uint64_t *word, uint32_t amount)
{
    struct hs_shared_halves *halves = (struct hs_shared_halves *)word;
    uint32_t before = __atomic_fetch_add(&halves->low, amount, __ATOMIC_RELAXED);
    if (before + amount < before)
        __atomic_fetch_add(&halves->high, 1, __ATOMIC_RELAXED);
}

// Everything written before a word with a nonzero low half is visible with it.
static inline uint64_t hs_shared_word__load(const uint64_t *word)
{
    const struct hs_shared_halves *halves = (const struct hs_shared_halves *)word;
    uint32_t low = __atomic_load_n(&halves->low, __ATOMIC_ACQUIRE);
    return low | (uint64_t)__atomic_load_n(&halves->high, __ATOMIC_RELAXED) << 32;
}

// Both values are small.
static inline void hs_shared_word__change(uint64_t *word, uint32_t from, uint32_t to)
{
    struct hs_shared_halves *halves = (struct hs_shared_halves *)word;
    __atomic_compare_exchange_n(&halves->low, &from, to, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

#else

static inline void hs_shared_word__store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static inline uint64_t hs_shared_word__load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void hs_shared_word__add(uint64_t *word, uint32_t amount)
{
    __atomic_fetch_add(word, amount, __ATOMIC_RELAXED);
}

static inline void hs_shared_word__change(uint64_t *word, uint32_t from, uint32_t to)
{
    uint64_t seen = from;
    __atomic_compare_exchange_n(word, &seen, to, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

#endif

#endif
