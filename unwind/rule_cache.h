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
#define HS_RULE_MASK           ((1u << HS_RULE_BITS) - 1)
_Static_assert(HS_RULE_CACHE_TAG_BITS + HS_RULE_BITS == 64, "tag and rule fill an entry");

#pragma GCC visibility push(hidden)
extern _Atomic uint64_t hs_rule_cache[1 << HS_RULE_CACHE_SET_BITS][HS_RULE_CACHE_WAYS];
extern _Atomic uint32_t hs_rule_generation_now;

// Odd multiplier below 2^47 (the golden ratio), so multiplication modulo 2^47 is a bijection.
static inline uint64_t hs_rule_mix(uintptr_t address)
{
    return address * UINT64_C(0x4f1bbcdcbfa5) & ((UINT64_C(1) << HS_ARCH_ADDRESS_BITS) - 1);
}

// The cached rule of the instruction that contains `address`; HS_RULE_NONE when there is none.
// For a return address pass pc - 1, for an interrupted pc the pc itself. About 10 instructions.
static inline uint32_t hs_rule_cache_find(uintptr_t address)
{
    if (address >> HS_ARCH_ADDRESS_BITS)
        return HS_RULE_NONE;
    uint64_t mixed = hs_rule_mix(address);
    uint64_t tag = mixed & ((UINT64_C(1) << HS_RULE_CACHE_TAG_BITS) - 1);
    _Atomic uint64_t *set = hs_rule_cache[mixed >> HS_RULE_CACHE_TAG_BITS];
    for (int way = 0; way < HS_RULE_CACHE_WAYS; way++) {
        uint64_t entry = atomic_load_explicit(&set[way], memory_order_relaxed);
        if (entry >> HS_RULE_BITS == tag)
            return (uint32_t)entry & HS_RULE_MASK;
    }
    return HS_RULE_NONE;
}

static inline uint32_t hs_rule_generation(void)
{
    return atomic_load_explicit(&hs_rule_generation_now, memory_order_acquire);
}

// Keeps `rule`, which was found while the generation was `generation`; it is dropped when that has changed meanwhile.
void hs_rule_cache_insert(uintptr_t address, uint32_t rule, uint32_t generation);

// New information may replace guesses: forgets the rules if one of them is a guess.
void hs_rule_cache_forget_guesses(void);
#pragma GCC visibility pop

#endif
