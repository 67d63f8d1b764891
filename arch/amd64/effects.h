// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the parts of the AMD64 decoder share: an instruction with the effects found so far.
#ifndef HEAPSONDE_ARCH_AMD64_EFFECTS_H
#define HEAPSONDE_ARCH_AMD64_EFFECTS_H

#include "arch/amd64/decode.h"

#define SP_DWARF 7
#define FP_DWARF 6

struct view {
    const struct amd64 *code;
    struct hs_instruction *out;
};

static inline uint8_t dwarf(unsigned reg)
{
    static const uint8_t numbers[] = {0, 2, 1, 3, 7, 6, 4, 5};
    return (uint8_t)(reg < 8 ? numbers[reg] : reg);
}

static inline bool fits(int64_t value)
{
    return value == (int32_t)value;
}

static inline void clobber(struct view *view, unsigned reg)
{
    hs_effect__add(view->out, HS_EFFECT_CLOBBER, dwarf(reg), 0, 0, 0);
}

// The register that holds byte register `reg`: without REX, 4 to 7 are the second bytes of 0 to 3.
static inline void clobber_byte(struct view *view, unsigned reg)
{
    clobber(view, !view->code->rex && reg >= 4 && reg < 8 ? reg - 4 : reg);
}

static inline void clobber_reg(struct view *view)
{
    clobber(view, view->code->reg);
}

static inline void clobber_rm(struct view *view)
{
    if (!view->code->is_memory)
        clobber(view, view->code->rm);
}

static inline void clobber_rm_byte(struct view *view)
{
    if (!view->code->is_memory)
        clobber_byte(view, view->code->rm);
}

// The destination of byte or word operands: even opcodes are those of bytes.
static inline void clobber_rm_sized(struct view *view)
{
    if (view->code->opcode & 1)
        clobber_rm(view);
    else
        clobber_rm_byte(view);
}

static inline void set(struct view *view, unsigned reg, int64_t value)
{
    if (fits(value))
        hs_effect__add(view->out, HS_EFFECT_SET, dwarf(reg), 0, 0, (int32_t)value);
    else
        clobber(view, reg);
}

static inline void add(struct view *view, unsigned reg, unsigned source, int64_t value)
{
    if (fits(value))
        hs_effect__add(view->out, HS_EFFECT_ADD, dwarf(reg), dwarf(source), 0, (int32_t)value);
    else
        clobber(view, reg);
}

static inline void store(struct view *view, unsigned reg, unsigned base, int32_t offset)
{
    hs_effect__add(view->out, HS_EFFECT_STORE, dwarf(reg), dwarf(base), 0, offset);
}

static inline void load(struct view *view, unsigned reg, unsigned base, int32_t offset)
{
    hs_effect__add(view->out, HS_EFFECT_LOAD, dwarf(reg), dwarf(base), 0, offset);
}

static inline void store_to_memory(struct view *view)
{
    const struct amd64_memory *memory = &view->code->memory;
    if (view->code->wide && memory->plain)
        store(view, view->code->reg, memory->base, memory->displacement);
}

static inline void load_from_memory(struct view *view)
{
    const struct amd64_memory *memory = &view->code->memory;
    if (view->code->wide && memory->plain)
        load(view, view->code->reg, memory->base, memory->displacement);
    else
        clobber_reg(view);
}

static inline void flow(struct view *view, enum hs_flow kind)
{
    view->out->flow = (uint8_t)kind;
}

// The low bits of the opcode are the condition.
static inline void branch_on_condition(struct view *view)
{
    enum { UNEQUAL = 5 };
    flow(view, HS_FLOW_BRANCH);
    view->out->unless_equal = (view->code->opcode & 15) == UNEQUAL;
}

static inline void move_sp(struct view *view, int32_t bytes)
{
    add(view, RSP, RSP, bytes);
}

static inline int32_t stack_word(const struct view *view)
{
    return view->code->operand_16 ? 2 : 8;
}

static inline void push(struct view *view, unsigned reg)
{
    move_sp(view, -stack_word(view));
    if (reg != RSP && stack_word(view) == 8)
        store(view, reg, RSP, 0);
}

static inline void pop(struct view *view, unsigned reg)
{
    if (stack_word(view) != 8)
        clobber(view, reg);
    else
        load(view, reg, RSP, 0);
    if (reg != RSP)
        move_sp(view, stack_word(view));
}

#pragma GCC visibility push(hidden)
// The effects of an instruction of the map 0f, and of the others. False: no instruction.
bool hs_amd64_effects_0f(struct view *view);
bool hs_amd64_effects_extended(struct view *view);
#pragma GCC visibility pop

#endif
