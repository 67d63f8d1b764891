// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/step.h"

#include "arch/likely.h"

#include "unwind/call_site.h"
#include "unwind/full_step.h"
#include "unwind/known_frame.h"
#include "unwind/module.h"
#include "unwind/odd_rules.h"

// One copy for all that is seldom.
static HS_COLD __attribute__((noinline)) bool read_word(struct hs_walk *walk, uintptr_t address, uintptr_t *value)
{
    return hs_stack_memory_read(&walk->memory, address, value);
}

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

#if HS_ARCH_LINK_REGISTER
static bool return_address_in_link(struct hs_walk *walk, uintptr_t *pc)
{
    *pc = walk->link;
    return walk->exact;
}
#else
static bool return_address_in_link(struct hs_walk *walk, uintptr_t *pc)
{
    (void)walk;
    (void)pc;
    return false;
}
#endif

static HS_COLD bool read_return_address(struct hs_walk *walk, const struct hs_odd_rule *odd, uintptr_t cfa,
                                        uintptr_t *pc)
{
    if (odd->ra_base == HS_BASE_LINK)
        return return_address_in_link(walk, pc);
    uintptr_t slot = base_value(walk, odd->ra_base, cfa) + (uintptr_t)(intptr_t)odd->ra_offset;
    return read_word(walk, slot, pc);
}

static HS_COLD bool read_signal_register(struct hs_walk *walk, uintptr_t context, unsigned number, uintptr_t *value)
{
    return read_word(walk, context + hs_signal_register_place(number), value);
}

static HS_COLD bool read_frame_pointer(struct hs_walk *walk, const struct hs_odd_rule *odd, uintptr_t cfa,
                                       uintptr_t *fp)
{
    uintptr_t slot = base_value(walk, odd->fp_base, cfa) + (uintptr_t)(intptr_t)odd->fp_offset;
#ifdef HS_ARCH_LINK_REGISTER
    if (odd->fp_base == HS_BASE_REGISTER)
        return walk->context && read_signal_register(walk, walk->context, (unsigned)odd->fp_offset, fp);
#endif
    return odd->fp_base == HS_BASE_NONE || read_word(walk, slot, fp);
}

// Only a frame that was interrupted has registers that can be asked for.
static bool needs_all_registers(const struct hs_walk *walk, const struct hs_odd_rule *odd)
{
    return odd->fp_base == HS_BASE_REGISTER && !walk->exact;
}

// The table of code that switches stacks says which word holds the other stack pointer, which may be lower. Wine's code
// returns behind a system call that was not made, so the return address need not be behind a call.
static HS_COLD bool may_switch(const struct hs_walk *walk, const struct hs_odd_rule *odd)
{
    return odd->cfa_deref && !walk->exact && walk->full->switches++ < HS_SWITCHES_MAX;
}

static HS_COLD int step_by_table(struct hs_walk *walk, const struct hs_odd_rule *odd)
{
    if (needs_all_registers(walk, odd))
        return hs_step_full(walk);
    uintptr_t cfa = base_value(walk, odd->cfa_base, 0) + (uintptr_t)(intptr_t)odd->cfa_offset;
    if (odd->cfa_deref && !read_word(walk, cfa, &cfa))
        return HS_END_BAD_STACK;
    uintptr_t pc, fp = walk->fp;
    if (!read_return_address(walk, odd, cfa, &pc) || !read_frame_pointer(walk, odd, cfa, &fp))
        return HS_END_BAD_STACK;
    // A leaf that was interrupted may have no frame at all.
    if (!odd->signal && cfa <= walk->sp && !(cfa == walk->sp ? odd->ra_base == HS_BASE_LINK : may_switch(walk, odd)))
        return HS_END_BAD_STACK;
    pc = hs_arch_strip(pc);
    // Where it was interrupted, a function may have a table that is a word off.
    if (!pc)
        return walk->exact ? hs_step_full(walk) : HS_END_ROOT;
    walk->pc = pc;
    walk->sp = cfa;
    walk->fp = fp;
    walk->exact = odd->signal;
    return HS_STEP_MORE;
}

HS_COLD int hs_step_signal(struct hs_walk *walk, uintptr_t context)
{
    if (!read_signal_register(walk, context, HS_DWARF_PC, &walk->pc) ||
        !read_signal_register(walk, context, HS_DWARF_SP, &walk->sp) ||
        !read_signal_register(walk, context, HS_DWARF_FP, &walk->fp))
        return HS_END_BAD_STACK;
#ifdef HS_ARCH_LINK_REGISTER
    if (!read_signal_register(walk, context, HS_DWARF_RA, &walk->link))
        return HS_END_BAD_STACK;
    walk->context = context;
#endif
#ifdef HS_SIGNAL_CPSR_PLACE
    uintptr_t cpsr;
    if (!read_word(walk, context + HS_SIGNAL_CPSR_PLACE, &cpsr))
        return HS_END_BAD_STACK;
    walk->pc |= cpsr >> 5 & 1;
#endif
#ifdef HS_SIGNAL_FP_KEPT
    if (HS_DWARF_FP == HS_SIGNAL_FP_KEPT &&
        !read_signal_register(walk, context, hs_full_step__fp_register(walk->pc), &walk->fp))
        return HS_END_BAD_STACK;
#endif
    walk->exact = true;
    return HS_STEP_MORE;
}

// A call through a bad pointer leaves a pc where no code is; the return address is where a call has left it.
static HS_COLD int step_from_nowhere(struct hs_walk *walk)
{
    struct hs_module module;
    if (!walk->exact || hs_module_find(hs_rule_address(walk->pc, true), &module))
        return HS_END_NO_RULE;
#ifdef HS_ARCH_LINK_REGISTER
    walk->pc = hs_arch_strip(walk->link);
#else
    if (!read_word(walk, walk->sp, &walk->pc))
        return HS_END_NO_RULE;
    walk->sp += sizeof walk->pc;
#endif
    if (!hs_call_site__at(walk->pc, true))
        return HS_END_NO_RULE;
    walk->exact = false;
    return HS_STEP_MORE;
}

// No frame has a pc at or near 0: it would be mistaken for a mark among the addresses of a stack.
static HS_COLD int step_over_signal(struct hs_walk *walk, uintptr_t context)
{
    int result = hs_step_signal(walk, context);
    return result == HS_STEP_MORE && walk->pc < HS_STACK_PAGE ? step_from_nowhere(walk) : result;
}

HS_COLD int hs_step_seldom(struct hs_walk *walk, uint32_t rule)
{
    return hs_step(walk, rule);
}

// By a standard rule that nothing vouches for.
static HS_COLD int step_plainly(struct hs_walk *walk, uint32_t rule)
{
    if (rule & HS_RULE_BASE_IS_FP && walk->fp % sizeof(uintptr_t))
        return HS_END_BAD_STACK;
    return hs_step_seldom(walk, (rule & ~HS_RULE_KIND_MASK) | HS_RULE_OF_KIND(HS_RULE_STANDARD));
}

// The same rule where the frame pointer leads to a stack below.
static HS_COLD int step_down(struct hs_walk *walk, uint32_t rule)
{
    if (!(rule & HS_RULE_BASE_IS_FP) || walk->fp >= walk->sp)
        return HS_END_BAD_STACK;
    walk->sp = walk->fp - 1;
    return step_plainly(walk, rule) == HS_STEP_MORE && walk->full->switches++ < HS_SWITCHES_MAX &&
                   hs_call_site__at(walk->pc, true)
               ? HS_STEP_MORE
               : HS_END_BAD_STACK;
}

// Where frame pointers go on to; 0: nowhere.
static HS_COLD uintptr_t next_in_chain(const struct hs_walk *walk, uint32_t rule)
{
    struct hs_walk next = *walk;
    return rule & HS_RULE_BASE_IS_FP && step_plainly(&next, rule) == HS_STEP_MORE ? next.pc : 0;
}

static HS_COLD bool is_anonymous(uintptr_t pc)
{
    struct hs_module module;
    return hs_module_find(pc, &module) && module.anonymous;
}

// Each process of Erlang has a stack of its own. It starts with a return address that is behind no call, and without a
// frame pointer. `from`: the code that would return there, which is made at run time, too.
static HS_COLD bool starts_process(const struct hs_walk *walk, uintptr_t from)
{
    return HS_KNOWN_FRAMES && !walk->fp && is_anonymous(walk->pc) && is_anonymous(from);
}

// No table vouches for this frame: everything is checked before it is believed.
static HS_COLD int step_by_guess(struct hs_walk *walk, uint32_t rule)
{
    const uintptr_t from = walk->pc;
    bool by_fp = rule & HS_RULE_BASE_IS_FP, down = by_fp && walk->fp < walk->sp;
    // A zero is not accepted as the end: most words that are no return address are zeros.
    if ((down ? step_down(walk, rule) : step_plainly(walk, rule)) != HS_STEP_MORE)
        return HS_END_NO_RULE;
    if (!down && !hs_call_site__in_chain(walk->pc, next_in_chain(walk, rule), true))
        return starts_process(walk, from) ? HS_END_ROOT : HS_END_NO_RULE;
    walk->guessed = true;
    return HS_STEP_MORE;
}

static HS_COLD int step_to(struct hs_walk *walk, const struct hs_registers *caller)
{
    walk->pc = caller->pc;
    walk->sp = caller->sp;
    walk->fp = caller->fp;
    walk->exact = false;
    walk->guessed = true;
    return HS_STEP_MORE;
}

// What needs no system call comes first. Known frames have no frame pointer: what looks like a start there is none.
static HS_COLD int step_without_rule(struct hs_walk *walk, uint32_t rule)
{
    const bool in_chain = rule == HS_RULE_FRAME_POINTER_CHAIN;
    const uintptr_t sp = walk->sp;
    struct hs_registers caller;
    bool found = in_chain && hs_pypy_frame__find(&walk->memory, sp, sp, &caller);
    int result = found ? HS_STEP_MORE : step_by_guess(walk, rule);
    if (in_chain && result != HS_STEP_MORE)
        found = hs_pypy_frame__find(&walk->memory, sp, sp + HS_PYPY_PUSHED_MAX, &caller) ||
                hs_luajit_frame__find(&walk->memory, sp, &caller);
    return found ? step_to(walk, &caller) : result;
}

// The stack starts here unless the frame pointers of at least two frames say that it goes on, and lead to a call. V8
// may have replaced several frames in a row, in a recursion all of them: then several will do.
static HS_COLD int step_from_planted(struct hs_walk *walk)
{
    const uint32_t rule = HS_RULE_FRAME_POINTER_CHAIN;
    struct hs_walk next = *walk;
    unsigned left = HS_PLANTED_FRAMES_ASKED;
    do
        if (next.fp - next.sp > HS_PLANTED_FRAME_MAX || step_by_guess(&next, rule) != HS_STEP_MORE)
            return HS_END_ROOT;
    while (--left && (left == HS_PLANTED_FRAMES_ASKED - 1 || !hs_call_site__at(next.pc, true)));
    return step_by_guess(walk, rule);
}

static HS_COLD int step_to_end(struct hs_walk *walk, uint32_t argument)
{
    if (argument == HS_END_NO_RULE)
        return step_from_nowhere(walk);
    return HS_PLANTED_FRAMES && argument == HS_ODD_PLANTED ? step_from_planted(walk) : (int)argument;
}

HS_COLD int hs_step_odd(struct hs_walk *walk, uint32_t rule)
{
    if (hs_rule_is(rule, HS_RULE_NONE))
        return step_down(walk, rule);
    if (hs_rule_is(rule, HS_RULE_GUESSED))
        return step_without_rule(walk, rule);
    if (!hs_rule_is(rule, HS_RULE_ODD))
        return HS_END_NO_RULE;
    switch ((enum hs_odd_kind)hs_rule_odd_sub_kind(rule)) {
    case HS_ODD_END:
        return step_to_end(walk, hs_rule_odd_argument(rule));
    case HS_ODD_TABLE:
        return step_by_table(walk, hs_odd_rule_at(hs_rule_odd_argument(rule)));
    case HS_ODD_FULL:
        return hs_step_full(walk);
    case HS_ODD_SIGNAL:
        return step_over_signal(walk, walk->sp + hs_rule_odd_argument(rule));
    }
    return HS_END_BAD_RULE;
}
