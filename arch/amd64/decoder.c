// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What AMD64 instructions do to general registers and where they go.
#include "arch/amd64/effects.h"

// Arithmetic

enum operation { ADD, OR, ADC, SBB, AND, SUB, XOR, CMP };

static void combine_registers(struct view *view, enum operation operation, unsigned reg, unsigned other)
{
    bool whole_register = !view->code->operand_16 || view->code->wide;
    if ((operation == XOR || operation == SUB) && reg == other && whole_register)
        set(view, reg, 0);
    else if (view->code->wide && operation == ADD)
        hs_effect__add(view->out, HS_EFFECT_ADD_REGISTER, dwarf(reg), dwarf(reg), dwarf(other), 0);
    else if (view->code->wide && operation == SUB)
        hs_effect__add(view->out, HS_EFFECT_SUB_REGISTER, dwarf(reg), dwarf(reg), dwarf(other), 0);
    else
        clobber(view, reg);
}

static void combine_immediate(struct view *view, enum operation operation, unsigned reg)
{
    int64_t value = view->code->immediate;
    if (operation == CMP)
        return;
    if (view->code->wide && (operation == ADD || operation == SUB))
        add(view, reg, reg, operation == ADD ? value : -value);
    else if (view->code->wide && operation == AND && value < 0 && reg == RSP)
        hs_effect__add(view->out, HS_EFFECT_ALIGN, SP_DWARF, SP_DWARF, 0, 0);
    else if (view->code->wide && operation == OR && value >= 0)
        hs_effect__add(view->out, HS_EFFECT_OR, dwarf(reg), dwarf(reg), 0, (int32_t)value);
    else
        clobber(view, reg);
}

// Opcodes 0x00 to 0x3f: eight operations in six forms.
static void arithmetic(struct view *view)
{
    const struct amd64 *code = view->code;
    enum operation operation = code->opcode >> 3;
    if (operation == CMP)
        return;
    switch (code->opcode & 7) {
    case 0:
        clobber_rm_byte(view);
        return;
    case 1:
        if (!code->is_memory)
            combine_registers(view, operation, code->rm, code->reg);
        return;
    case 2:
        clobber_byte(view, code->reg);
        return;
    case 3:
        if (code->is_memory)
            clobber_reg(view);
        else
            combine_registers(view, operation, code->reg, code->rm);
        return;
    case 4:
        clobber(view, RAX);
        return;
    default:
        combine_immediate(view, operation, RAX);
    }
}

// Opcodes 0x80 to 0x83.
static void arithmetic_group(struct view *view)
{
    const struct amd64 *code = view->code;
    if (code->is_memory || code->reg_opcode == CMP)
        return;
    if (code->opcode == 0x80)
        clobber_rm_byte(view);
    else
        combine_immediate(view, code->reg_opcode, code->rm);
}

static void shift_group(struct view *view)
{
    const struct amd64 *code = view->code;
    bool by_constant = code->opcode == 0xc1 || code->opcode == 0xd1, left = (code->reg_opcode & 5) == 4;
    if (by_constant && left && code->wide && !code->is_memory)
        hs_effect__add(view->out, HS_EFFECT_SHIFT_LEFT, dwarf(code->rm), dwarf(code->rm), 0,
                       code->opcode == 0xd1 ? 1 : (int32_t)(code->immediate & 63));
    else
        clobber_rm_sized(view);
}

// Opcodes 0xf6 and 0xf7: test, not, neg, and multiplications and divisions of rdx:rax.
static void unary_group(struct view *view)
{
    unsigned operation = view->code->reg_opcode;
    if (operation >= 4) {
        clobber(view, RAX);
        if (view->code->opcode == 0xf7)
            clobber(view, RDX);
    } else if (operation >= 2) {
        clobber_rm_sized(view);
    }
}

static void load_address(struct view *view)
{
    const struct amd64 *code = view->code;
    const struct amd64_memory *memory = &code->memory;
    bool whole = code->wide && !code->address_32 && memory->base != AMD64_NO_REGISTER;
    if (whole && memory->index == AMD64_NO_REGISTER) {
        add(view, code->reg, memory->base, memory->displacement);
    } else if (whole && memory->scale == 0) {
        hs_effect__add(view->out, HS_EFFECT_ADD_REGISTER, dwarf(code->reg), dwarf(memory->base), dwarf(memory->index),
                       0);
        if (memory->displacement)
            add(view, code->reg, code->reg, memory->displacement);
    } else {
        clobber_reg(view);
    }
}

// mov between registers, `to` of which is written.
static void copy(struct view *view, unsigned to, unsigned from)
{
    if (view->code->wide)
        add(view, to, from, 0);
    else
        clobber(view, to);
}

// Opcodes 0xc6 and 0xc7.
static bool move_immediate(struct view *view)
{
    const struct amd64 *code = view->code;
    if (code->modrm == 0xf8 && code->opcode == 0xc7) { // xbegin
        flow(view, HS_FLOW_BRANCH);
        clobber(view, RAX);
        return true;
    }
    if (code->modrm == 0xf8) // xabort
        return true;
    if (code->reg_opcode != 0)
        return false;
    if (!code->is_memory && code->opcode == 0xc7 && code->wide)
        set(view, code->rm, code->immediate);
    else if (!code->is_memory && code->opcode == 0xc7 && !code->operand_16)
        set(view, code->rm, (int64_t)(uint32_t)code->immediate);
    else
        clobber_rm_sized(view);
    return true;
}

static void move_immediate_to_register(struct view *view, unsigned reg)
{
    if (view->code->operand_16 && !view->code->wide)
        clobber(view, reg);
    else
        set(view, reg, view->code->immediate);
}

// movs, cmps, stos, lods, scas, ins, outs: their pointers move on, and the counter of a repetition.
static void string_operation(struct view *view)
{
    uint8_t kind = view->code->opcode & 0xfe;
    bool reads = kind == 0xa4 || kind == 0xa6 || kind == 0xac || kind == 0x6e;
    bool writes_or_compares = kind == 0xa4 || kind == 0xa6 || kind == 0xaa || kind == 0xae || kind == 0x6c;
    if (reads)
        clobber(view, RSI);
    if (writes_or_compares)
        clobber(view, RDI);
    if (kind == 0xac)
        clobber(view, RAX);
    if (view->code->repeat || view->code->repeat_not)
        clobber(view, RCX);
}

static void enter(struct view *view)
{
    unsigned size = view->code->immediate & 0xffff, nesting = view->code->immediate >> 16 & 31;
    if (nesting || view->code->operand_16) {
        clobber(view, RSP);
        clobber(view, RBP);
        return;
    }
    push(view, RBP);
    add(view, RBP, RSP, 0);
    move_sp(view, -(int32_t)size);
}

static void leave(struct view *view)
{
    add(view, RSP, RBP, 0);
    pop(view, RBP);
}

// Opcode 0xff, and the first two of 0xfe.
static bool count_call_jump_push(struct view *view)
{
    const struct amd64 *code = view->code;
    switch (code->reg_opcode) {
    case 0:
    case 1:
        if (!code->is_memory && code->wide && code->opcode == 0xff)
            add(view, code->rm, code->rm, code->reg_opcode == 0 ? 1 : -1);
        else
            clobber_rm_sized(view);
        return true;
    case 2:
    case 3:
        flow(view, HS_FLOW_CALL);
        break;
    case 4:
    case 5:
        flow(view, HS_FLOW_INDIRECT);
        break;
    case 6:
        if (code->is_memory)
            move_sp(view, -stack_word(view));
        else
            push(view, code->rm);
        break;
    default:
        return false;
    }
    return code->opcode == 0xff;
}

static bool main_high(struct view *view)
{
    const struct amd64 *code = view->code;
    switch (code->opcode) {
    case 0xc0:
    case 0xc1:
    case 0xd0 ... 0xd3:
        shift_group(view);
        return true;
    case 0xc2:
    case 0xc3:
    case 0xca:
    case 0xcb:
    case 0xcf:
        flow(view, HS_FLOW_RETURN);
        return true;
    case 0xc6:
    case 0xc7:
        return move_immediate(view);
    case 0xc8:
        enter(view);
        return true;
    case 0xc9:
        leave(view);
        return true;
    case 0xcc:
    case 0xf4:
        flow(view, HS_FLOW_STOP);
        return true;
    case 0xcd: // a system call of 32-bit code
    case 0xd7:
    case 0xe4:
    case 0xe5:
    case 0xec:
    case 0xed:
        clobber(view, RAX);
        return true;
    case 0xdf:
        if (code->modrm == 0xe0) // fnstsw ax
            clobber(view, RAX);
        return true;
    case 0xe0 ... 0xe2: // loop
        clobber(view, RCX);
        flow(view, HS_FLOW_BRANCH);
        return true;
    case 0xe3:
        flow(view, HS_FLOW_BRANCH);
        return true;
    case 0xe8:
        flow(view, HS_FLOW_CALL);
        return true;
    case 0xe9:
    case 0xeb:
        flow(view, HS_FLOW_JUMP);
        return true;
    case 0xf6:
    case 0xf7:
        unary_group(view);
        return true;
    case 0xfe:
    case 0xff:
        return count_call_jump_push(view);
    default:
        return true;
    }
}

static bool main_map(struct view *view)
{
    const struct amd64 *code = view->code;
    unsigned low = (code->opcode & 7) | code->extend_base;
    switch (code->opcode) {
    case 0x00 ... 0x3f:
        arithmetic(view);
        return true;
    case 0x50 ... 0x57:
        push(view, low);
        return true;
    case 0x58 ... 0x5f:
        pop(view, low);
        return true;
    case 0x63:
    case 0x69:
    case 0x6b:
        clobber_reg(view);
        return true;
    case 0x68:
    case 0x6a:
    case 0x9c:
        move_sp(view, -stack_word(view));
        return true;
    case 0x9d:
        move_sp(view, stack_word(view));
        return true;
    case 0x6c ... 0x6f:
    case 0xa4 ... 0xa7:
    case 0xaa ... 0xaf:
        string_operation(view);
        return true;
    case 0x70 ... 0x7f:
        branch_on_condition(view);
        return true;
    case 0x80 ... 0x83:
        arithmetic_group(view);
        return true;
    case 0x86:
        clobber_rm_byte(view);
        clobber_byte(view, code->reg);
        return true;
    case 0x87:
        clobber_rm(view);
        clobber_reg(view);
        return true;
    case 0x88:
        clobber_rm_byte(view);
        return true;
    case 0x89:
        if (code->is_memory)
            store_to_memory(view);
        else
            copy(view, code->rm, code->reg);
        return true;
    case 0x8a:
        clobber_byte(view, code->reg);
        return true;
    case 0x8b:
        if (code->is_memory)
            load_from_memory(view);
        else
            copy(view, code->reg, code->rm);
        return true;
    case 0x8c:
        clobber_rm(view);
        return true;
    case 0x8d:
        load_address(view);
        return code->is_memory;
    case 0x8f:
        if (code->is_memory)
            move_sp(view, stack_word(view));
        else
            pop(view, code->rm);
        return code->reg_opcode == 0;
    case 0x90 ... 0x97:
        if (low != RAX) { // which is nop
            clobber(view, RAX);
            clobber(view, low);
        }
        return true;
    case 0x98:
    case 0x9f:
    case 0xa0:
    case 0xa1:
        clobber(view, RAX);
        return true;
    case 0x99:
        clobber(view, RDX);
        return true;
    case 0xb0 ... 0xb7:
        clobber_byte(view, low);
        return true;
    case 0xb8 ... 0xbf:
        move_immediate_to_register(view, low);
        return true;
    default:
        return main_high(view);
    }
}

static bool effects(struct view *view)
{
    if (!view->code->vector && view->code->map == AMD64_MAP_MAIN)
        return main_map(view);
    if (!view->code->vector && view->code->map == AMD64_MAP_0F)
        return hs_amd64_effects_0f(view);
    return hs_amd64_effects_extended(view);
}

// What lea makes of rip.
static uintptr_t computed_address(const struct amd64 *code, uintptr_t address)
{
    bool relative = code->opcode == 0x8d && (code->modrm & 0xc7) == 5;
    if (code->map != AMD64_MAP_MAIN || code->vector || !code->wide || !relative)
        return 0;
    return address + code->at + (uintptr_t)(intptr_t)code->memory.displacement;
}

static bool decode(const uint8_t *bytes, size_t length, uintptr_t address, uint32_t *context,
                   struct hs_instruction *instruction)
{
    struct amd64 code = {.at = 0};
    struct view view = {&code, instruction};
    (void)context;
    hs_instruction__clear(instruction, 0);
    if (!hs_amd64_take_apart(&code, bytes, length) || !effects(&view)) {
        hs_instruction__clear(instruction, 0);
        return false;
    }
    instruction->size = code.at;
    bool compares = (code.opcode & 0xfd) == 0x39 && code.map == AMD64_MAP_MAIN && !code.vector;
    if (compares && code.wide && !code.is_memory)
        hs_instruction__compare(instruction, dwarf(code.rm), dwarf(code.reg));
    bool direct = code.opcode != 0xff || code.map != AMD64_MAP_MAIN;
    bool goes =
        instruction->flow == HS_FLOW_CALL || instruction->flow == HS_FLOW_JUMP || instruction->flow == HS_FLOW_BRANCH;
    if (goes && direct)
        instruction->target = address + code.at + (uintptr_t)code.immediate;
    else if (!goes)
        instruction->target = computed_address(&code, address);
    return true;
}

static bool starts_with(const uint8_t *code, size_t length, const uint8_t *wanted, size_t wanted_length)
{
    for (size_t i = 0; i < wanted_length; i++)
        if (i >= length || code[i] != wanted[i])
            return false;
    return true;
}

static bool starts_function(const uint8_t *code, size_t length)
{
    static const uint8_t end_branch[] = {0xf3, 0x0f, 0x1e, 0xfa}, lea_r10_rsp_8[] = {0x4c, 0x8d, 0x54, 0x24, 0x08};
    static const uint8_t sub_rsp_8[] = {0x48, 0x83, 0xec}, sub_rsp_32[] = {0x48, 0x81, 0xec};
    bool pushes_old =
        length >= 1 && code[0] >> 3 == 0x50 >> 3 && code[0] != 0x54; // any but rsp: some only for the room
    bool pushes_new = length >= 2 && code[0] == 0x41 && code[1] >> 3 == 0x50 >> 3;
    return pushes_old || pushes_new || starts_with(code, length, end_branch, sizeof end_branch) ||
           starts_with(code, length, sub_rsp_8, sizeof sub_rsp_8) ||
           starts_with(code, length, sub_rsp_32, sizeof sub_rsp_32) ||
           starts_with(code, length, lea_r10_rsp_8, sizeof lea_r10_rsp_8);
}

// Whether `size` bytes from an 0xff on are a call through the register or memory that they name.
static bool is_indirect_call(const uint8_t *code, size_t size)
{
    struct amd64 parts = {.at = 0};
    return code[0] == 0xff && hs_amd64_take_apart(&parts, code, size) && parts.at == size && parts.reg_opcode == 2;
}

static const uint8_t *far_jump(const uint8_t *code, const uint8_t *end, uintptr_t address, uintptr_t to, size_t size)
{
    enum { LONGEST = 6, DISTANCE = 4 };
    for (uintptr_t moved = address - (uintptr_t)code; end - code >= LONGEST; code++) {
        size_t opcode = code[0] == 0xe9 ? 1 : code[0] == 0x0f && (code[1] & 0xf0) == 0x80 ? 2 : 0;
        if (!opcode)
            continue;
        uintptr_t behind = (uintptr_t)code + opcode + DISTANCE + moved;
        if (behind + (uintptr_t)(intptr_t)(int32_t)hs_bits__little32(code + opcode) - to < size)
            return code;
    }
    return NULL;
}

static bool ends_with_call(const uint8_t *end, size_t length)
{
    if (length >= 5 && end[-5] == 0xe8)
        return true;
    for (size_t size = 2; size <= 7 && size <= length; size++)
        if (is_indirect_call(end - size, size))
            return true;
    return false;
}

const struct hs_decoder hs_decoder_amd64 = {
    .name = "amd64",
    .word_size = 8,
    .alignment = 1,
    .sp = SP_DWARF,
    .fp = FP_DWARF,
    .ra = HS_DECODER_NO_REGISTER,
    .call_size = 1,
    .callee_saved = 1u << 3 | 1u << FP_DWARF | 1u << SP_DWARF | 0xfu << 12, // rbx, rbp, rsp, r12-r15
    .entry_sp_from_cfa = -8,
    .decode = decode,
    .starts_function = starts_function,
    .far_jump = far_jump,
    .ends_with_call = ends_with_call,
};
