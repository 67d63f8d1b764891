// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One step of a walk: from a frame to its caller. A step that ends the walk may leave the frame changed.
#ifndef HEAPSONDE_UNWIND_STEP_H
#define HEAPSONDE_UNWIND_STEP_H

#include "unwind/resolve.h"
#include "unwind/stack_memory.h"
#include "unwind/walk.h"

struct hs_full_start;

// A frame on the way. Everything a step reads or changes.
struct hs_walk {
    uintptr_t pc, sp, fp;
    bool exact;   // pc is where the frame was interrupted, not a return address
    bool guessed; // a guessed rule was used
#ifdef HS_ARCH_LINK_REGISTER
    uintptr_t link;    // the link register of an exact frame
    uintptr_t context; // where the kernel put all its registers, a ucontext_t; 0: not known
    uintptr_t slot;    // where pc was read, when a standard rule led here; any readable word otherwise
#endif
    struct hs_stack_memory memory;
    struct hs_full_start *full; // where steps that need all registers start from
};

#pragma GCC visibility push(hidden)
// Steps to what a signal interrupted; the kernel put the registers at `context`, a ucontext_t.
int hs_step_signal(struct hs_walk *walk, uintptr_t context);

// Steps by a rule that is not a standard one.
int hs_step_odd(struct hs_walk *walk, uint32_t rule);

// Steps with all registers: starts in its own frame, or goes on where it was left, walks to the frame at walk->pc,
// walk->sp, and steps that. Only for the calling thread's stack.
int hs_step_full(struct hs_walk *walk);

// hs_step() below as one copy, for where it is seldom needed.
int hs_step_seldom(struct hs_walk *walk, uint32_t rule);

// Walks on from `walk` to the end: the pcs, innermost first. Returns their number, at most `max`.
uint32_t hs_walk_on(uintptr_t *pcs, uint32_t max, struct hs_walk *walk, enum hs_end *end);
#pragma GCC visibility pop

static inline void hs_walk_start(struct hs_walk *walk, const struct hs_registers *start, struct hs_full_start *full)
{
    walk->full = full;
    walk->pc = start->pc;
    walk->sp = start->sp;
    walk->fp = start->fp;
    walk->exact = walk->guessed = false;
#ifdef HS_ARCH_LINK_REGISTER
    walk->link = walk->context = 0;
    walk->slot = start->sp;
#endif
}

static inline uint32_t hs_walk_rule(const struct hs_walk *walk)
{
    return hs_rule_of(walk->pc, walk->exact);
}

// After a step by a standard rule has ended with HS_END_BAD_STACK: the rule by which to try whether it leads to a stack
// below. No cache holds it.
static inline uint32_t hs_rule_downwards(uint32_t standard)
{
    return standard & ~HS_RULE_KIND_MASK;
}

static inline int hs_step_standard(struct hs_walk *walk, uint32_t rule)
{
    // A branch, not a select: it is predicted, and keeps the test out of the chain from one return address to the next.
    uintptr_t base = walk->sp;
    if (__builtin_expect_with_probability(rule & HS_RULE_BASE_IS_FP, 1, 0.01))
        base = walk->fp;
    uintptr_t cfa = base + hs_rule_cfa_offset(rule);
    uintptr_t ra_slot = hs_rule_ra_slot(rule, base, cfa);
    if (!hs_stack_memory_check(&walk->memory, ra_slot) || cfa <= walk->sp)
        return HS_END_BAD_STACK;
#ifdef HS_ARCH_LINK_REGISTER
    walk->slot = ra_slot;
#endif
    uintptr_t pc = hs_arch_strip(hs_stack_word(ra_slot));
    uintptr_t fp_slot = ra_slot - sizeof(uintptr_t) * hs_rule_fp_below_ra(rule);
    if (!hs_stack_memory_check(&walk->memory, fp_slot))
        return HS_END_BAD_STACK;
    uintptr_t fp = hs_stack_word(fp_slot);
    walk->fp = rule & HS_RULE_FP_SAVED ? fp : walk->fp; // a select: which frames save fp follows no pattern
    walk->sp = cfa;
    walk->pc = pc;
    walk->exact = false;
    return pc ? HS_STEP_MORE : HS_END_ROOT;
}

static inline int hs_step(struct hs_walk *walk, uint32_t rule)
{
    if (__builtin_expect(hs_rule_is(rule, HS_RULE_STANDARD), 1))
        return hs_step_standard(walk, rule);
    // A copy: the address of `walk` does not escape, so the loops of the walkers keep it in registers.
    struct hs_walk copy = *walk;
    int result = hs_step_odd(&copy, rule);
    *walk = copy;
    return result;
}

#endif
