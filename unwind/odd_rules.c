// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A slot is empty, being written or complete. Slots never change once complete, so readers need no check: an index
// reaches them only through the rule cache, after completion.
#include "unwind/odd_rules.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { SLOT_EMPTY, SLOT_BUSY, SLOT_COMPLETE };
enum { PROBES = 32 };

static struct hs_odd_rule rules[HS_ODD_RULES];
static _Atomic uint8_t states[HS_ODD_RULES];

static bool same(const struct hs_odd_rule *a, const struct hs_odd_rule *b)
{
    return a->cfa_offset == b->cfa_offset && a->ra_offset == b->ra_offset && a->fp_offset == b->fp_offset &&
           a->cfa_base == b->cfa_base && a->cfa_deref == b->cfa_deref && a->ra_base == b->ra_base &&
           a->fp_base == b->fp_base && a->signal == b->signal;
}

static uint32_t hash(const struct hs_odd_rule *odd)
{
    uint32_t value = (uint32_t)odd->cfa_offset * 0x9e3779b1u ^ (uint32_t)odd->fp_offset * 0x85ebca6bu ^
                     (uint32_t)odd->ra_offset * 0xc2b2ae35u ^ odd->cfa_base ^ (uint32_t)odd->fp_base << 4;
    return value ^ value >> 15;
}

uint32_t hs_odd_rule_intern(const struct hs_odd_rule *odd)
{
    uint32_t first = hash(odd);
    for (uint32_t probe = 0; probe < PROBES; probe++) {
        uint32_t index = (first + probe) % HS_ODD_RULES;
        uint8_t state = SLOT_EMPTY;
        if (atomic_compare_exchange_strong_explicit(&states[index], &state, SLOT_BUSY, memory_order_acquire,
                                                    memory_order_acquire)) {
            rules[index] = *odd;
            atomic_store_explicit(&states[index], SLOT_COMPLETE, memory_order_release);
            return hs_rule_odd(HS_ODD_TABLE, index);
        }
        if (state == SLOT_COMPLETE && same(&rules[index], odd))
            return hs_rule_odd(HS_ODD_TABLE, index);
    }
    return hs_rule_odd(HS_ODD_FULL, 0);
}

const struct hs_odd_rule *hs_odd_rule_at(uint32_t index)
{
    // Pairs with the release store of the cache entry that the index came from.
    atomic_thread_fence(memory_order_acquire);
    return &rules[index % HS_ODD_RULES];
}
