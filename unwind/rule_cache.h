// SPDX-License-Identifier: MIT OR Apache-2.0
//
// From a code address to its unwind rule: one table for all threads, 4-way set associative, without locks.
//
// An entry is a word. With 64 bits it is the rest of the mixed key (the tag) and the rule; the mix is a bijection of
// the key and the set number is its other 13 bits, so a hit is exact. With 32 bits the tag leaves no room for a rule:
// the entry holds the rule's number in a table that keeps each different rule once. Zero pages, touched on demand: all
// sets' first ways lie together, so that few rules touch few pages.
//
// The size is fixed: 2^15 entries. A new rule replaces one of its set, whose rule is found again when it is needed.
// With 32 bits, a rule that finds no place in the table of rules is not cached, and is found anew each time.
#ifndef HEAPSONDE_UNWIND_RULE_CACHE_H
#define HEAPSONDE_UNWIND_RULE_CACHE_H

#include "arch/arch.h"
#include "arch/far.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HS_RULE_CACHE_SET_BITS   13
#define HS_RULE_CACHE_WAYS       4
#define HS_RULE_CACHE_KEY_BITS   (HS_ARCH_ADDRESS_BITS - HS_ARCH_KEY_SHIFT)
#define HS_RULE_CACHE_TAG_BITS   (HS_RULE_CACHE_KEY_BITS - HS_RULE_CACHE_SET_BITS)
#define HS_RULE_CACHE_VALUE_BITS ((int)(8 * sizeof(uintptr_t)) - HS_RULE_CACHE_TAG_BITS)

// If a load reaches only 32 KiB, the ways of a set are adjacent.
#ifdef HS_ARCH_SHORT_REACH
#define HS_RULE_CACHE_ROWS     (1 << HS_RULE_CACHE_SET_BITS)
#define HS_RULE_CACHE_COLUMNS  HS_RULE_CACHE_WAYS
#define HS_RULE_CACHE_WAY_STEP 1
#else
#define HS_RULE_CACHE_ROWS     HS_RULE_CACHE_WAYS
#define HS_RULE_CACHE_COLUMNS  (1 << HS_RULE_CACHE_SET_BITS)
#define HS_RULE_CACHE_WAY_STEP HS_RULE_CACHE_COLUMNS
#endif

#pragma GCC visibility push(hidden)
extern _Atomic uintptr_t hs_rule_cache[HS_RULE_CACHE_ROWS][HS_RULE_CACHE_COLUMNS];
extern _Atomic uint32_t hs_rule_generation_now;

#if UINTPTR_MAX == UINT64_MAX
_Static_assert(HS_RULE_CACHE_VALUE_BITS >= HS_RULE_BITS, "tag and rule fit an entry");

static inline uint32_t hs_rule_of_value(uintptr_t value)
{
    return (uint32_t)value;
}
#else
_Static_assert(HS_RULE_CACHE_VALUE_BITS <= 16, "the table of rules stays small");
#define HS_RULE_TABLE_SIZE (1 << HS_RULE_CACHE_VALUE_BITS)
extern _Atomic uint32_t hs_rule_table[HS_RULE_TABLE_SIZE]; // 0: free; each rule is written once and stays

static inline uint32_t hs_rule_of_value(uintptr_t value)
{
    return atomic_load_explicit(&hs_rule_table[value], memory_order_relaxed);
}
#endif

// The key of an instruction is the return address of a call that ends there: the pc of a frame that called out, and the
// pc and the size of a call of a frame that was interrupted.
static inline uintptr_t hs_rule_key(uintptr_t pc, bool exact)
{
    return pc + (exact ? HS_ARCH_CALL_SIZE(pc) : 0);
}

// The key of a frame as a return address. For an interrupted frame it is as far after the instruction as return
// addresses are after their calls, so that all frames are looked up in the same way.
static inline uintptr_t hs_frame_address(uintptr_t pc, bool exact)
{
#ifdef HS_ARCH_RETURN_DISTANCE
    return pc + (exact ? HS_ARCH_RETURN_DISTANCE(pc) : 0);
#else
    return hs_rule_key(pc, exact);
#endif
}

// An address in the instruction that the frame is at.
static inline uintptr_t hs_rule_address(uintptr_t pc, bool exact)
{
#ifdef HS_ARCH_CODE_ADDRESS_MASK
    return (pc - (exact ? 0 : HS_ARCH_CALL_SIZE(pc))) & HS_ARCH_CODE_ADDRESS_MASK;
#else
    return pc - (exact ? 0 : HS_ARCH_CALL_SIZE(pc));
#endif
}

static inline bool hs_rule_can_be_key(uintptr_t key)
{
    return HS_ARCH_ADDRESS_BITS == 8 * sizeof key || key >> (HS_ARCH_ADDRESS_BITS - 1) >> 1 == 0;
}

// The mixed key is (key * odd) modulo 2^key bits, in the upper bits: the set number, then the tag.
static inline uintptr_t hs_rule_mix(uintptr_t key)
{
    return (key >> HS_ARCH_KEY_SHIFT) *
           ((uintptr_t)UINT64_C(0x4f1bbcdcbfa5) << (8 * sizeof key - HS_RULE_CACHE_KEY_BITS));
}

static inline uintptr_t hs_rule_tag(uintptr_t mixed)
{
    return mixed << HS_RULE_CACHE_SET_BITS;
}

static inline _Atomic uintptr_t *hs_rule_set(uintptr_t mixed)
{
    uintptr_t set = mixed >> (8 * sizeof mixed - HS_RULE_CACHE_SET_BITS);
#ifdef HS_ARCH_SHORT_REACH
    return (*HS_FAR_AT(hs_rule_cache))[set];
#else
    return &(*HS_FAR_AT(hs_rule_cache))[0][set];
#endif
}

static inline _Atomic uintptr_t *hs_rule_way(_Atomic uintptr_t *set, int way)
{
    return set + way * HS_RULE_CACHE_WAY_STEP;
}

// The cached rule; HS_RULE_NONE when there is none. About 10 instructions, 14 cycles from key to rule.
static inline uint32_t hs_rule_cache_find(uintptr_t key)
{
    if (__builtin_expect(!hs_rule_can_be_key(key), 0))
        return HS_RULE_NONE;
    uintptr_t mixed = hs_rule_mix(key), tag = hs_rule_tag(mixed);
    _Atomic uintptr_t *set = hs_rule_set(mixed);
#pragma GCC unroll 4
    for (int way = 0; way < HS_RULE_CACHE_WAYS; way++) {
        uintptr_t value = atomic_load_explicit(hs_rule_way(set, way), memory_order_relaxed) ^ tag;
        if (value >> HS_RULE_CACHE_VALUE_BITS == 0)
            return hs_rule_of_value(value);
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
