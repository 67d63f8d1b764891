// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/rule_cache.h"

#include "unwind/include/heapsonde/unwind.h"
#include "unwind/walk.h"

_Atomic uint64_t hs_rule_cache[1 << HS_RULE_CACHE_SET_BITS][HS_RULE_CACHE_WAYS] __attribute__((aligned(64)));
_Atomic uint32_t hs_rule_generation_now = 1;
static _Atomic uint32_t next_victim;
static _Atomic bool holds_guesses;

static _Atomic uint64_t *choose_way(_Atomic uint64_t *set, uint64_t tag)
{
    for (int way = 0; way < HS_RULE_CACHE_WAYS; way++) {
        uint64_t entry = atomic_load_explicit(&set[way], memory_order_relaxed);
        if (!entry || (entry ^ tag) >> HS_RULE_BITS == 0)
            return &set[way];
    }
    return &set[atomic_fetch_add_explicit(&next_victim, 1, memory_order_relaxed) % HS_RULE_CACHE_WAYS];
}

void hs_rule_cache_insert(uintptr_t key, uint32_t rule, uint32_t generation)
{
    if (key >> HS_ARCH_ADDRESS_BITS)
        return;
    uint64_t mixed = hs_rule_mix(key), tag = hs_rule_tag(mixed), value = tag | rule;
    _Atomic uint64_t *entry = choose_way(hs_rule_set(mixed), tag);
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
    _Atomic uint64_t *entry = hs_rule_cache[0];
    _Atomic uint64_t *end = entry + sizeof hs_rule_cache / sizeof *entry;
    for (; entry < end; entry++)
        if (atomic_load_explicit(entry, memory_order_relaxed))
            atomic_store_explicit(entry, 0, memory_order_relaxed);
}
