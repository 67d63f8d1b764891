// SPDX-License-Identifier: MIT OR Apache-2.0
//
// ARM instructions (A32), little-endian code.
#include "arch/arm/decoder_shared.h"

enum { CONDITION_NOT_ABOVE = 9, CONDITION_ALWAYS = 14, CONDITION_NONE = 15 };

enum { CASES_MAX = 1024 };

// The context: `mov lr, pc` has been seen, which makes a call of a jump through a register.
enum { CONTEXT_LR_IS_NEXT = 1 };

static uint32_t expand_immediate(uint32_t word)
{
    return hs_arm_rotate_right(word & 0xff, hs_bits__field(word, 8, 4) * 2);
}

static unsigned addressing_of_list(uint32_t word)
{
    return (word & 1u << 20 ? HS_ARM_LOAD : 0) | (word & 1u << 23 ? HS_ARM_UP : 0) |
           (word & 1u << 24 ? HS_ARM_BEFORE : 0) | (word & 1u << 21 ? HS_ARM_WRITEBACK : 0);
}

static unsigned addressing(uint32_t word)
{
    return addressing_of_list(word) | (word & 1u << 24 ? 0 : HS_ARM_WRITEBACK);
}

// What an operation with a constant operand does to `reg`.
static void operate_constant(struct hs_instruction *instruction, unsigned operation, unsigned reg, unsigned source,
                             uint32_t constant, uintptr_t pc)
{
    if (source == HS_ARM_PC && (operation == 2 || operation == 4)) {
        hs_arm_set_from_pc(instruction, reg, operation == 2 ? pc - constant : pc + constant);
        return;
    }
    switch (operation) {
    case 2: // sub
        hs_arm_effect(instruction, HS_EFFECT_ADD, reg, source, (int32_t)-constant);
        break;
    case 4: // add
        hs_arm_effect(instruction, HS_EFFECT_ADD, reg, source, (int32_t)constant);
        break;
    case 12: // orr
        hs_arm_effect(instruction, HS_EFFECT_OR, reg, source, (int32_t)constant);
        break;
    case 13: // mov
        hs_arm_effect(instruction, HS_EFFECT_SET, reg, 0, (int32_t)constant);
        break;
    case 15: // mvn
        hs_arm_effect(instruction, HS_EFFECT_SET, reg, 0, (int32_t)~constant);
        break;
    default:
        hs_arm_clobber(instruction, reg);
    }
}

// The same with a register that is not shifted.
static void operate_register(struct hs_instruction *instruction, unsigned operation, unsigned reg, unsigned source,
                             unsigned other, uintptr_t pc)
{
    if (operation == 4 && (source == HS_ARM_PC || other == HS_ARM_PC)) {
        hs_arm_add_to_pc(instruction, reg, source == HS_ARM_PC ? other : source, pc);
        return;
    }
    switch (operation) {
    case 2:
        hs_arm_effect_register(instruction, HS_EFFECT_SUB_REGISTER, reg, source, other);
        break;
    case 4:
        hs_arm_effect_register(instruction, HS_EFFECT_ADD_REGISTER, reg, source, other);
        break;
    case 13:
        hs_arm_effect(instruction, HS_EFFECT_ADD, reg, other, 0);
        break;
    default:
        hs_arm_clobber(instruction, reg);
    }
}

static void operate(struct hs_instruction *instruction, uint32_t word, uintptr_t pc, uint32_t *context)
{
    unsigned operation = hs_bits__field(word, 21, 4), reg = hs_bits__field(word, 12, 4),
             source = hs_bits__field(word, 16, 4);
    bool constant = word & 1u << 25, plain = !(word & 0xff0), moves = operation == 13 && !constant;
    if (operation == 10 && constant)
        *context = hs_arm_compared(source, expand_immediate(word));
    if (operation >= 8 && operation <= 11)
        return; // only flags
    if (reg == HS_ARM_PC) {
        instruction->flow = HS_FLOW_INDIRECT;
        if (word & 1u << 20)
            instruction->flow = HS_FLOW_RETURN; // from an exception
        else if (moves && plain)
            hs_arm_jump_to_register(instruction, word & 15);
        else if (source == HS_ARM_IP)
            hs_arm_clobber(instruction, HS_ARM_IP); // a stub
    } else if (constant) {
        operate_constant(instruction, operation, reg, source, expand_immediate(word), pc);
    } else if (plain) {
        operate_register(instruction, operation, reg, source, word & 15, pc);
    } else if (moves && !(word & 0x70)) {
        hs_arm_shift_left(instruction, reg, word & 15, hs_bits__field(word, 7, 5));
    } else {
        hs_arm_clobber(instruction, reg);
    }
    if ((word & 0x0fffffff) == 0x01a0e00f)
        *context |= CONTEXT_LR_IS_NEXT;
}

static void multiply(struct hs_instruction *instruction, uint32_t word)
{
    hs_arm_clobber(instruction, hs_bits__field(word, 16, 4));
    if (word & 1u << 23 || (word & 0x00f00000) == 0x00400000)
        hs_arm_clobber(instruction, hs_bits__field(word, 12, 4));
}

static void halfword_multiply(struct hs_instruction *instruction, uint32_t word)
{
    hs_arm_clobber(instruction, hs_bits__field(word, 16, 4));
    if (hs_bits__field(word, 21, 2) == 2)
        hs_arm_clobber(instruction, hs_bits__field(word, 12, 4));
}

// swp, exclusive accesses, acquires and releases.
static bool synchronise(struct hs_instruction *instruction, uint32_t word)
{
    bool load = word & 1u << 20, two = hs_bits__field(word, 21, 2) == 1;
    unsigned reg = hs_bits__field(word, 12, 4);
    if (!(word & 1u << 23)) {
        hs_arm_clobber(instruction, reg);
        return !(word & 0x00300000);
    }
    if (load || hs_bits__field(word, 8, 2) != 0) // a plain release tells nothing
        hs_arm_clobber(instruction, reg);
    if (load && two)
        hs_arm_clobber(instruction, (reg + 1) & 15);
    return true;
}

// Halfwords, signed bytes and pairs of words.
static void transfer_extra(struct hs_instruction *instruction, uint32_t word, const struct hs_arm_code *code)
{
    unsigned reg = hs_bits__field(word, 12, 4), base = hs_bits__field(word, 16, 4), how = addressing(word);
    uint32_t offset = hs_bits__field(word, 8, 4) << 4 | (word & 15);
    bool constant = word & 1u << 22, two = !(how & HS_ARM_LOAD) && word & 1u << 6;
    if (two && !(word & 1u << 5))
        how |= HS_ARM_LOAD;
    if (constant && base == HS_ARM_PC && how & HS_ARM_LOAD)
        hs_arm_refer(instruction, code, how & HS_ARM_UP ? (int32_t)offset : -(int32_t)offset, two ? 8 : 2);
    if (!constant)
        hs_arm_transfer_indexed(instruction, reg, base, two ? 8 : 2, how);
    else if (two)
        hs_arm_transfer_two(instruction, reg, (reg + 1) & 15, base, offset, how);
    else
        hs_arm_transfer_part(instruction, reg, base, offset, how);
}

static bool miscellaneous(struct hs_instruction *instruction, uint32_t word)
{
    unsigned operation = hs_bits__field(word, 21, 2), reg = hs_bits__field(word, 12, 4);
    switch (hs_bits__field(word, 4, 4)) {
    case 0:
        if (!(operation & 1))
            hs_arm_clobber(instruction, reg); // mrs
        return true;
    case 1:
        if (operation == 1)
            hs_arm_jump_to_register(instruction, word & 15);
        else
            hs_arm_clobber(instruction, reg); // clz
        return operation & 1;
    case 2:
        hs_arm_jump_to_register(instruction, word & 15);
        return operation == 1;
    case 3:
        instruction->flow = HS_FLOW_CALL;
        return operation == 1;
    case 4: // crc32
    case 5: // saturating
        hs_arm_clobber(instruction, reg);
        return true;
    case 6:
        instruction->flow = HS_FLOW_RETURN;
        return operation == 3;
    case 7: // breakpoints, calls of a hypervisor or monitor
        return true;
    default:
        halfword_multiply(instruction, word);
        return true;
    }
}

static bool class_register(struct hs_instruction *instruction, uint32_t word, const struct hs_arm_code *code,
                           uint32_t *context)
{
    bool miscellaneous_space = (word & 0x01900000) == 0x01000000;
    if ((word & 0x90) == 0x90) {
        if (!(word & 0x60) && word & 1u << 24)
            return synchronise(instruction, word);
        if (word & 0x60)
            transfer_extra(instruction, word, code);
        else
            multiply(instruction, word);
        return true;
    }
    if (miscellaneous_space)
        return miscellaneous(instruction, word);
    operate(instruction, word, code->pc, context);
    return true;
}

static void class_constant(struct hs_instruction *instruction, uint32_t word, const struct hs_arm_code *code,
                           uint32_t *context)
{
    unsigned reg = hs_bits__field(word, 12, 4);
    int32_t half = (int32_t)(hs_bits__field(word, 16, 4) << 12 | (word & 0xfff));
    switch (hs_bits__field(word, 20, 5)) {
    case 0x10:
        hs_arm_effect(instruction, HS_EFFECT_SET, reg, 0, half);
        break;
    case 0x14: // movt follows a movw, which left the upper half 0
        hs_arm_effect(instruction, HS_EFFECT_OR, reg, reg, (int32_t)((uint32_t)half << 16));
        break;
    case 0x12: // msr, hints
    case 0x16:
        break;
    default:
        operate(instruction, word, code->pc, context);
    }
}

static void class_transfer(struct hs_instruction *instruction, uint32_t word, const struct hs_arm_code *code)
{
    unsigned reg = hs_bits__field(word, 12, 4), base = hs_bits__field(word, 16, 4), how = addressing(word);
    int32_t offset = word & 0xfff;
    if (word & 1u << 22)
        hs_arm_transfer_part(instruction, reg, base, (uint32_t)offset, how);
    else if (base == HS_ARM_PC && how & HS_ARM_LOAD)
        hs_arm_literal(instruction, reg, code, how & HS_ARM_UP ? offset : -offset);
    else
        hs_arm_transfer(instruction, reg, base, (uint32_t)offset, how);
}

// `add pc, pc, reg, lsl #2`: a table of branches follows the next instruction. `ldr pc, [pc, reg, lsl #2]`: one of
// addresses. Both are executed only for values that the comparison before has not found to be above its constant.
static void jump_through_table(struct hs_instruction *instruction, uint32_t word, const struct hs_arm_code *code,
                               uint32_t context)
{
    unsigned condition = word >> 28, count = hs_arm_value_count(context, word & 15);
    bool addresses = (word & 0x0ffffff0) == 0x079ff100;
    if ((condition != CONDITION_ALWAYS && condition != CONDITION_NOT_ABOVE) ||
        (!addresses && (word & 0x0ffffff0) != 0x008ff100))
        return;
    if (count > CASES_MAX)
        count = CASES_MAX;
    instruction->case_count = (uint16_t)count;
    instruction->case_size = addresses ? 4 : 0;
    instruction->case_scale = addresses ? 1 : 4;
    instruction->case_base = addresses ? 0 : code->pc;
    if (addresses)
        hs_arm_refer(instruction, code, 0, count * 4);
}

static void class_transfer_indexed(struct hs_instruction *instruction, uint32_t word)
{
    hs_arm_transfer_indexed(instruction, hs_bits__field(word, 12, 4), hs_bits__field(word, 16, 4),
                            word & 1u << 22 ? 1 : 4, addressing(word));
}

static bool class_media(struct hs_instruction *instruction, uint32_t word)
{
    unsigned operation = hs_bits__field(word, 20, 5);
    if (operation == 0x1f && (word & 0xf0) == 0xf0) {
        instruction->flow = HS_FLOW_STOP; // udf
        return true;
    }
    if (operation < 0x10 || operation >= 0x1a) {
        hs_arm_clobber(instruction, hs_bits__field(word, 12, 4));
        return true;
    }
    hs_arm_clobber(instruction, hs_bits__field(word, 16, 4));
    if (operation == 0x14)
        hs_arm_clobber(instruction, hs_bits__field(word, 12, 4));
    return true;
}

static void class_branch(struct hs_instruction *instruction, uint32_t word, uintptr_t pc)
{
    int32_t offset = hs_bits__signed(word, 0, 24) * 4;
    instruction->flow = word & 1u << 24 ? HS_FLOW_CALL : HS_FLOW_JUMP;
    instruction->target = pc + (uintptr_t)(intptr_t)offset;
}

static bool decode_conditional(struct hs_instruction *instruction, uint32_t word, const struct hs_arm_code *code,
                               uint32_t *context)
{
    switch (hs_bits__field(word, 25, 3)) {
    case 0:
        return class_register(instruction, word, code, context);
    case 1:
        class_constant(instruction, word, code, context);
        return true;
    case 2:
        class_transfer(instruction, word, code);
        return true;
    case 3:
        if (word & 1u << 4)
            return class_media(instruction, word);
        class_transfer_indexed(instruction, word);
        return true;
    case 4: // bit 22: the registers of another mode, or a return from an exception
        return hs_arm_transfer_list(instruction, hs_bits__field(word, 16, 4), word & 0xffff, addressing_of_list(word));
    case 5:
        class_branch(instruction, word, code->pc);
        return true;
    default:
        if ((word & 0x0f000000) == 0x0f000000)
            hs_arm_clobber(instruction, 0); // a system call's result
        else
            hs_arm_coprocessor(instruction, word, code);
        return true;
    }
}

static bool decode_unconditional(struct hs_instruction *instruction, uint32_t word, const struct hs_arm_code *code)
{
    switch (hs_bits__field(word, 24, 4)) {
    case 1: // cps, setend
    case 2: // NEON
    case 3:
    case 5: // preload, barriers
    case 6:
    case 7:
        return true;
    case 4:
        if (!(word & 1u << 20))
            hs_arm_vector_transfer(instruction, word);
        return true;
    case 10:
    case 11:
        class_branch(instruction, word, code->pc);
        instruction->flow = HS_FLOW_CALL;
        instruction->target |= hs_bits__field(word, 24, 1) << 1 | 1; // Thumb code
        return true;
    case 12:
    case 13:
    case 14:
        hs_arm_coprocessor(instruction, word, code);
        return true;
    default: // undefined, or the kernel's own (srs, rfe)
        return false;
    }
}

static bool decode(const uint8_t *code, size_t length, uintptr_t address, uint32_t *context,
                   struct hs_instruction *instruction)
{
    const struct hs_arm_code at = {code, length, address, address + 8};
    uint32_t before = *context, word;
    bool known;
    hs_instruction__clear(instruction, 0);
    *context = 0;
    if (length < 4)
        return false;
    word = hs_bits__little32(code);
    *context = before & ~HS_ARM_CONTEXT_OWN;
    if (word >> 28 == CONDITION_NONE) {
        known = decode_unconditional(instruction, word, &at);
    } else {
        instruction->conditional = word >> 28 != CONDITION_ALWAYS;
        known = decode_conditional(instruction, word, &at, context);
    }
    *context = (*context & HS_ARM_CONTEXT_OWN) | hs_arm_keep_comparison(instruction, *context);
    if (!known)
        return false;
    instruction->size = 4;
    if (instruction->flow == HS_FLOW_JUMP && instruction->conditional)
        instruction->flow = HS_FLOW_BRANCH;
    if (instruction->flow == HS_FLOW_BRANCH)
        instruction->conditional = false; // the flow says it
    if (instruction->flow == HS_FLOW_INDIRECT && before & CONTEXT_LR_IS_NEXT)
        instruction->flow = HS_FLOW_CALL;
    if (instruction->flow == HS_FLOW_INDIRECT)
        jump_through_table(instruction, word, &at, before);
    return true;
}

static bool saves_lr(uint32_t word)
{
    return (word & 0xffff4000) == 0xe92d4000 || word == 0xe52de004;
}

// Functions save lr first, or copy sp for a frame of the old procedure call standard; one with variable arguments
// pushes those before.
static bool starts_function(const uint8_t *code, size_t length)
{
    uint32_t word, next;
    if (length < 8)
        return false;
    word = hs_bits__little32(code);
    next = hs_bits__little32(code + 4);
    if (word == 0xe1a0c00d)
        return (next & 0xffff0000) == 0xe92d0000;
    return saves_lr(word) || ((word & 0xfffffff0) == 0xe92d0000 && saves_lr(next));
}

static bool ends_with_call(const uint8_t *end, size_t length)
{
    uint32_t word, before;
    if (length < 4)
        return false;
    word = hs_bits__little32(end - 4);
    if ((word & 0xfe000000) == 0xfa000000)
        return true; // blx
    if (word >> 28 == CONDITION_NONE)
        return false;
    if ((word & 0x0f000000) == 0x0b000000 || (word & 0x0ffffff0) == 0x012fff30)
        return true;
    before = length >= 8 ? hs_bits__little32(end - 8) : 0;
    return (before & 0x0fffffff) == 0x01a0e00f &&
           ((word & 0x0ffffff0) == 0x012fff10 || (word & 0x0ffffff0) == 0x01a0f000 ||
            (word & 0x0c50f000) == 0x0410f000);
}

// Constants may follow. Few of them look like instructions.
static bool is_likely(const uint8_t *code, size_t length)
{
    return hs_arm_is_arm(code, length) || hs_arm_is_arm(code, length / 2);
}

const struct hs_decoder hs_decoder_arm = {
    .name = "arm",
    .word_size = 4,
    .alignment = 4,
    .sp = HS_ARM_SP,
    .fp = 11,
    .ra = HS_ARM_LR,
    .call_size = 4,
    .callee_saved = HS_ARM_CALLEE_SAVED,
    .stub_registers = 1u << HS_ARM_IP,
    .entry_sp_from_cfa = 0,
    .data_in_code = true,
    .decode = decode,
    .starts_function = starts_function,
    .is_likely = is_likely,
    .ends_with_call = ends_with_call,
};
