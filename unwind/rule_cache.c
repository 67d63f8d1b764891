// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/rule_cache.h"

#include "unwind/include/heapsonde/unwind.h"
#include "unwind/walk.h"

_Atomic uintptr_t hs_rule_cache[HS_RULE_CACHE_ROWS][HS_RULE_CACHE_COLUMNS] __attribute__((aligned(4096))) HS_FAR;
_Atomic uint32_t hs_rule_generation_now = 1;
static _Atomic uint32_t next_victim;
static _Atomic bool holds_guesses;

#if UINTPTR_MAX == UINT64_MAX
static uintptr_t value_of_rule(uint32_t rule)
{
    return rule;
}
#else
_Atomic uint32_t hs_rule_table[HS_RULE_TABLE_SIZE];
enum { PROBES = 64 };

// The rule's number in the table; 0 when there is no room: the rule is not cached.
static uintptr_t value_of_rule(uint32_t rule)
{
    uint32_t first = rule * 0x9e3779b1u;
    first ^= first >> 15;
    for (uint32_t probe = 0; probe < PROBES; probe++) {
        uint32_t number = (first + probe) % (HS_RULE_TABLE_SIZE - 1) + 1, old = 0;
        if (atomic_compare_exchange_strong_explicit(&hs_rule_table[number], &old, rule, memory_order_release,
                                                    memory_order_relaxed) ||
            old == rule)
            return number;
    }
    return 0;
}
#endif

static _Atomic uintptr_t *choose_way(_Atomic uintptr_t *set, uintptr_t tag)
{
    for (int way = 0; way < HS_RULE_CACHE_WAYS; way++) {
        uintptr_t entry = atomic_load_explicit(hs_rule_way(set, way), memory_order_relaxed);
        if (!entry || (entry ^ tag) >> HS_RULE_CACHE_VALUE_BITS == 0)
            return hs_rule_way(set, way);
    }
    uint32_t victim = atomic_fetch_add_explicit(&next_victim, 1, memory_order_relaxed);
    return hs_rule_way(set, (int)(victim % HS_RULE_CACHE_WAYS));
}

void hs_rule_cache_insert(uintptr_t key, uint32_t rule, uint32_t generation)
{
    uintptr_t kept = value_of_rule(rule);
    if (!kept || !hs_rule_can_be_key(key))
        return;
    uintptr_t mixed = hs_rule_mix(key), tag = hs_rule_tag(mixed), value = tag | kept;
    _Atomic uintptr_t *entry = choose_way(hs_rule_set(mixed), tag);
    if (hs_rule_is(rule, HS_RULE_GUESSED))
        atomic_store_explicit(&holds_guesses, true, memory_order_seq_cst);
    atomic_store_explicit(entry, value, memory_order_release);
    // Either this thread sees the new generation here, or the wipe of hs_unwind_forget_rules() sees the entry.
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&hs_rule_generation_now, memory_order_relaxed) != generation)
        atomic_compare_exchange_strong_explicit(entry, &value, 0, memory_order_relaxed, memory_order_relaxed);
}

void hs_rule_cache_forget_guesses(void)
{
    if (atomic_exchange_explicit(&holds_guesses, false, memory_order_seq_cst))
        hs_unwind_forget_rules();
}

void hs_unwind_forget_rules(void)
{
    atomic_fetch_add_explicit(&hs_rule_generation_now, 1, memory_order_seq_cst);
    atomic_thread_fence(memory_order_seq_cst);
    _Atomic uintptr_t *entry = (*HS_FAR_AT(hs_rule_cache))[0];
    _Atomic uintptr_t *end = entry + sizeof hs_rule_cache / sizeof *entry;
    for (; entry < end; entry++)
        if (atomic_load_explicit(entry, memory_order_relaxed))
            atomic_store_explicit(entry, 0, memory_order_relaxed);
}
