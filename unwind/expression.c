// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The operations of DWARF 5 section 2.5 that make sense in call frame information.
#include "unwind/expression.h"

enum { STACK_DEPTH = 32, STEP_LIMIT = 512 };

enum {
    OP_ADDR = 0x03,
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08,
    OP_CONST1S = 0x09,
    OP_CONST2U = 0x0a,
    OP_CONST2S = 0x0b,
    OP_CONST4U = 0x0c,
    OP_CONST4S = 0x0d,
    OP_CONST8U = 0x0e,
    OP_CONST8S = 0x0f,
    OP_CONSTU = 0x10,
    OP_CONSTS = 0x11,
    OP_DUP = 0x12,
    OP_DROP = 0x13,
    OP_OVER = 0x14,
    OP_PICK = 0x15,
    OP_SWAP = 0x16,
    OP_ROT = 0x17,
    OP_ABS = 0x19,
    OP_AND = 0x1a,
    OP_DIV = 0x1b,
    OP_MINUS = 0x1c,
    OP_MOD = 0x1d,
    OP_MUL = 0x1e,
    OP_NEG = 0x1f,
    OP_NOT = 0x20,
    OP_OR = 0x21,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_SHR = 0x25,
    OP_SHRA = 0x26,
    OP_XOR = 0x27,
    OP_BRA = 0x28,
    OP_EQ = 0x29,
    OP_GE = 0x2a,
    OP_GT = 0x2b,
    OP_LE = 0x2c,
    OP_LT = 0x2d,
    OP_NE = 0x2e,
    OP_SKIP = 0x2f,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
    OP_BREGX = 0x92,
    OP_DEREF_SIZE = 0x94,
    OP_NOP = 0x96,
};

struct expression_machine {
    struct hs_reader code;
    const uint8_t *start;
    unsigned depth;
    bool failed;
    uintptr_t stack[STACK_DEPTH];
};

static void push(struct expression_machine *machine, uintptr_t value)
{
    if (machine->depth == STACK_DEPTH)
        machine->failed = true;
    else
        machine->stack[machine->depth++] = value;
}

static uintptr_t pop(struct expression_machine *machine)
{
    if (machine->depth)
        return machine->stack[--machine->depth];
    machine->failed = true;
    return 0;
}

static uintptr_t pick(struct expression_machine *machine, unsigned below_top)
{
    if (below_top < machine->depth)
        return machine->stack[machine->depth - 1 - below_top];
    machine->failed = true;
    return 0;
}

// Operations that push a constant of the code. False: `op` is another operation.
static bool read_constant(struct hs_reader *code, uint8_t op, uintptr_t *value)
{
    if (op >= OP_LIT0 && op <= OP_LIT31) {
        *value = op - OP_LIT0;
        return true;
    }
    switch (op) {
    case OP_CONST1U:
        *value = hs_read_u8(code);
        return true;
    case OP_CONST1S:
        *value = (uintptr_t)(intptr_t)(int8_t)hs_read_u8(code);
        return true;
    case OP_CONST2U:
        *value = hs_read_u16(code);
        return true;
    case OP_CONST2S:
        *value = (uintptr_t)(intptr_t)(int16_t)hs_read_u16(code);
        return true;
    case OP_CONST4U:
        *value = hs_read_u32(code);
        return true;
    case OP_CONST4S:
        *value = (uintptr_t)(intptr_t)(int32_t)hs_read_u32(code);
        return true;
    case OP_ADDR:
    case OP_CONST8U:
    case OP_CONST8S:
        *value = (uintptr_t)hs_read_u64(code);
        return true;
    case OP_CONSTU:
        *value = (uintptr_t)hs_read_uleb128(code);
        return true;
    case OP_CONSTS:
        *value = (uintptr_t)hs_read_sleb128(code);
        return true;
    }
    return false;
}

static bool shift(uint8_t op, uintptr_t left, uintptr_t right, uintptr_t *result)
{
    const unsigned bits = sizeof(uintptr_t) * 8;
    switch (op) {
    case OP_SHL:
        *result = right < bits ? left << right : 0;
        return true;
    case OP_SHR:
        *result = right < bits ? left >> right : 0;
        return true;
    case OP_SHRA:
        *result = (uintptr_t)((intptr_t)left >> (right < bits ? right : bits - 1));
        return true;
    }
    return false;
}

// With signs, truncated, by the division without.
static uintptr_t divide(uintptr_t left, uintptr_t right)
{
    bool left_negative = (intptr_t)left < 0, right_negative = (intptr_t)right < 0;
    uintptr_t quotient = (left_negative ? 0 - left : left) / (right_negative ? 0 - right : right);
    return left_negative != right_negative ? 0 - quotient : quotient;
}

// Binary operations on the two topmost values. False: `op` is another operation, or a division is impossible.
static bool binary(uint8_t op, uintptr_t left, uintptr_t right, uintptr_t *result)
{
    intptr_t signed_left = (intptr_t)left, signed_right = (intptr_t)right;
    switch (op) {
    case OP_AND:
        *result = left & right;
        return true;
    case OP_OR:
        *result = left | right;
        return true;
    case OP_XOR:
        *result = left ^ right;
        return true;
    case OP_PLUS:
        *result = left + right;
        return true;
    case OP_MINUS:
        *result = left - right;
        return true;
    case OP_MUL:
        *result = left * right;
        return true;
    case OP_DIV:
        if (!right || (signed_right == -1 && signed_left == INTPTR_MIN))
            return false;
        *result = divide(left, right);
        return true;
    case OP_MOD:
        if (!right)
            return false;
        *result = left % right;
        return true;
    case OP_EQ:
        *result = left == right;
        return true;
    case OP_NE:
        *result = left != right;
        return true;
    case OP_GE:
        *result = signed_left >= signed_right;
        return true;
    case OP_GT:
        *result = signed_left > signed_right;
        return true;
    case OP_LE:
        *result = signed_left <= signed_right;
        return true;
    case OP_LT:
        *result = signed_left < signed_right;
        return true;
    }
    return shift(op, left, right, result);
}

static bool is_binary(uint8_t op)
{
    switch (op) {
    case OP_AND:
    case OP_DIV:
    case OP_MINUS:
    case OP_MOD:
    case OP_MUL:
    case OP_OR:
    case OP_PLUS:
    case OP_SHL:
    case OP_SHR:
    case OP_SHRA:
    case OP_XOR:
        return true;
    }
    return op >= OP_EQ && op <= OP_NE && op != OP_BRA;
}

static void jump(struct expression_machine *machine, int16_t distance)
{
    const uint8_t *at = machine->code.at;
    if (distance < machine->start - at || distance > machine->code.end - at)
        machine->failed = true;
    else
        machine->code.at = at + distance;
}

static bool shuffle(struct expression_machine *machine, uint8_t op)
{
    uintptr_t top, second, third;
    switch (op) {
    case OP_NOP:
        return true;
    case OP_DUP:
        push(machine, pick(machine, 0));
        return true;
    case OP_DROP:
        pop(machine);
        return true;
    case OP_OVER:
        push(machine, pick(machine, 1));
        return true;
    case OP_PICK:
        push(machine, pick(machine, hs_read_u8(&machine->code)));
        return true;
    case OP_SWAP:
        top = pop(machine), second = pop(machine);
        push(machine, top), push(machine, second);
        return true;
    case OP_ROT:
        top = pop(machine), second = pop(machine), third = pop(machine);
        push(machine, top), push(machine, third), push(machine, second);
        return true;
    }
    return false;
}

static bool unary(struct expression_machine *machine, uint8_t op)
{
    uintptr_t value;
    switch (op) {
    case OP_ABS:
        value = pop(machine);
        push(machine, (intptr_t)value < 0 ? 0 - value : value);
        return true;
    case OP_NEG:
        push(machine, 0 - pop(machine));
        return true;
    case OP_NOT:
        push(machine, ~pop(machine));
        return true;
    case OP_PLUS_UCONST:
        value = pop(machine);
        push(machine, value + (uintptr_t)hs_read_uleb128(&machine->code));
        return true;
    }
    return false;
}

static void load(struct expression_machine *machine, struct hs_words *words, unsigned size)
{
    uintptr_t address = pop(machine), value = 0;
    if (!size || size > sizeof value || machine->failed || !hs_words_read(words, address, &value)) {
        machine->failed = true;
        return;
    }
    push(machine, size == sizeof value ? value : value & (((uintptr_t)1 << 8 * size) - 1));
}

static void push_register(struct expression_machine *machine, const struct hs_all_registers *registers, uint64_t number)
{
    uintptr_t offset = (uintptr_t)hs_read_sleb128(&machine->code);
    if (number >= HS_DWARF_REGISTERS)
        machine->failed = true;
    else
        push(machine, registers->values[number] + offset);
}

static void step(struct expression_machine *machine, const struct hs_all_registers *registers, struct hs_words *words)
{
    uint8_t op = hs_read_u8(&machine->code);
    uintptr_t value;
    if (op >= OP_BREG0 && op <= OP_BREG31) {
        push_register(machine, registers, op - OP_BREG0);
    } else if (op == OP_BREGX) {
        push_register(machine, registers, hs_read_uleb128(&machine->code));
    } else if (op == OP_DEREF) {
        load(machine, words, HS_WORD_SIZE);
    } else if (op == OP_DEREF_SIZE) {
        load(machine, words, hs_read_u8(&machine->code));
    } else if (op == OP_SKIP) {
        jump(machine, (int16_t)hs_read_u16(&machine->code));
    } else if (op == OP_BRA) {
        int16_t distance = (int16_t)hs_read_u16(&machine->code);
        if (pop(machine))
            jump(machine, distance);
    } else if (read_constant(&machine->code, op, &value)) {
        push(machine, value);
    } else if (is_binary(op)) {
        uintptr_t right = pop(machine), left = pop(machine);
        if (binary(op, left, right, &value))
            push(machine, value);
        else
            machine->failed = true;
    } else if (!shuffle(machine, op) && !unary(machine, op)) {
        machine->failed = true;
    }
}

bool hs_expression_evaluate(struct hs_reader expression, const struct hs_all_registers *registers,
                            const uintptr_t *first, struct hs_words *words, uintptr_t *result)
{
    struct expression_machine machine;
    machine.code = expression;
    machine.start = expression.at;
    machine.depth = 0;
    machine.failed = false;
    if (first)
        push(&machine, *first);
    for (int steps = 0; machine.code.at < machine.code.end && !machine.failed; steps++) {
        if (steps == STEP_LIMIT)
            return false;
        step(&machine, registers, words);
    }
    *result = pop(&machine);
    return !machine.failed && !machine.code.failed;
}

enum { SYMBOLIC_DEPTH = 8 };

static bool symbolic_register(uint8_t number, int64_t offset, uintptr_t pc, struct hs_symbolic *value)
{
    *value = (struct hs_symbolic){HS_BASE_NONE, offset, false};
    if (number == HS_DWARF_SP)
        value->base = HS_BASE_SP;
    else if (number == HS_DWARF_FP)
        value->base = HS_BASE_FP;
    else if (number == HS_DWARF_PC)
        value->offset = (int64_t)((uint64_t)value->offset + pc);
    else
        return false;
    return true;
}

// A binary operation on constants, or base + constant.
static bool symbolic_binary(uint8_t op, struct hs_symbolic left, struct hs_symbolic right, struct hs_symbolic *result)
{
    if (left.deref || right.deref || right.base != HS_BASE_NONE) {
        struct hs_symbolic swapped = left;
        if (op != OP_PLUS || left.deref || right.deref || left.base != HS_BASE_NONE)
            return false;
        left = right;
        right = swapped;
    }
    if (left.base != HS_BASE_NONE && op != OP_PLUS && op != OP_MINUS)
        return false;
    uintptr_t value;
    if (!binary(op, (uintptr_t)left.offset, (uintptr_t)right.offset, &value))
        return false;
    *result = (struct hs_symbolic){left.base, (int64_t)value, false};
    return true;
}

static bool symbolic_step(struct hs_reader *code, uintptr_t pc, struct hs_symbolic *stack, unsigned *depth)
{
    uint8_t op = hs_read_u8(code);
    uintptr_t value;
    if (*depth < SYMBOLIC_DEPTH && op >= OP_BREG0 && op <= OP_BREG31)
        return symbolic_register(op - OP_BREG0, hs_read_sleb128(code), pc, &stack[(*depth)++]);
    if (*depth < SYMBOLIC_DEPTH && read_constant(code, op, &value)) {
        stack[(*depth)++] = (struct hs_symbolic){HS_BASE_NONE, (int64_t)value, false};
        return true;
    }
    if (op == OP_NOP)
        return true;
    if (!*depth)
        return false;
    struct hs_symbolic *top = &stack[*depth - 1];
    if (op == OP_DEREF) {
        if (top->deref || top->base == HS_BASE_NONE)
            return false;
        top->deref = true;
        return true;
    }
    if (op == OP_PLUS_UCONST && !top->deref) {
        top->offset = (int64_t)((uint64_t)top->offset + hs_read_uleb128(code));
        return true;
    }
    if (!is_binary(op) || *depth < 2)
        return false;
    --*depth;
    return symbolic_binary(op, top[-1], top[0], &top[-1]);
}

bool hs_expression_classify(struct hs_reader code, uintptr_t pc, const struct hs_symbolic *first,
                            struct hs_symbolic *result)
{
    struct hs_symbolic stack[SYMBOLIC_DEPTH];
    unsigned depth = 0;
    if (first)
        stack[depth++] = *first;
    while (code.at < code.end)
        if (!symbolic_step(&code, pc, stack, &depth))
            return false;
    if (!depth || code.failed)
        return false;
    *result = stack[depth - 1];
    return result->base != HS_BASE_NONE;
}
