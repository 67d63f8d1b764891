// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Thumb and Thumb-2 instructions (T32), little-endian code. `word` of a 32-bit instruction has its first halfword in
// the upper half. Addresses may carry bit 0, targets in Thumb code do.
#include "arch/arm/decoder_shared.h"

// Thumb's part of the context is the architecture's ITSTATE: the condition in the upper bits, the mask of the rest of
// the IT block in the lower ones.
enum { CONDITION_ALWAYS = 14 };

enum { CASES_MAX = 1024 };

static bool is_wide(uint32_t half)
{
    return half >= 0xe800;
}

static void jump_or_call(struct hs_instruction *instruction, enum hs_flow flow, uintptr_t address, int32_t offset)
{
    instruction->flow = (uint8_t)flow;
    instruction->target = (address + 4 + (uintptr_t)(intptr_t)offset) | 1;
}

// ---- 16 bits ----

static void shift_add_subtract(struct hs_instruction *instruction, uint32_t half)
{
    unsigned reg = half & 7, source = hs_bits__field(half, 3, 3), third = hs_bits__field(half, 6, 3);
    switch (hs_bits__field(half, 9, 4)) {
    case 0:
    case 1:
    case 2:
    case 3:
        hs_arm_shift_left(instruction, reg, source, hs_bits__field(half, 6, 5));
        break;
    case 12:
        hs_arm_effect_register(instruction, HS_EFFECT_ADD_REGISTER, reg, source, third);
        break;
    case 13:
        hs_arm_effect_register(instruction, HS_EFFECT_SUB_REGISTER, reg, source, third);
        break;
    case 14:
        hs_arm_effect(instruction, HS_EFFECT_ADD, reg, source, (int32_t)third);
        break;
    case 15:
        hs_arm_effect(instruction, HS_EFFECT_ADD, reg, source, -(int32_t)third);
        break;
    default:
        hs_arm_clobber(instruction, reg);
    }
}

static void constant_operation(struct hs_instruction *instruction, uint32_t half, uint32_t *context)
{
    unsigned reg = hs_bits__field(half, 8, 3);
    int32_t constant = (int32_t)(half & 0xff);
    switch (hs_bits__field(half, 11, 2)) {
    case 0:
        hs_arm_effect(instruction, HS_EFFECT_SET, reg, 0, constant);
        break;
    case 1: // cmp
        *context = hs_arm_compared(reg, (uint32_t)constant) | (*context & HS_ARM_CONTEXT_OWN);
        break;
    case 2:
        hs_arm_effect(instruction, HS_EFFECT_ADD, reg, reg, constant);
        break;
    default:
        hs_arm_effect(instruction, HS_EFFECT_ADD, reg, reg, -constant);
    }
}

static void low_register_operation(struct hs_instruction *instruction, uint32_t half)
{
    unsigned operation = hs_bits__field(half, 6, 4);
    if (operation != 8 && operation != 10 && operation != 11) // tst, cmp, cmn
        hs_arm_clobber(instruction, half & 7);
}

static void exchange(struct hs_instruction *instruction, unsigned source, bool call)
{
    if (call) {
        instruction->flow = HS_FLOW_CALL;
    } else if (source == HS_ARM_PC) { // into the ARM code behind: only stubs do so, which then use ip
        instruction->flow = HS_FLOW_INDIRECT;
        hs_arm_clobber(instruction, HS_ARM_IP);
    } else {
        hs_arm_jump_to_register(instruction, source);
    }
}

static void high_register_operation(struct hs_instruction *instruction, uint32_t half, uintptr_t address)
{
    unsigned reg = hs_bits__field(half, 7, 1) << 3 | (half & 7), source = hs_bits__field(half, 3, 4);
    switch (hs_bits__field(half, 8, 2)) {
    case 0:
        if (reg == HS_ARM_PC)
            instruction->flow = HS_FLOW_INDIRECT;
        if (source == HS_ARM_PC)
            hs_arm_add_to_pc(instruction, reg, reg, address + 4);
        else
            hs_arm_effect_register(instruction, HS_EFFECT_ADD_REGISTER, reg, reg, source);
        break;
    case 1: // cmp
        break;
    case 2:
        if (reg == HS_ARM_PC)
            hs_arm_jump_to_register(instruction, source);
        hs_arm_effect(instruction, HS_EFFECT_ADD, reg, source, 0);
        break;
    default:
        exchange(instruction, source, half & 0x80);
    }
}

static void transfer_register_offset(struct hs_instruction *instruction, uint32_t half)
{
    if (hs_bits__field(half, 9, 3) >= 3)
        hs_arm_clobber(instruction, half & 7);
}

static void transfer_constant_offset(struct hs_instruction *instruction, uint32_t half)
{
    unsigned how = HS_ARM_UP | HS_ARM_BEFORE | (half & 0x800 ? HS_ARM_LOAD : 0);
    if (half >> 12 == 6)
        hs_arm_transfer(instruction, half & 7, hs_bits__field(half, 3, 3), hs_bits__field(half, 6, 5) * 4, how);
    else
        hs_arm_transfer_part(instruction, half & 7, hs_bits__field(half, 3, 3), 0, how);
}

static void transfer_from_sp(struct hs_instruction *instruction, uint32_t half)
{
    hs_arm_transfer(instruction, hs_bits__field(half, 8, 3), HS_ARM_SP, (half & 0xff) * 4,
                    HS_ARM_UP | HS_ARM_BEFORE | (half & 0x800 ? HS_ARM_LOAD : 0));
}

// `adr table, ...` may begin a jump through a table of words: addresses with `ldr pc, [table, value, lsl #2]`, or
// distances from the table with `ldr x, [table, value, lsl #2]; add table, x` and the jump.
static void begin_switch(struct hs_instruction *instruction, unsigned table, uintptr_t address, unsigned size,
                         const struct hs_arm_code *code, uint32_t context)
{
    const uint8_t *next = code->bytes + size;
    if (code->length < size + 8 || hs_bits__little16(next) != (0xf850 | table))
        return;
    uint32_t half = hs_bits__little16(next + 2), loaded = half >> 12, count = hs_arm_value_count(context, half & 15);
    bool jumps = loaded == HS_ARM_PC, distances = hs_bits__little16(next + 4) == (0x4400 | loaded << 3 | table);
    if ((half & 0xff0) != 0x020 || !(jumps || (distances && table < 8)) || count > CASES_MAX)
        return;
    hs_arm_refer(instruction, code, (int32_t)(uint32_t)(address - code->pc), count * 4);
    instruction->case_count = (uint16_t)count;
    instruction->case_size = 4;
    instruction->case_scale = 1;
    instruction->case_base = jumps ? 0 : address;
}

static void address_operation(struct hs_instruction *instruction, uint32_t half, const struct hs_arm_code *code,
                              uint32_t context)
{
    unsigned reg = hs_bits__field(half, 8, 3), offset = (half & 0xff) * 4;
    if (half & 0x800) {
        hs_arm_effect(instruction, HS_EFFECT_ADD, reg, HS_ARM_SP, (int32_t)offset);
        return;
    }
    hs_arm_set_from_pc(instruction, reg, code->pc + offset);
    begin_switch(instruction, reg, code->pc + offset, 2, code, context);
}

static void compare_and_branch(struct hs_instruction *instruction, uint32_t half, uintptr_t address)
{
    jump_or_call(instruction, HS_FLOW_BRANCH, address,
                 (int32_t)(hs_bits__field(half, 9, 1) << 6 | hs_bits__field(half, 3, 5) << 1));
}

static bool miscellaneous(struct hs_instruction *instruction, uint32_t half, uintptr_t address, uint32_t *context)
{
    switch (hs_bits__field(half, 8, 4)) {
    case 0: { // add and subtract of sp
        int32_t constant = (int32_t)(half & 0x7f) * 4;
        hs_arm_effect(instruction, HS_EFFECT_ADD, HS_ARM_SP, HS_ARM_SP, half & 0x80 ? -constant : constant);
        return true;
    }
    case 1:
    case 3:
    case 9:
    case 11:
        compare_and_branch(instruction, half, address);
        return true;
    case 2: // extensions
        hs_arm_clobber(instruction, half & 7);
        return true;
    case 4:
    case 5:
        return hs_arm_transfer_list(instruction, HS_ARM_SP, (half & 0xff) | (half & 0x100) << 6,
                                    HS_ARM_BEFORE | HS_ARM_WRITEBACK);
    case 6: // setend, cps
        return (half & 0xfff0) == 0xb650 || (half & 0xffe8) == 0xb660;
    case 10:
        if ((half & 0xc0) == 0x80) { // hlt
            instruction->flow = HS_FLOW_STOP;
            return true;
        }
        hs_arm_clobber(instruction, half & 7); // byte reversals
        return true;
    case 12:
    case 13:
        return hs_arm_transfer_list(instruction, HS_ARM_SP, (half & 0xff) | (half & 0x100) << 7,
                                    HS_ARM_LOAD | HS_ARM_UP | HS_ARM_WRITEBACK);
    case 14: // breakpoint
        return true;
    case 15:
        if (half & 15)
            *context = (*context & ~HS_ARM_CONTEXT_OWN) | (half & 0xff);
        return true;
    default:
        return false;
    }
}

static bool transfer_list(struct hs_instruction *instruction, uint32_t half)
{
    unsigned base = hs_bits__field(half, 8, 3);
    return hs_arm_transfer_list(instruction, base, half & 0xff,
                                HS_ARM_UP | HS_ARM_WRITEBACK | (half & 0x800 ? HS_ARM_LOAD : 0));
}

static void conditional_branch(struct hs_instruction *instruction, uint32_t half, uintptr_t address)
{
    switch (hs_bits__field(half, 8, 4)) {
    case 14:
        instruction->flow = HS_FLOW_STOP; // udf
        break;
    case 15:
        hs_arm_clobber(instruction, 0); // a system call's result
        break;
    default:
        jump_or_call(instruction, HS_FLOW_BRANCH, address, hs_bits__signed(half, 0, 8) * 2);
    }
}

static bool decode_narrow(struct hs_instruction *instruction, uint32_t half, const struct hs_arm_code *code,
                          uint32_t *context)
{
    switch (half >> 12) {
    case 0:
    case 1:
        shift_add_subtract(instruction, half);
        return true;
    case 2:
    case 3:
        constant_operation(instruction, half, context);
        return true;
    case 4:
        if (half & 0x800)
            hs_arm_literal(instruction, hs_bits__field(half, 8, 3), code, (int32_t)(half & 0xff) * 4);
        else if (half & 0x400)
            high_register_operation(instruction, half, code->address);
        else
            low_register_operation(instruction, half);
        return true;
    case 5:
        transfer_register_offset(instruction, half);
        return true;
    case 6:
    case 7:
    case 8:
        transfer_constant_offset(instruction, half);
        return true;
    case 9:
        transfer_from_sp(instruction, half);
        return true;
    case 10:
        address_operation(instruction, half, code, *context);
        return true;
    case 11:
        return miscellaneous(instruction, half, code->address, context);
    case 12:
        return transfer_list(instruction, half);
    case 13:
        conditional_branch(instruction, half, code->address);
        return true;
    default:
        jump_or_call(instruction, HS_FLOW_JUMP, code->address, hs_bits__signed(half, 0, 11) * 2);
        return true;
    }
}

// ---- 32 bits ----

static unsigned reg_at(uint32_t word, unsigned lowest)
{
    return hs_bits__field(word, lowest, 4);
}

static unsigned addressing(uint32_t word)
{
    return (word & 1u << 20 ? HS_ARM_LOAD : 0) | (word & 1u << 23 ? HS_ARM_UP : 0) |
           (word & 1u << 24 ? HS_ARM_BEFORE : 0) | (word & 1u << 21 ? HS_ARM_WRITEBACK : 0);
}

static bool wide_list(struct hs_instruction *instruction, uint32_t word)
{
    unsigned direction = hs_bits__field(word, 23, 2);
    if (direction == 0 || direction == 3 || reg_at(word, 16) == HS_ARM_PC)
        return false; // the kernel's own (srs, rfe)
    return hs_arm_transfer_list(instruction, reg_at(word, 16), word & 0xffff, addressing(word));
}

// A table of distances ends where the nearest of its targets starts, at the latest.
static unsigned count_entries(const struct hs_arm_code *code, unsigned size, unsigned most)
{
    size_t end = code->length;
    unsigned count = 0;
    for (; count < most && count < CASES_MAX && 4 + (count + 1) * size <= end; count++) {
        const uint8_t *entry = code->bytes + 4 + count * size;
        size_t target = 4 + 2 * (size == 1 ? entry[0] : hs_bits__little16(entry));
        if (target < end)
            end = target;
    }
    return count;
}

// tbb and tbh.
static void jump_through_table(struct hs_instruction *instruction, uint32_t word, const struct hs_arm_code *code,
                               uint32_t context)
{
    unsigned size = word & 0x10 ? 2 : 1, values = hs_arm_value_count(context, word & 15), count;
    instruction->flow = HS_FLOW_INDIRECT;
    if (reg_at(word, 16) != HS_ARM_PC)
        return;
    count = count_entries(code, size, values ? values : UINT32_MAX);
    instruction->data = code->address + 4;
    instruction->data_size = (uint16_t)((count * size + 1) & ~1u);
    instruction->case_base = (code->address + 4) | 1;
    instruction->case_size = (uint8_t)size;
    instruction->case_scale = 2;
    instruction->case_count = (uint16_t)(values ? count : 0);
}

// Exclusive accesses, acquires and releases.
static bool synchronise(struct hs_instruction *instruction, uint32_t word)
{
    bool load = word & 1u << 20;
    unsigned operation = hs_bits__field(word, 4, 4);
    if (!(word & 1u << 23)) { // strex, ldrex
        hs_arm_clobber(instruction, reg_at(word, load ? 12 : 8));
        return true;
    }
    if (operation < 4 || operation == 6)
        return false;
    if (load) {
        hs_arm_clobber(instruction, reg_at(word, 12));
        if ((operation & 3) == 3)
            hs_arm_clobber(instruction, reg_at(word, 8));
    } else if (operation & 4) {
        hs_arm_clobber(instruction, word & 15);
    }
    return true;
}

static bool wide_two_or_exclusive(struct hs_instruction *instruction, uint32_t word, const struct hs_arm_code *code,
                                  uint32_t context)
{
    unsigned how = addressing(word), first = reg_at(word, 12), second = reg_at(word, 8), base = reg_at(word, 16);
    int32_t offset = (int32_t)(word & 0xff) * 4;
    if ((word & 0x01f000e0) == 0x00d00000) {
        jump_through_table(instruction, word, code, context);
        return true;
    }
    if (!(how & (HS_ARM_BEFORE | HS_ARM_WRITEBACK)))
        return synchronise(instruction, word);
    if (base == HS_ARM_PC)
        hs_arm_refer(instruction, code, how & HS_ARM_UP ? offset : -offset, 8);
    hs_arm_transfer_two(instruction, first, second, base, (uint32_t)offset, how);
    return true;
}

// What add, sub, orr, mov and their kin do. Their constants come expanded; registers are not shifted.
enum { BIT_AND = 0, OR = 2, OR_NOT = 3, EXCLUSIVE_OR = 4, ADD = 8, SUBTRACT = 13 };
enum { UNDEFINED_WITH_CONSTANT = 0x92e0, UNDEFINED_WITH_REGISTER = 0x92a0 }; // operations, one bit each

static bool only_flags(uint32_t word)
{
    unsigned operation = hs_bits__field(word, 21, 4);
    return reg_at(word, 8) == HS_ARM_PC && word & 1u << 20 &&
           (operation == BIT_AND || operation == EXCLUSIVE_OR || operation == ADD || operation == SUBTRACT);
}

static bool wide_shifted_register(struct hs_instruction *instruction, uint32_t word)
{
    unsigned operation = hs_bits__field(word, 21, 4), reg = reg_at(word, 8), source = reg_at(word, 16),
             other = word & 15;
    unsigned shift = hs_bits__field(word, 12, 3) << 2 | hs_bits__field(word, 6, 2);
    bool left = !(word & 0x30), plain = left && shift == 0;
    if (only_flags(word))
        return true;
    if (operation == OR && source == HS_ARM_PC && left)
        hs_arm_shift_left(instruction, reg, other, shift);
    else if (operation == ADD && plain)
        hs_arm_effect_register(instruction, HS_EFFECT_ADD_REGISTER, reg, source, other);
    else if (operation == SUBTRACT && plain)
        hs_arm_effect_register(instruction, HS_EFFECT_SUB_REGISTER, reg, source, other);
    else
        hs_arm_clobber(instruction, reg);
    return !(UNDEFINED_WITH_REGISTER >> operation & 1);
}

static uint32_t twelve_bits(uint32_t word)
{
    return hs_bits__field(word, 26, 1) << 11 | hs_bits__field(word, 12, 3) << 8 | (word & 0xff);
}

static uint32_t expand_immediate(uint32_t word)
{
    uint32_t bits = twelve_bits(word), byte = bits & 0xff;
    switch (bits >> 8) {
    case 0:
        return byte;
    case 1:
        return byte << 16 | byte;
    case 2:
        return byte << 24 | byte << 8;
    case 3:
        return byte * 0x01010101;
    default:
        return hs_arm_rotate_right((bits & 0x7f) | 0x80, bits >> 7);
    }
}

static bool wide_constant(struct hs_instruction *instruction, uint32_t word, uint32_t *context)
{
    unsigned operation = hs_bits__field(word, 21, 4), reg = reg_at(word, 8), source = reg_at(word, 16);
    uint32_t constant = expand_immediate(word);
    if (only_flags(word)) {
        if (operation == SUBTRACT)
            *context = hs_arm_compared(source, constant) | (*context & HS_ARM_CONTEXT_OWN);
        return true;
    }
    if (operation == OR && source == HS_ARM_PC)
        hs_arm_effect(instruction, HS_EFFECT_SET, reg, 0, (int32_t)constant);
    else if (operation == OR_NOT && source == HS_ARM_PC)
        hs_arm_effect(instruction, HS_EFFECT_SET, reg, 0, (int32_t)~constant);
    else if (operation == OR)
        hs_arm_effect(instruction, HS_EFFECT_OR, reg, source, (int32_t)constant);
    else if (operation == ADD)
        hs_arm_effect(instruction, HS_EFFECT_ADD, reg, source, (int32_t)constant);
    else if (operation == SUBTRACT)
        hs_arm_effect(instruction, HS_EFFECT_ADD, reg, source, (int32_t)-constant);
    else
        hs_arm_clobber(instruction, reg);
    return !(UNDEFINED_WITH_CONSTANT >> operation & 1);
}

static void wide_plain_constant(struct hs_instruction *instruction, uint32_t word, const struct hs_arm_code *code,
                                uint32_t context)
{
    unsigned reg = reg_at(word, 8), source = reg_at(word, 16);
    int32_t small = (int32_t)twelve_bits(word);
    int32_t half = (int32_t)(reg_at(word, 16) << 12) | small;
    switch (hs_bits__field(word, 20, 5)) {
    case 0x00:
    case 0x0a:
        small = hs_bits__field(word, 20, 5) ? -small : small;
        if (source == HS_ARM_PC) {
            hs_arm_set_from_pc(instruction, reg, code->pc + (uintptr_t)(intptr_t)small);
            begin_switch(instruction, reg, code->pc + (uintptr_t)(intptr_t)small, 4, code, context);
        } else {
            hs_arm_effect(instruction, HS_EFFECT_ADD, reg, source, small);
        }
        break;
    case 0x04:
        hs_arm_effect(instruction, HS_EFFECT_SET, reg, 0, half);
        break;
    case 0x0c: // movt follows a movw, which left the upper half 0
        hs_arm_effect(instruction, HS_EFFECT_OR, reg, reg, (int32_t)((uint32_t)half << 16));
        break;
    default: // bit fields, saturation
        hs_arm_clobber(instruction, reg);
    }
}

static int32_t far_offset(uint32_t word)
{
    uint32_t sign = hs_bits__field(word, 26, 1), high = hs_bits__field(word, 13, 1) ^ sign ^ 1;
    uint32_t low = hs_bits__field(word, 11, 1) ^ sign ^ 1;
    return hs_bits__signed(sign << 24 | high << 23 | low << 22 | hs_bits__field(word, 16, 10) << 12 |
                               hs_bits__field(word, 0, 11) << 1,
                           0, 25);
}

static int32_t conditional_offset(uint32_t word)
{
    return hs_bits__signed(hs_bits__field(word, 26, 1) << 20 | hs_bits__field(word, 11, 1) << 19 |
                               hs_bits__field(word, 13, 1) << 18 | hs_bits__field(word, 16, 6) << 12 |
                               hs_bits__field(word, 0, 11) << 1,
                           0, 21);
}

// Hints: only pac and its combination with bti compute something, which goes to ip.
static void hint(struct hs_instruction *instruction, uint32_t word)
{
    if ((word & 0xff) == 0x1d || (word & 0xff) == 0x0d)
        hs_arm_clobber(instruction, 12);
}

static bool wide_control(struct hs_instruction *instruction, uint32_t word)
{
    switch (hs_bits__field(word, 20, 7)) {
    case 0x38: // msr
    case 0x39:
    case 0x3b: // barriers
        return true;
    case 0x3a:
        hint(instruction, word);
        return true;
    case 0x3c: // bxj
        hs_arm_jump_to_register(instruction, reg_at(word, 16));
        return true;
    case 0x3d: // from an exception
        instruction->flow = HS_FLOW_RETURN;
        return true;
    case 0x3e: // mrs
    case 0x3f:
        hs_arm_clobber(instruction, reg_at(word, 8));
        return true;
    case 0x7e: // hvc
        return !(word & 1u << 13);
    case 0x7f: // smc, udf
        if (word & 1u << 13)
            instruction->flow = HS_FLOW_STOP;
        return true;
    default:
        return false;
    }
}

static bool wide_branch(struct hs_instruction *instruction, uint32_t word, uintptr_t address)
{
    if (word & 1u << 14) {
        bool thumb = word & 1u << 12;
        jump_or_call(instruction, HS_FLOW_CALL, thumb ? address : address & ~(uintptr_t)2, far_offset(word));
        if (!thumb)
            instruction->target &= ~(uintptr_t)1;
        return thumb || !(word & 1);
    }
    if (word & 1u << 12) {
        jump_or_call(instruction, HS_FLOW_JUMP, address, far_offset(word));
        return true;
    }
    if (hs_bits__field(word, 23, 3) == 7)
        return wide_control(instruction, word);
    jump_or_call(instruction, HS_FLOW_BRANCH, address, conditional_offset(word));
    return true;
}

enum { BYTE = 0, HALFWORD = 1, WORD = 2 };

static void wide_literal(struct hs_instruction *instruction, uint32_t word, const struct hs_arm_code *code)
{
    unsigned reg = reg_at(word, 12);
    int32_t offset = word & 1u << 23 ? (int32_t)(word & 0xfff) : -(int32_t)(word & 0xfff);
    if (hs_bits__field(word, 21, 2) == WORD) {
        hs_arm_literal(instruction, reg, code, offset);
        return;
    }
    hs_arm_clobber(instruction, reg);
    if (reg != HS_ARM_PC) // else a preload
        hs_arm_refer(instruction, code, offset, 2);
}

static void wide_constant_transfer(struct hs_instruction *instruction, uint32_t word, uint32_t offset, unsigned how)
{
    unsigned reg = reg_at(word, 12), base = reg_at(word, 16);
    if (hs_bits__field(word, 21, 2) == WORD)
        hs_arm_transfer(instruction, reg, base, offset, how);
    else
        hs_arm_transfer_part(instruction, reg, base, offset, how);
}

static bool wide_register_transfer(struct hs_instruction *instruction, uint32_t word, unsigned load)
{
    hs_arm_transfer_indexed(instruction, reg_at(word, 12), reg_at(word, 16), 1u << hs_bits__field(word, 21, 2),
                            load | HS_ARM_BEFORE);
    return !(word & 0x7c0);
}

static bool wide_transfer(struct hs_instruction *instruction, uint32_t word, const struct hs_arm_code *code)
{
    unsigned load = word & 1u << 20 ? HS_ARM_LOAD : 0, how = load;
    if (hs_bits__field(word, 21, 2) > WORD || (reg_at(word, 16) == HS_ARM_PC && !load))
        return false;
    if (reg_at(word, 16) == HS_ARM_PC) {
        wide_literal(instruction, word, code);
        return true;
    }
    if (word & 1u << 23) {
        wide_constant_transfer(instruction, word, word & 0xfff, how | HS_ARM_UP | HS_ARM_BEFORE);
        return true;
    }
    if (!(word & 1u << 11))
        return wide_register_transfer(instruction, word, load);
    how |= (word & 1u << 10 ? HS_ARM_BEFORE : 0) | (word & 1u << 9 ? HS_ARM_UP : 0) |
           (word & 1u << 8 ? HS_ARM_WRITEBACK : 0);
    wide_constant_transfer(instruction, word, word & 0xff, how);
    return how & (HS_ARM_BEFORE | HS_ARM_WRITEBACK);
}

static bool wide_register_operation(struct hs_instruction *instruction, uint32_t word)
{
    hs_arm_clobber(instruction, reg_at(word, 8));
    return reg_at(word, 12) == 15;
}

static bool wide_multiply(struct hs_instruction *instruction, uint32_t word)
{
    unsigned operation = hs_bits__field(word, 20, 4);
    if ((word & 0xfff00ff0) == 0xfb500f10) { // bxaut: authenticates and returns
        instruction->flow = HS_FLOW_RETURN;
        return true;
    }
    hs_arm_clobber(instruction, reg_at(word, 8));
    if (operation >= 8 && operation != 9 && operation != 11)
        hs_arm_clobber(instruction, reg_at(word, 12));
    return true;
}

static bool decode_wide_first(struct hs_instruction *instruction, uint32_t word, const struct hs_arm_code *code,
                              uint32_t context)
{
    if (word & 1u << 26)
        hs_arm_coprocessor(instruction, word, code);
    else if (word & 1u << 25)
        return wide_shifted_register(instruction, word);
    else if (word & 1u << 22)
        return wide_two_or_exclusive(instruction, word, code, context);
    else
        return wide_list(instruction, word);
    return true;
}

static bool decode_wide_last(struct hs_instruction *instruction, uint32_t word, const struct hs_arm_code *code)
{
    if (word & 1u << 26) {
        hs_arm_coprocessor(instruction, word, code);
        return true;
    }
    if ((word & 0x03000000) == 0x03000000)
        return wide_multiply(instruction, word);
    if (word & 1u << 25)
        return wide_register_operation(instruction, word);
    if ((word & 0x01100000) == 0x01000000) {
        hs_arm_vector_transfer(instruction, word);
        return true;
    }
    return wide_transfer(instruction, word, code);
}

static bool decode_wide(struct hs_instruction *instruction, uint32_t word, const struct hs_arm_code *code,
                        uint32_t *context)
{
    if (word >> 27 == 0x1d)
        return decode_wide_first(instruction, word, code, *context);
    if (word >> 27 == 0x1f)
        return decode_wide_last(instruction, word, code);
    if (word & 1u << 15)
        return wide_branch(instruction, word, code->address);
    if (!(word & 1u << 25))
        return wide_constant(instruction, word, context);
    wide_plain_constant(instruction, word, code, *context);
    return true;
}

static uint32_t advance_block(uint32_t block)
{
    return block & 7 ? (block & 0xe0) | (block << 1 & 0x1f) : 0;
}

static bool decode(const uint8_t *code, size_t length, uintptr_t address, uint32_t *context,
                   struct hs_instruction *instruction)
{
    uint32_t half, block = *context & HS_ARM_CONTEXT_OWN, compared = *context & ~HS_ARM_CONTEXT_OWN;
    uintptr_t even = address & ~(uintptr_t)1;
    const struct hs_arm_code at = {code, length, even, (even & ~(uintptr_t)2) + 4};
    bool known;
    hs_instruction__clear(instruction, 0);
    instruction->conditional = (block & 15) && block >> 4 != CONDITION_ALWAYS;
    *context = advance_block(block);
    if (length < 2)
        return false;
    half = hs_bits__little16(code);
    if (is_wide(half) && length < 4)
        return false;
    *context |= compared;
    if (is_wide(half))
        known = decode_wide(instruction, half << 16 | hs_bits__little16(code + 2), &at, context);
    else
        known = decode_narrow(instruction, half, &at, context);
    *context = (*context & HS_ARM_CONTEXT_OWN) | hs_arm_keep_comparison(instruction, *context);
    if (!known)
        return false;
    instruction->size = is_wide(half) ? 4 : 2;
    if (instruction->flow == HS_FLOW_JUMP && instruction->conditional)
        instruction->flow = HS_FLOW_BRANCH;
    if (instruction->flow == HS_FLOW_BRANCH)
        instruction->conditional = false; // the flow says it
    return true;
}

static bool saves_lr(const uint8_t *code, size_t length)
{
    uint32_t half = hs_bits__little16(code), next = length >= 4 ? hs_bits__little16(code + 2) : 0;
    return (half & 0xff00) == 0xb500 || (half == 0xe92d && next & 0x4000) || (half == 0xf84d && next == 0xed04);
}

// Functions save lr first; one with variable arguments pushes those before.
static bool starts_function(const uint8_t *code, size_t length)
{
    uint32_t half;
    if (length < 2)
        return false;
    half = hs_bits__little16(code);
    if ((half & 0xfff0) == 0xb400 && length >= 4)
        return saves_lr(code + 2, length - 2);
    return saves_lr(code, length);
}

static bool is_likely(const uint8_t *code, size_t length)
{
    return !hs_arm_is_arm(code, length);
}

static bool ends_with_call(const uint8_t *end, size_t length)
{
    if (length >= 2 && (hs_bits__little16(end - 2) & 0xff80) == 0x4780)
        return true; // blx of a register
    return length >= 4 && (hs_bits__little16(end - 4) & 0xf800) == 0xf000 &&
           (hs_bits__little16(end - 2) & 0xc000) == 0xc000;
}

const struct hs_decoder hs_decoder_thumb = {
    .name = "thumb",
    .word_size = 4,
    .alignment = 2,
    .sp = HS_ARM_SP,
    .fp = 7,
    .ra = HS_ARM_LR,
    .call_size = 2,
    .callee_saved = HS_ARM_CALLEE_SAVED,
    .stub_registers = 1u << HS_ARM_IP,
    .entry_sp_from_cfa = 0,
    .data_in_code = true,
    .pointer_bit = 1,
    .decode = decode,
    .starts_function = starts_function,
    .is_likely = is_likely,
    .ends_with_call = ends_with_call,
};
