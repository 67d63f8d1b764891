// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/resolve.h"

#include "arch/likely.h"
#include "unwind/cfi_row_find.h"
#include "unwind/compile.h"
#include "unwind/odd_rules.h"
#include "unwind/stack_memory.h"
#include "unwind/walk.h"

#ifndef HS_SIGNAL_CONTEXT_FROM_SP_AT
#define HS_SIGNAL_CONTEXT_FROM_SP_AT(code) HS_SIGNAL_CONTEXT_FROM_SP
#endif

// Kernels without a vdso, and emulators, put the trampoline on a page of its own, which is in no file. Generated code
// is in none either, and may go at any moment: only copies of such pages are looked at.
static HS_COLD bool trampoline_at(const struct hs_module *module, uintptr_t code, bool may_go, uint32_t *context)
{
    uint8_t copy[HS_SIGNAL_TRAMPOLINE_SIZE];
    const uint8_t *bytes = (const uint8_t *)code;
    struct hs_range text;
    if (module->anonymous) {
        if (!hs_memory_copy(code, copy, sizeof copy, may_go))
            return false;
        bytes = copy;
    } else if (!hs_module_segment(module, bytes, &text) || (size_t)(text.end - bytes) < HS_SIGNAL_TRAMPOLINE_SIZE) {
        return false;
    }
    *context = HS_SIGNAL_CONTEXT_FROM_SP_AT(bytes);
    return hs_signal_trampoline(bytes);
}

bool hs_at_signal_trampoline(const struct hs_module *module, uintptr_t pc, bool may_go, uint32_t *context)
{
    uintptr_t code = hs_rule_address(pc, true);
    return trampoline_at(module, code, may_go, context) ||
           trampoline_at(module, code - HS_SIGNAL_TRAMPOLINE_SECOND, may_go, context);
}

// Code that no source knows.
static uint32_t without_cfi_row(const struct hs_found_cfi_row *found)
{
    return found->place.in_module ? HS_RULE_FRAME_POINTER_CHAIN : HS_RULE_NONE;
}

static uint32_t from_sources(uintptr_t pc, bool exact)
{
    struct hs_found_cfi_row found;
    uint32_t rule;
    switch (hs_cfi_row_find(pc, exact, &found)) {
    case HS_ROW_FOUND:
        rule = hs_rule_compile(&found, exact);
        hs_cfi_row_release(&found);
        return rule;
    case HS_ROW_BAD:
        return hs_rule_odd(HS_ODD_END, HS_END_BAD_RULE);
    case HS_ROW_MISSING:
        break;
    }
    return without_cfi_row(&found);
}

HS_COLD uint32_t hs_rule_resolve(uintptr_t pc, bool exact)
{
    uint32_t generation = hs_rule_generation(), rule, context;
    struct hs_module module;
    hs_arch_prepare();
    if (hs_module_find(hs_rule_address(pc, true), &module) && hs_at_signal_trampoline(&module, pc, false, &context))
        rule = hs_rule_odd(HS_ODD_SIGNAL, context);
    else
        rule = from_sources(pc, exact);
    if (rule == HS_RULE_NONE)
        return hs_rule_odd(HS_ODD_END, HS_END_NO_RULE); // not kept: code may be loaded there later
    hs_rule_cache_insert(hs_rule_key(pc, exact), rule, generation);
    return rule;
}
