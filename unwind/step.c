// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/step.h"

#include "unwind/module.h"
#include "unwind/odd_rules.h"

static uintptr_t base_value(const struct hs_walk *walk, uint8_t base, uintptr_t cfa)
{
    switch (base) {
    case HS_BASE_SP:
        return walk->sp;
    case HS_BASE_FP:
        return walk->fp;
    default:
        return cfa;
    }
}

static int step_by_table(struct hs_walk *walk, const struct hs_odd_rule *odd)
{
    uintptr_t cfa = base_value(walk, odd->cfa_base, 0) + (uintptr_t)(intptr_t)odd->cfa_offset;
    if (odd->cfa_deref && !hs_stack_memory_read(&walk->memory, cfa, &cfa))
        return HS_END_BAD_STACK;
    uintptr_t pc, fp = walk->fp;
    uintptr_t ra_slot = base_value(walk, odd->ra_base, cfa) + (uintptr_t)(intptr_t)odd->ra_offset;
    uintptr_t fp_slot = base_value(walk, odd->fp_base, cfa) + (uintptr_t)(intptr_t)odd->fp_offset;
    if (!hs_stack_memory_read(&walk->memory, ra_slot, &pc))
        return HS_END_BAD_STACK;
    if (odd->fp_base != HS_BASE_NONE && !hs_stack_memory_read(&walk->memory, fp_slot, &fp))
        return HS_END_BAD_STACK;
    if (!odd->signal && cfa <= walk->sp)
        return HS_END_BAD_STACK;
    walk->pc = pc;
    walk->sp = cfa;
    walk->fp = fp;
    walk->exact = odd->signal;
    return pc ? HS_STEP_MORE : HS_END_ROOT;
}

// No table vouches for this frame: everything is checked before it is believed.
static int step_by_guess(struct hs_walk *walk, uint32_t rule)
{
    struct hs_walk next = *walk;
    struct hs_module module;
    if (walk->fp < walk->sp || walk->fp % sizeof(uintptr_t))
        return HS_END_NO_RULE;
    int result = hs_step_standard(&next, rule);
    if (result == HS_END_BAD_STACK)
        return HS_END_NO_RULE;
    if (result == HS_STEP_MORE && !hs_module_find(next.pc - 1, &module))
        return HS_END_NO_RULE;
    *walk = next;
    walk->guessed = true;
    return result;
}

int hs_step_odd(struct hs_walk *walk, uint32_t rule)
{
    if (hs_rule_is(rule, HS_RULE_STANDARD))
        return hs_step_standard(walk, rule);
    if (hs_rule_is(rule, HS_RULE_GUESSED))
        return step_by_guess(walk, rule);
    if (!hs_rule_is(rule, HS_RULE_ODD))
        return HS_END_NO_RULE;
    switch ((enum hs_odd_kind)hs_rule_odd_sub_kind(rule)) {
    case HS_ODD_END:
        return (int)hs_rule_odd_argument(rule);
    case HS_ODD_TABLE:
        return step_by_table(walk, hs_odd_rule_at(hs_rule_odd_argument(rule)));
    case HS_ODD_FULL:
        return hs_step_full(walk);
    }
    return HS_END_BAD_RULE;
}
