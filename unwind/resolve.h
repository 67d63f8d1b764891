// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The rule of an address that is not cached: the sources in their order.
#ifndef HEAPSONDE_UNWIND_RESOLVE_H
#define HEAPSONDE_UNWIND_RESOLVE_H

#include "unwind/module.h"
#include "unwind/rule_cache.h"

#include <stdbool.h>

#pragma GCC visibility push(hidden)
// Looks through the sources and caches what is found. Never HS_RULE_NONE. `pc` is a return address, or the interrupted
// pc of an `exact` frame.
uint32_t hs_rule_resolve(uintptr_t pc, bool exact);

// Whether a signal trampoline is at `pc`: at its first instruction or, interrupted, at its second. *context: where the
// ucontext is, from sp.
bool hs_at_signal_trampoline(const struct hs_module *module, uintptr_t pc, bool may_go, uint32_t *context);
#pragma GCC visibility pop

static inline uint32_t hs_rule_of(uintptr_t pc, bool exact)
{
    uint32_t rule = hs_rule_cache_find(hs_rule_key(pc, exact));
    return __builtin_expect(rule != HS_RULE_NONE, 1) ? rule : hs_rule_resolve(pc, exact);
}

#endif
