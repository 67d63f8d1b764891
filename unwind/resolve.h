// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The rule of an address that is not cached: the sources in their order.
#ifndef HEAPSONDE_UNWIND_RESOLVE_H
#define HEAPSONDE_UNWIND_RESOLVE_H

#include "unwind/module.h"
#include "unwind/rule_cache.h"

#include <stdbool.h>

#pragma GCC visibility push(hidden)
// Looks through the sources and caches what is found. Never HS_RULE_NONE.
// `exact`: the address is an interrupted pc, not a return address minus one.
uint32_t hs_rule_resolve(uintptr_t address, bool exact);

// Whether a signal trampoline without call frame information (musl) is at `pc`: at its first instruction or,
// interrupted, at its second.
bool hs_at_signal_trampoline(const struct hs_module *module, uintptr_t pc);
#pragma GCC visibility pop

// The rule of the instruction that contains `address`.
static inline uint32_t hs_rule_of(uintptr_t address, bool exact)
{
    uint32_t rule = hs_rule_cache_find(address);
    return __builtin_expect(rule != HS_RULE_NONE, 1) ? rule : hs_rule_resolve(address, exact);
}

#endif
