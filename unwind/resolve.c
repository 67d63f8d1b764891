// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/resolve.h"

#include "unwind/compile.h"
#include "unwind/fde_find.h"
#include "unwind/odd_rules.h"
#include "unwind/walk.h"

static uint32_t from_fde(const struct hs_fde_place *place, uintptr_t address)
{
    struct hs_cfi_row row;
    if (!hs_cfi_row_at(&place->section, &place->fde, address, &row))
        return hs_rule_odd(HS_ODD_END, HS_END_BAD_RULE);
    return hs_rule_compile(&place->section, &place->fde, &row, address);
}

bool hs_at_signal_trampoline(const struct hs_module *module, uintptr_t pc)
{
    struct hs_range text;
    if (!hs_module_segment(module, (const void *)pc, &text))
        return false;
    size_t after = (size_t)(text.end - (const uint8_t *)pc), before = (size_t)((const uint8_t *)pc - text.start);
    return (after >= HS_SIGNAL_TRAMPOLINE_SIZE && hs_signal_trampoline((const uint8_t *)pc)) ||
           (before >= HS_SIGNAL_TRAMPOLINE_SECOND && after >= HS_SIGNAL_TRAMPOLINE_SIZE - HS_SIGNAL_TRAMPOLINE_SECOND &&
            hs_signal_trampoline((const uint8_t *)pc - HS_SIGNAL_TRAMPOLINE_SECOND));
}

static bool at_start_code(const struct hs_module *module, uintptr_t pc)
{
    struct hs_range text;
    return hs_module_segment(module, (const void *)pc, &text) &&
           hs_start_code((const uint8_t *)pc, (size_t)(text.end - (const uint8_t *)pc));
}

// Code that no table describes.
static uint32_t without_fde(const struct hs_fde_place *place, uintptr_t pc)
{
    if (!place->in_module)
        return HS_RULE_NONE;
    if (!place->module.anonymous && hs_at_signal_trampoline(&place->module, pc))
        return hs_rule_signal_trampoline();
    if (!place->module.anonymous && at_start_code(&place->module, pc))
        return hs_rule_odd(HS_ODD_END, HS_END_ROOT);
    // Analysis of the function's machine code comes here.
    return HS_RULE_FRAME_POINTER_CHAIN;
}

// A return address that no call left: the first byte of a function, with nothing before it. Whoever made the stack put
// it there (makecontext() does), so the stack starts here.
static bool planted(uintptr_t pc)
{
    struct hs_fde_place place;
    if (!hs_fde_find(pc, &place))
        return false;
    bool at_start = place.fde.start == pc;
    hs_fde_release(&place);
    return at_start;
}

uint32_t hs_rule_resolve(uintptr_t pc, bool exact)
{
    uintptr_t address = pc - !exact; // in the instruction that the frame is at
    uint32_t generation = hs_rule_generation();
    struct hs_fde_place place;
    uint32_t rule;
    if (hs_fde_find(address, &place)) {
        rule = from_fde(&place, address);
        hs_fde_release(&place);
    } else if (!exact && planted(pc)) {
        rule = hs_rule_odd(HS_ODD_END, HS_END_ROOT);
    } else {
        rule = without_fde(&place, pc);
    }
    if (rule == HS_RULE_NONE)
        return hs_rule_odd(HS_ODD_END, HS_END_NO_RULE); // not kept: code may be loaded there later
    hs_rule_cache_insert(pc + exact, rule, generation);
    return rule;
}
