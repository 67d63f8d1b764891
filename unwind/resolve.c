// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/resolve.h"

#include "arch/likely.h"
#include "unwind/compile.h"
#include "unwind/odd_rules.h"
#include "unwind/row_find.h"
#include "unwind/stack_memory.h"
#include "unwind/walk.h"

// Kernels without a vdso, and emulators, put the trampoline on a page of its own, which is in no file.
static bool readable_page(uintptr_t code)
{
    uintptr_t last = code + HS_SIGNAL_TRAMPOLINE_SIZE - 1, word = sizeof(uintptr_t);
    return hs_memory_is_readable(code - code % word) && hs_memory_is_readable(last - last % word);
}

#ifndef HS_SIGNAL_CONTEXT_FROM_SP_AT
#define HS_SIGNAL_CONTEXT_FROM_SP_AT(code) HS_SIGNAL_CONTEXT_FROM_SP
#endif

static HS_COLD bool trampoline_at(const struct hs_module *module, uintptr_t code, uint32_t *context)
{
    struct hs_range text;
    if (module->anonymous) {
        if (!readable_page(code))
            return false;
    } else if (!hs_module_segment(module, (const void *)code, &text) ||
               (size_t)(text.end - (const uint8_t *)code) < HS_SIGNAL_TRAMPOLINE_SIZE) {
        return false;
    }
    *context = HS_SIGNAL_CONTEXT_FROM_SP_AT((const uint8_t *)code);
    return hs_signal_trampoline((const uint8_t *)code);
}

bool hs_at_signal_trampoline(const struct hs_module *module, uintptr_t pc, uint32_t *context)
{
    uintptr_t code = hs_rule_address(pc, true);
    return trampoline_at(module, code, context) || trampoline_at(module, code - HS_SIGNAL_TRAMPOLINE_SECOND, context);
}

// Code that no source knows.
static uint32_t without_row(const struct hs_found_row *found)
{
    return found->place.in_module ? HS_RULE_FRAME_POINTER_CHAIN : HS_RULE_NONE;
}

static uint32_t from_sources(uintptr_t pc, bool exact)
{
    struct hs_found_row found;
    uint32_t rule;
    switch (hs_row_find(pc, exact, &found)) {
    case HS_ROW_FOUND:
        rule = hs_rule_compile(&found);
        hs_row_release(&found);
        return rule;
    case HS_ROW_BAD:
        return hs_rule_odd(HS_ODD_END, HS_END_BAD_RULE);
    case HS_ROW_MISSING:
        break;
    }
    return without_row(&found);
}

HS_COLD uint32_t hs_rule_resolve(uintptr_t pc, bool exact)
{
    uint32_t generation = hs_rule_generation(), rule, context;
    struct hs_module module;
    hs_arch_prepare();
    if (hs_module_find(hs_rule_address(pc, true), &module) && hs_at_signal_trampoline(&module, pc, &context))
        rule = hs_rule_odd(HS_ODD_SIGNAL, context);
    else
        rule = from_sources(pc, exact);
    if (rule == HS_RULE_NONE)
        return hs_rule_odd(HS_ODD_END, HS_END_NO_RULE); // not kept: code may be loaded there later
    hs_rule_cache_insert(hs_rule_key(pc, exact), rule, generation);
    return rule;
}
