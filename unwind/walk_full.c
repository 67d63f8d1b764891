// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The slow walk with all registers, for frames whose rule needs others than sp and fp: hand-written code such as the
// lazy binding entry of the loader, or libcrypto's assembler. It starts in its own frame, so that callee-saved
// registers are known, passes the frames of the walker itself, and answers one step.
#include "unwind/compile.h"
#include "unwind/expression.h"
#include "unwind/odd_rules.h"
#include "unwind/row_cache.h"
#include "unwind/step.h"

enum { FRAME_LIMIT = 1 << 16 };

struct full_walk {
    struct hs_all_registers registers;
    struct hs_stack_memory memory;
    bool exact;
};

static bool compute_cfa(struct full_walk *walk, const struct hs_cfi_section *section, const struct hs_cfi_row *row,
                        uintptr_t *cfa)
{
    struct hs_reader expression;
    if (!row->cfa_expression) {
        *cfa = walk->registers.values[row->cfa_register] + (uintptr_t)row->cfa_offset;
        return true;
    }
    return hs_cfi_expression(section, row->cfa_offset, &expression) &&
           hs_expression_evaluate(expression, &walk->registers, NULL, &walk->memory, cfa);
}

static bool compute_register(struct full_walk *walk, const struct hs_cfi_section *section,
                             const struct hs_cfi_register *rule, uintptr_t cfa, uintptr_t *value)
{
    struct hs_reader expression;
    uintptr_t offset = (uintptr_t)(intptr_t)rule->value;
    switch ((enum hs_cfi_kind)rule->kind) {
    case HS_CFI_SAME:
        return true;
    case HS_CFI_UNDEFINED:
        *value = 0;
        return true;
    case HS_CFI_AT_OFFSET:
        return hs_stack_memory_read(&walk->memory, cfa + offset, value);
    case HS_CFI_VALUE_OFFSET:
        *value = cfa + offset;
        return true;
    case HS_CFI_REGISTER:
        if (rule->value >= HS_DWARF_REGISTERS)
            return false;
        *value = walk->registers.values[rule->value];
        return true;
    case HS_CFI_AT_EXPRESSION:
    case HS_CFI_VALUE_EXPRESSION:
        if (!hs_cfi_expression(section, rule->value, &expression) ||
            !hs_expression_evaluate(expression, &walk->registers, &cfa, &walk->memory, value))
            return false;
        return rule->kind == HS_CFI_VALUE_EXPRESSION || hs_stack_memory_read(&walk->memory, *value, value);
    }
    return false;
}

// Whether the row says where the return address is. A link register is as good as memory in a frame that was
// interrupted.
static bool knows_return_address(const struct full_walk *walk, const struct hs_found_row *found)
{
    if (found->place.fde.return_address_column != HS_DWARF_RA)
        return false;
    if (found->row.registers[HS_DWARF_RA].kind != HS_CFI_SAME)
        return true;
#ifdef HS_ARCH_LINK_REGISTER
    return walk->exact;
#else
    (void)walk;
    return false;
#endif
}

static int step_by_row(struct full_walk *walk, const struct hs_found_row *found)
{
    const struct hs_cfi_section *section = &found->place.section;
    const struct hs_cfi_row *row = &found->row;
    uintptr_t cfa, sp = walk->registers.values[HS_DWARF_SP];
    if (row->registers[HS_DWARF_RA].kind == HS_CFI_UNDEFINED)
        return HS_END_ROOT;
    if (!knows_return_address(walk, found) || !compute_cfa(walk, section, row, &cfa))
        return HS_END_BAD_RULE;
    struct hs_all_registers next = walk->registers;
    next.values[HS_DWARF_SP] = cfa;
    for (int i = 0; i < HS_DWARF_REGISTERS; i++)
        if (!compute_register(walk, section, &row->registers[i], cfa, &next.values[i]))
            return HS_END_BAD_STACK;
    bool frameless = walk->exact && row->registers[HS_DWARF_RA].kind == HS_CFI_SAME;
    if (!found->place.fde.signal_frame && (cfa < sp || (next.values[HS_DWARF_SP] <= sp && !frameless)))
        return HS_END_BAD_STACK;
    next.values[HS_DWARF_PC] = hs_arch_strip(next.values[HS_DWARF_RA]);
    walk->registers = next;
    walk->exact = found->place.fde.signal_frame;
    return next.values[HS_DWARF_PC] ? HS_STEP_MORE : HS_END_ROOT;
}

static int step_over_signal(struct full_walk *walk, uint32_t context_from_sp)
{
    uintptr_t context = walk->registers.values[HS_DWARF_SP] + context_from_sp;
    uintptr_t *values = walk->registers.values;
    struct hs_walk next = {.memory = walk->memory};
    for (unsigned i = 0; i < HS_SIGNAL_REGISTERS; i++)
        if (!hs_stack_memory_read(&walk->memory, context + hs_signal_register_place(i), &values[i]))
            return HS_END_BAD_STACK;
    int result = hs_step_signal(&next, context);
    values[HS_DWARF_PC] = next.pc;
    walk->exact = true;
    return result;
}

// No frame information: the fast walk's guess; callee-saved registers other than fp are taken to be unchanged.
static int step_by_guess(struct full_walk *walk)
{
    uintptr_t *values = walk->registers.values;
    struct hs_walk guess = {.pc = values[HS_DWARF_PC], .sp = values[HS_DWARF_SP], .fp = values[HS_DWARF_FP]};
    guess.memory = walk->memory;
    int result = hs_step_odd(&guess, HS_RULE_FRAME_POINTER_CHAIN);
    values[HS_DWARF_PC] = guess.pc;
    values[HS_DWARF_SP] = guess.sp;
    values[HS_DWARF_FP] = guess.fp;
    walk->exact = false;
    return result;
}

static int step(struct full_walk *walk)
{
    uintptr_t pc = walk->registers.values[HS_DWARF_PC];
    struct hs_found_row found;
    struct hs_module module;
    uint32_t context;
    if (hs_module_find(hs_rule_address(pc, true), &module) && hs_at_signal_trampoline(&module, pc, &context))
        return step_over_signal(walk, context);
    switch (hs_row_cache_find(pc, walk->exact, &found)) {
    case HS_ROW_BAD:
        return HS_END_BAD_RULE;
    case HS_ROW_MISSING:
        return found.place.in_module ? step_by_guess(walk) : HS_END_NO_RULE;
    case HS_ROW_FOUND:
        break;
    }
    int result = step_by_row(walk, &found);
    hs_row_release(&found);
    return result;
}

__attribute__((noinline)) int hs_step_full(struct hs_walk *walk)
{
    struct full_walk full;
    hs_capture_all(&full.registers);
    full.exact = true;
    uintptr_t *values = full.registers.values;
    hs_stack_memory_start(&full.memory, values[HS_DWARF_SP]);
    for (int frames = 0; frames < FRAME_LIMIT; frames++) {
        bool arrived = values[HS_DWARF_PC] == walk->pc && values[HS_DWARF_SP] == walk->sp;
        int result = step(&full);
        if (arrived || result != HS_STEP_MORE) {
            walk->pc = values[HS_DWARF_PC];
            walk->sp = values[HS_DWARF_SP];
            walk->fp = values[HS_DWARF_FP];
            walk->exact = full.exact;
            return arrived ? result : HS_END_BAD_RULE;
        }
    }
    return HS_END_BAD_RULE;
}
