// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/full_step.h"
#include "unwind/step.h"

uint32_t hs_walk_on(uintptr_t *pcs, uint32_t max, struct hs_walk *start, enum hs_end *end)
{
    struct hs_full_start full;
    struct hs_walk walk = *start; // a copy stays in registers
    walk.full = &full;
    hs_full_start__clear(&full);
    uint32_t depth = 0;
    *end = HS_END_TOO_DEEP;
    while (depth < max) {
        pcs[depth++] = walk.pc;
        uint32_t rule = hs_walk_rule(&walk);
        int result;
        while ((result = hs_step(&walk, rule)) == HS_END_BAD_STACK && hs_rule_is(rule, HS_RULE_STANDARD))
            rule = hs_rule_downwards(rule);
        if (result != HS_STEP_MORE) {
            *end = (enum hs_end)result;
            break;
        }
    }
    start->guessed = walk.guessed;
    return depth;
}

uint32_t hs_walk_plain(uintptr_t *pcs, uint32_t max, const struct hs_registers *start, enum hs_end *end)
{
    struct hs_walk walk;
    hs_walk_start(&walk, start, NULL);
    hs_stack_memory_start(&walk.memory, start->sp);
    return hs_walk_on(pcs, max, &walk, end);
}
