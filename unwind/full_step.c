// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/full_step.h"

#include "arch/likely.h"
#include "unwind/call_site.h"
#include "unwind/cfi_row_cache.h"
#include "unwind/code_cfi_row.h"
#include "unwind/compile.h"
#include "unwind/expression.h"
#include "unwind/odd_rules.h"
#include "unwind/resolve.h"
#include "unwind/walk.h"

static bool compute_cfa(struct hs_full_walk *walk, const struct hs_cfi_section *section,
                        const struct hs_cfi_row *cfi_row, uintptr_t *cfa)
{
    struct hs_reader expression;
    if (!cfi_row->cfa_expression) {
        *cfa = walk->registers.values[cfi_row->cfa_register] + (uintptr_t)cfi_row->cfa_offset;
        return !HS_DECODERS_ALIGN || !cfi_row->cfa_in_memory || hs_words_read(&walk->memory, *cfa, cfa);
    }
    return hs_cfi_expression(section, cfi_row->cfa_offset, &expression) &&
           hs_expression_evaluate(expression, &walk->registers, NULL, &walk->memory, cfa);
}

// Registers are saved inside their frame. An interrupted frame may have popped one already, which the tables of some
// epilogues do not contain: then the register has the value.
static bool is_outside(const struct hs_cfi_register *rule, uintptr_t place, uintptr_t sp, uintptr_t cfa)
{
    return place < sp || (rule->kind == HS_CFI_AT_EXPRESSION && place >= cfa);
}

static bool is_at_base(const struct hs_cfi_register *rule)
{
    return HS_DECODERS_ALIGN && rule->kind == HS_CFI_AT_BASE;
}

// `cfa`: or what else the rule counts from.
static bool compute_register(struct hs_full_walk *walk, const struct hs_cfi_section *section,
                             const struct hs_cfi_register *rule, uintptr_t cfa, uintptr_t *value)
{
    struct hs_reader expression;
    uintptr_t place = cfa + (uintptr_t)(intptr_t)rule->value, sp = walk->registers.values[HS_DWARF_SP];
    switch ((enum hs_cfi_kind)rule->kind) {
    case HS_CFI_SAME:
        return true;
    case HS_CFI_UNDEFINED:
        *value = 0;
        return true;
    case HS_CFI_REGISTER:
        if (rule->value >= HS_DWARF_REGISTERS)
            return false;
        *value = walk->registers.values[rule->value];
        return true;
    case HS_CFI_AT_EXPRESSION:
    case HS_CFI_VALUE_EXPRESSION:
        if (!hs_cfi_expression(section, rule->value, &expression) ||
            !hs_expression_evaluate(expression, &walk->registers, &cfa, &walk->memory, &place))
            return false;
        break;
    case HS_CFI_AT_OFFSET:
    case HS_CFI_VALUE_OFFSET:
    case HS_CFI_AT_BASE:
        break;
    }
    if (rule->kind == HS_CFI_AT_OFFSET || rule->kind == HS_CFI_AT_EXPRESSION || is_at_base(rule))
        return (walk->exact && is_outside(rule, place, sp, cfa)) || hs_words_read(&walk->memory, place, value);
    *value = place;
    return true;
}

// Whether the CFI row says where the return address is. In an interrupted frame, the link register
// counts as such a place.
static bool knows_return_address(const struct hs_full_walk *walk, const struct hs_found_cfi_row *found)
{
    if (found->place.fde.return_address_column != HS_DWARF_RA)
        return false;
    if (found->cfi_row.registers[HS_DWARF_RA].kind != HS_CFI_SAME)
        return true;
#ifdef HS_ARCH_LINK_REGISTER
    return walk->exact;
#else
    (void)walk;
    return false;
#endif
}

// As in the walk with fast steps. Tables of code that switches stacks may describe the target stack, so a frame that
// was interrupted there is unwound by its machine code.
static HS_COLD bool may_switch(struct hs_full_walk *walk, const struct hs_cfi_row *cfi_row, uintptr_t ra)
{
    if (walk->exact || (cfi_row->cfa_register == HS_DWARF_SP && !cfi_row->cfa_expression) ||
        walk->switches++ >= HS_SWITCHES_MAX)
        return false;
    return cfi_row->cfa_expression || hs_call_site__at(hs_code_at(hs_arch_strip(ra)), walk->memory.copy);
}

static HS_COLD int step_by_cfi_row(struct hs_full_walk *walk, const struct hs_found_cfi_row *found)
{
    const struct hs_cfi_section *section = &found->place.section;
    const struct hs_cfi_row *cfi_row = &found->cfi_row;
    uintptr_t cfa, sp = walk->registers.values[HS_DWARF_SP];
    if (cfi_row->registers[HS_DWARF_RA].kind == HS_CFI_UNDEFINED)
        return HS_END_ROOT;
    if (!knows_return_address(walk, found) || !compute_cfa(walk, section, cfi_row, &cfa))
        return HS_END_BAD_RULE;
    struct hs_all_registers next = walk->registers;
    next.values[HS_DWARF_SP] = cfa;
    for (int i = 0; i < HS_DWARF_REGISTERS; i++) {
        const struct hs_cfi_register *rule = &cfi_row->registers[i];
        uintptr_t base = is_at_base(rule) ? walk->registers.values[cfi_row->base] : cfa;
        if (!compute_register(walk, section, rule, base, &next.values[i]))
            return HS_END_BAD_STACK;
    }
#ifdef HS_ARCH_LINK_REGISTER
    // Lazy binding in glibc has a frame that is larger than its table says.
    const struct hs_cfi_register *ra = &cfi_row->registers[HS_DWARF_RA];
    if (ra->kind == HS_CFI_AT_OFFSET && ra->value >= 0)
        next.values[HS_DWARF_SP] += (uintptr_t)ra->value + sizeof cfa;
#endif
    bool frameless = walk->exact && cfi_row->registers[HS_DWARF_RA].kind == HS_CFI_SAME;
    bool up = cfa >= sp && (next.values[HS_DWARF_SP] > sp || frameless);
    if (!found->place.fde.signal_frame && !up && !(cfa < sp && may_switch(walk, cfi_row, next.values[HS_DWARF_RA])))
        return HS_END_BAD_STACK;
    next.values[HS_DWARF_PC] = hs_arch_strip(next.values[HS_DWARF_RA]);
    walk->registers = next;
    walk->exact = found->place.fde.signal_frame;
    return next.values[HS_DWARF_PC] ? HS_STEP_MORE : HS_END_ROOT;
}

#ifdef HS_SIGNAL_FP_KEPT
HS_COLD unsigned hs_full_step__fp_register(uintptr_t pc)
{
    const uint8_t *code = (const uint8_t *)(hs_code_at(pc) & ~(uintptr_t)1);
    struct hs_module module;
    struct hs_range text;
    if (!(pc & 1) || !hs_module_find((uintptr_t)code, &module) || module.anonymous ||
        !hs_module_segment(&module, code, &text) || code < text.start + 2 || text.end - code < 4)
        return HS_SIGNAL_FP_KEPT;
    return hs_signal_fp_register(code);
}
#endif

static int step_over_signal(struct hs_full_walk *walk, uint32_t context_from_sp)
{
    uintptr_t context = walk->registers.values[HS_DWARF_SP] + context_from_sp;
    uintptr_t *values = walk->registers.values;
    for (unsigned i = 0; i < HS_SIGNAL_REGISTERS; i++)
        if (!hs_words_read(&walk->memory, context + hs_signal_register_place(i), &values[i]))
            return HS_END_BAD_STACK;
#ifdef HS_SIGNAL_CPSR_PLACE
    uintptr_t cpsr;
    if (!hs_words_read(&walk->memory, context + HS_SIGNAL_CPSR_PLACE, &cpsr))
        return HS_END_BAD_STACK;
    values[HS_DWARF_PC] |= cpsr >> 5 & 1;
#endif
#ifdef HS_SIGNAL_FP_KEPT
    values[HS_SIGNAL_FP_KEPT] = values[hs_full_step__fp_register(values[HS_DWARF_PC])];
#endif
    walk->exact = true;
    return HS_STEP_MORE;
}

// The same by the code itself. The tables of code that switches stacks describe the other stack, and those of some
// epilogues are wrong.
static HS_COLD int step_by_code(struct hs_full_walk *walk, uintptr_t pc)
{
    struct hs_found_cfi_row found = {.place.fde.return_address_column = HS_DWARF_RA};
    struct hs_module module;
    bool known = hs_module_find(hs_rule_address(pc, true), &module) && !module.anonymous &&
                 hs_code_cfi_row(&module, pc, true, &found.cfi_row, &found.guessed) && !found.guessed;
    return known ? step_by_cfi_row(walk, &found) : HS_END_BAD_STACK;
}

static HS_COLD bool leads_to_code(const struct hs_full_walk *walk)
{
    struct hs_module module;
    return hs_module_find(hs_rule_address(hs_code_at(walk->registers.values[HS_DWARF_PC]), false), &module);
}

// Where an interrupted frame's table leads to no code, the code itself may know better. A zero is the end of the stack
// if both say so: most words that are no return address are zeros.
static HS_COLD int step_by_found(struct hs_full_walk *walk, const struct hs_found_cfi_row *found, uintptr_t pc)
{
    if (!walk->exact || found->cfi_row.registers[HS_DWARF_RA].kind == HS_CFI_UNDEFINED)
        return step_by_cfi_row(walk, found);
    struct hs_full_walk by_code = *walk;
    int result = step_by_cfi_row(walk, found);
    if (result == HS_STEP_MORE && leads_to_code(walk))
        return result;
    int other = step_by_code(&by_code, pc);
    if (other == HS_STEP_MORE && leads_to_code(&by_code)) {
        *walk = by_code;
        return other;
    }
    return result == HS_END_ROOT && other != result ? HS_END_BAD_STACK : result;
}

// Where frame pointers go on to; 0: nowhere.
static HS_COLD uintptr_t next_in_chain(struct hs_full_walk *walk, uintptr_t fp)
{
    const uint32_t rule = HS_RULE_FRAME_POINTER_CHAIN;
    uintptr_t caller, slot = hs_rule_ra_slot(rule, fp, fp + hs_rule_cfa_offset(rule));
    bool there = fp % HS_WORD_SIZE == 0 && hs_words_read(&walk->memory, slot, &caller);
    return there ? hs_code_at(hs_arch_strip(caller)) : 0;
}

// No frame information: the chain of frame pointers, checked; callee-saved registers other than fp are taken to be
// unchanged.
static HS_COLD int step_by_guess(struct hs_full_walk *walk)
{
    const uint32_t rule = HS_RULE_FRAME_POINTER_CHAIN;
    uintptr_t *values = walk->registers.values;
    uintptr_t sp = values[HS_DWARF_SP], fp = values[HS_DWARF_FP], pc;
    uintptr_t base = rule & HS_RULE_BASE_IS_FP ? fp : sp, cfa = base + hs_rule_cfa_offset(rule);
    uintptr_t slot = hs_rule_ra_slot(rule, base, cfa);
    bool down = base < sp;
    if (base % HS_WORD_SIZE || (!down && cfa <= sp) || !hs_words_read(&walk->memory, slot, &pc) ||
        !hs_words_read(&walk->memory, slot - HS_WORD_SIZE * hs_rule_fp_below_ra(rule), &fp))
        return HS_END_NO_RULE;
    pc = hs_arch_strip(pc);
    const uintptr_t caller = down || fp <= base ? 0 : next_in_chain(walk, fp);
    if ((down && walk->switches++ >= HS_SWITCHES_MAX) ||
        !hs_call_site__in_chain(hs_code_at(pc), caller, walk->memory.copy))
        return HS_END_NO_RULE;
    values[HS_DWARF_PC] = pc;
    values[HS_DWARF_SP] = cfa;
    if (rule & HS_RULE_FP_SAVED)
        values[HS_DWARF_FP] = fp;
    walk->exact = false;
    walk->guessed = true;
    return HS_STEP_MORE;
}

// A planted return address, as the fast steps know it.
static HS_COLD int step_from_planted(struct hs_full_walk *walk)
{
    struct hs_full_walk next = *walk;
    const uintptr_t *values = next.registers.values;
    walk->guessed = false;
    for (unsigned left = HS_PLANTED_FRAMES_ASKED; left; left--) {
        if (values[HS_DWARF_FP] - values[HS_DWARF_SP] > HS_PLANTED_FRAME_MAX || step_by_guess(&next) != HS_STEP_MORE)
            return HS_END_ROOT;
        if (left < HS_PLANTED_FRAMES_ASKED && hs_call_site__at(hs_code_at(values[HS_DWARF_PC]), walk->memory.copy))
            break;
    }
    return step_by_guess(walk);
}

// A call through a bad pointer, as the fast steps know it.
static HS_COLD int step_from_nowhere(struct hs_full_walk *walk)
{
    uintptr_t *values = walk->registers.values, pc;
#ifdef HS_ARCH_LINK_REGISTER
    pc = hs_arch_strip(values[HS_DWARF_RA]);
#else
    if (!hs_words_read(&walk->memory, values[HS_DWARF_SP], &pc))
        return HS_END_NO_RULE;
#endif
    if (!walk->exact || !hs_call_site__at(hs_code_at(pc), walk->memory.copy))
        return HS_END_NO_RULE;
#ifndef HS_ARCH_LINK_REGISTER
    values[HS_DWARF_SP] += HS_WORD_SIZE;
#endif
    values[HS_DWARF_PC] = pc;
    walk->exact = false;
    return HS_STEP_MORE;
}

#ifdef HS_ARCH_HEADER
// Code that no file has is the kernel's, for signal handlers to return to, if what is on the stack leads to code; and
// where it was interrupted, the way back may be where a call has left it.
static int step_over_unknown(struct hs_full_walk *walk)
{
    struct hs_full_walk next = *walk;
    uintptr_t *values = next.registers.values;
    next.guessed = true;
    int result = walk->exact ? step_from_nowhere(&next) : step_over_signal(&next, HS_SIGNAL_CONTEXT_FROM_SP);
    bool up = walk->exact || (values[HS_DWARF_SP] > walk->registers.values[HS_DWARF_SP] &&
                              values[HS_DWARF_SP] % HS_WORD_SIZE == 0 && hs_code_at(values[HS_DWARF_PC]));
    if (result != HS_STEP_MORE || !up)
        return HS_END_NO_RULE;
    *walk = next;
    return HS_STEP_MORE;
}
#endif

int hs_full_step(struct hs_full_walk *walk)
{
    uintptr_t pc = hs_code_at(walk->registers.values[HS_DWARF_PC]);
    struct hs_found_cfi_row found;
    struct hs_module module;
    uint32_t context;
#ifdef HS_ARCH_HEADER
    if (!pc)
        return step_over_unknown(walk);
#endif
    if (hs_module_find(hs_rule_address(pc, true), &module) &&
        hs_at_signal_trampoline(&module, pc, walk->memory.copy, &context))
        return step_over_signal(walk, context);
    switch (hs_cfi_row_cache_find(pc, walk->exact, &found)) {
    case HS_ROW_BAD:
        return HS_END_BAD_RULE;
    case HS_ROW_MISSING:
        return found.place.in_module ? step_by_guess(walk) : step_from_nowhere(walk);
    case HS_ROW_FOUND:
        break;
    }
    walk->guessed = found.guessed;
    bool planted = HS_PLANTED_FRAMES && found.guessed && found.cfi_row.registers[HS_DWARF_RA].kind == HS_CFI_UNDEFINED;
    int result = planted ? step_from_planted(walk) : step_by_found(walk, &found, pc);
    hs_cfi_row_release(&found);
    return result;
}
