// SPDX-License-Identifier: MIT OR Apache-2.0
//
// From a code address to its unwind rule: one table for all threads, 4-way set associative, without locks.
//
// An entry is the rest of the mixed address (34 bits) and the rule (30 bits). The mix is a bijection of the 47-bit
// address and the set number is its other 13 bits, so a hit is exact. 256 KiB of zero pages, touched on demand.
#ifndef HEAPSONDE_UNWIND_RULE_CACHE_H
#define HEAPSONDE_UNWIND_RULE_CACHE_H

#include "arch/arch.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HS_RULE_CACHE_SET_BITS 13
#define HS_RULE_CACHE_WAYS     4
#define HS_RULE_CACHE_TAG_BITS (HS_ARCH_ADDRESS_BITS - HS_RULE_CACHE_SET_BITS)
_Static_assert(HS_RULE_CACHE_TAG_BITS + HS_RULE_BITS == 64, "tag and rule fill an entry");

#pragma GCC visibility push(hidden)
extern _Atomic uint64_t hs_rule_cache[1 << HS_RULE_CACHE_SET_BITS][HS_RULE_CACHE_WAYS];
extern _Atomic uint32_t hs_rule_generation_now;

// The key of an instruction is the return address of a call that ends there: the pc of a frame that called out, and the
// pc + 1 of a frame that was interrupted.
//
// The mixed key is (key * odd) mod 2^47 in the upper 47 bits: the set number, then the tag.
static inline uint64_t hs_rule_mix(uintptr_t key)
{
    return key * (UINT64_C(0x4f1bbcdcbfa5) << (64 - HS_ARCH_ADDRESS_BITS));
}

static inline uint64_t hs_rule_tag(uint64_t mixed)
{
    return mixed << HS_RULE_CACHE_SET_BITS;
}

static inline _Atomic uint64_t *hs_rule_set(uint64_t mixed)
{
    return hs_rule_cache[mixed >> (64 - HS_RULE_CACHE_SET_BITS)];
}

// The cached rule; HS_RULE_NONE when there is none. About 10 instructions, 14 cycles from key to rule.
static inline uint32_t hs_rule_cache_find(uintptr_t key)
{
    if (__builtin_expect(key >> HS_ARCH_ADDRESS_BITS, 0))
        return HS_RULE_NONE;
    uint64_t mixed = hs_rule_mix(key), tag = hs_rule_tag(mixed);
    _Atomic uint64_t *set = hs_rule_set(mixed);
#pragma GCC unroll 4
    for (int way = 0; way < HS_RULE_CACHE_WAYS; way++) {
        uint64_t rule = atomic_load_explicit(&set[way], memory_order_relaxed) ^ tag;
        if (rule >> HS_RULE_BITS == 0)
            return (uint32_t)rule;
    }
    return HS_RULE_NONE;
}

static inline uint32_t hs_rule_generation(void)
{
    return atomic_load_explicit(&hs_rule_generation_now, memory_order_acquire);
}

// Keeps `rule`, which was found while the generation was `generation`; it is dropped when that has changed meanwhile.
void hs_rule_cache_insert(uintptr_t key, uint32_t rule, uint32_t generation);

// New information may replace guesses: forgets the rules if one of them is a guess.
void hs_rule_cache_forget_guesses(void);
#pragma GCC visibility pop

#endif
