// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/arm_code.h"

#include <string.h>

enum { UNIT = 4, AHEAD = 8 }; // pc reads as two instructions ahead

#define ALWAYS  0xe0000000u
#define BRANCH  0x0a000000u
#define NOT     0x10000000u // changes a condition to its opposite
#define REACH   (1 << 25)
#define LOAD_PC 0xe51ff004u // ldr pc, of the next word

// ---- writing -------------------------------------------------------------------------------------------------------

void hs_arm_code__put(struct hs_arm_code *code, uint32_t word)
{
    memcpy(code->start + code->length, &word, sizeof word);
    code->length += sizeof word;
}

static uint64_t here(const struct hs_arm_code *code)
{
    return code->at + code->length;
}

static uint32_t branch(uint32_t condition, int64_t distance)
{
    return condition | BRANCH | ((uint32_t)((distance - AHEAD) / UNIT) & 0xffffff);
}

size_t hs_arm_code__near_jump(struct hs_arm_code *code, uint64_t to)
{
    int64_t distance = (int64_t)(to - here(code));
    if (to & 3 || distance < -REACH + AHEAD || distance >= REACH)
        return 0;
    hs_arm_code__put(code, branch(ALWAYS, distance));
    return UNIT;
}

void hs_arm_code__jump(struct hs_arm_code *code, uint64_t to)
{
    if (hs_arm_code__near_jump(code, to))
        return;
    hs_arm_code__put(code, LOAD_PC);
    hs_arm_code__put(code, (uint32_t)to);
}

// One byte of a constant in each instruction, by an opcode with an immediate operand.
static uint32_t with_byte(uint32_t opcode, uint32_t value, unsigned number)
{
    return opcode | (16 - 4 * number) % 16 << 8 | (value >> 8 * number & 0xff);
}

// mov and orr, which processors of all versions have
static void put_constant(struct hs_arm_code *code, uint32_t condition, uint32_t reg, uint64_t value)
{
    hs_arm_code__put(code, with_byte(condition | 0x03a00000 | reg << 12, (uint32_t)value, 0));
    for (unsigned i = 1; i < 4; i++)
        if (value >> 8 * i & 0xff)
            hs_arm_code__put(code, with_byte(condition | 0x03800000 | reg << 16 | reg << 12, (uint32_t)value, i));
}

static void put_sum(struct hs_arm_code *code, uint32_t condition, uint32_t reg, uint32_t other, uint64_t value)
{
    hs_arm_code__put(code, with_byte(condition | 0x02800000 | other << 16 | reg << 12, (uint32_t)value, 0));
    for (unsigned i = 1; i < 4; i++)
        if (value >> 8 * i & 0xff)
            hs_arm_code__put(code, with_byte(condition | 0x02800000 | reg << 16 | reg << 12, (uint32_t)value, i));
}

// ---- moving --------------------------------------------------------------------------------------------------------

static uint32_t condition_of(uint32_t word)
{
    return word & 0xf0000000;
}

static const char *keep(struct hs_arm_code *code, uint32_t word)
{
    hs_arm_code__put(code, word);
    return NULL;
}

// An instruction that leads elsewhere, if its condition holds.
static const char *keep_last(struct hs_arm_code *code, uint32_t word)
{
    code->goes_on = condition_of(word) != ALWAYS;
    return keep(code, word);
}

static uint64_t pc_of(const struct hs_arm_code *code)
{
    return code->from + AHEAD;
}

static int64_t distance_24(uint32_t word)
{
    return (int32_t)(word << 8) >> 6;
}

static const char *move_branch(struct hs_arm_code *code, uint32_t word)
{
    uint64_t to = pc_of(code) + (uint64_t)distance_24(word);
    uint32_t condition = condition_of(word);
    size_t over = code->length;
    code->goes_on = condition != ALWAYS;
    if (code->goes_on)
        hs_arm_code__put(code, 0);
    hs_arm_code__jump(code, to);
    if (code->goes_on) {
        uint32_t skip = branch(condition ^ NOT, (int64_t)(code->length - over));
        memcpy(code->start + over, &skip, sizeof skip);
    }
    return NULL;
}

static const char *move_call(struct hs_arm_code *code, uint32_t word, uint64_t to)
{
    if (!code->may_call)
        return "calls at once";
    if (condition_of(word) != ALWAYS && condition_of(word) != 0xf0000000)
        return HS_ARM_NOT_UNDERSTOOD;
    hs_arm_code__put(code, 0xe28fe004); // add lr, pc, 4: behind the address
    hs_arm_code__put(code, LOAD_PC);
    hs_arm_code__put(code, (uint32_t)to);
    return NULL;
}

// By the address, which the register itself can hold.
static const char *move_load(struct hs_arm_code *code, uint32_t word)
{
    uint32_t reg = word >> 12 & 15, distance = word & 0xfff;
    bool is_load = word >> 20 & 1, is_plain = (word & 0x01200000) == 0x01000000;
    uint64_t address = word >> 23 & 1 ? pc_of(code) + distance : pc_of(code) - distance;
    if (!is_load || !is_plain || reg == HS_ARM_SP)
        return HS_ARM_NOT_UNDERSTOOD;
    if (reg != HS_ARM_PC) {
        put_constant(code, condition_of(word), reg, address);
        return keep(code, condition_of(word) | 0x05900000 | (word & 1u << 22) | reg << 16 | reg << 12);
    }
    if (!code->is_ip_free || condition_of(word) != ALWAYS)
        return HS_ARM_NOT_UNDERSTOOD;
    put_constant(code, ALWAYS, HS_ARM_IP, address);
    return keep_last(code, 0xe59cf000);
}

// ldr reg, [pc, other]
static const char *move_indexed(struct hs_arm_code *code, uint32_t word)
{
    uint32_t reg = word >> 12 & 15, other = word & 15;
    if ((word & 0x0fff0ff0) != 0x079f0000 || reg >= HS_ARM_SP || other >= HS_ARM_SP)
        return HS_ARM_NOT_UNDERSTOOD;
    put_sum(code, condition_of(word), reg, other, pc_of(code));
    return keep(code, condition_of(word) | 0x05900000 | reg << 16 | reg << 12);
}

static const char *move_word_access(struct hs_arm_code *code, uint32_t word)
{
    bool is_indexed = word >> 25 & 1, is_load = word >> 20 & 1;
    uint32_t base = word >> 16 & 15, reg = word >> 12 & 15;
    if (is_indexed && word & 0x10) // media
        return (word & 0x0ff000f0) == 0x07f000f0 ? HS_ARM_NOT_UNDERSTOOD : keep(code, word);
    if (base == HS_ARM_PC)
        return is_indexed ? move_indexed(code, word) : move_load(code, word);
    if ((is_indexed && (word & 15) == HS_ARM_PC) || (!is_load && reg == HS_ARM_PC))
        return HS_ARM_NOT_UNDERSTOOD;
    return is_load && reg == HS_ARM_PC ? keep_last(code, word) : keep(code, word);
}

// Of half-words, signed bytes, two words
static const char *move_extra(struct hs_arm_code *code, uint32_t word)
{
    uint32_t base = word >> 16 & 15, reg = word >> 12 & 15, distance = (word >> 4 & 0xf0) | (word & 15);
    bool is_load = word >> 20 & 1 || (word & 0x60) == 0x40, is_plain = (word & 0x01600000) == 0x01400000;
    uint64_t address = word >> 23 & 1 ? pc_of(code) + distance : pc_of(code) - distance;
    if (!(word & 0x60) || base != HS_ARM_PC) // products, exclusive accesses, swaps
        return keep(code, word);
    if (!is_load || !is_plain || reg >= HS_ARM_IP)
        return HS_ARM_NOT_UNDERSTOOD;
    put_constant(code, condition_of(word), reg, address);
    return keep(code, (word & 0xfff0f0f0 & ~0xf00u) | 1u << 23 | reg << 16);
}

static const char *move_miscellaneous(struct hs_arm_code *code, uint32_t word)
{
    bool uses_pc = (word & 15) == HS_ARM_PC;
    if (word >> 25 & 1) // movw, movt, msr, hints
        return keep(code, word);
    if ((word & 0x0ffffff0) == 0x012fff10)
        return uses_pc ? HS_ARM_NOT_UNDERSTOOD : keep_last(code, word); // bx
    if ((word & 0x0ffffff0) == 0x012fff30)                              // blx
        return uses_pc ? HS_ARM_NOT_UNDERSTOOD : code->may_call ? keep(code, word) : "calls at once";
    switch (word & 0xf0) {
    case 0x20: // bxj
    case 0x60: // eret
    case 0x70: // bkpt, hvc, smc
        return HS_ARM_NOT_UNDERSTOOD;
    case 0x10: // clz
        return (word & 0x0fff0ff0) == 0x016f0f10 ? keep(code, word) : HS_ARM_NOT_UNDERSTOOD;
    default:
        return keep(code, word);
    }
}

enum arm_operation { SUB = 2, ADD = 4, MOV = 13, MVN = 15 };

static uint32_t rotated(uint32_t word)
{
    uint32_t value = word & 0xff, by = word >> 7 & 30;
    return by ? value >> by | value << (32 - by) : value;
}

static const char *move_with_pc(struct hs_arm_code *code, uint32_t word)
{
    uint32_t operation = word >> 21 & 15, first = word >> 16 & 15, reg = word >> 12 & 15, second = word & 15;
    bool is_immediate = word >> 25 & 1, sets_flags = word >> 20 & 1;
    uint32_t other = first == HS_ARM_PC ? second : first;
    if (sets_flags || reg >= HS_ARM_SP || (!is_immediate && word & 0xff0))
        return HS_ARM_NOT_UNDERSTOOD;
    if (operation == MOV)
        put_constant(code, condition_of(word), reg, pc_of(code));
    else if (is_immediate && operation == ADD)
        put_constant(code, condition_of(word), reg, pc_of(code) + rotated(word));
    else if (is_immediate && operation == SUB)
        put_constant(code, condition_of(word), reg, pc_of(code) - rotated(word));
    else if (operation == ADD && other < HS_ARM_SP)
        put_sum(code, condition_of(word), reg, other, pc_of(code));
    else
        return HS_ARM_NOT_UNDERSTOOD;
    return NULL;
}

static const char *move_data(struct hs_arm_code *code, uint32_t word)
{
    uint32_t operation = word >> 21 & 15;
    bool is_immediate = word >> 25 & 1, sets_flags = word >> 20 & 1, compares = (operation & 12) == 8;
    bool is_unary = operation == MOV || operation == MVN;
    if (!is_immediate && (word & 0x90) == 0x90)
        return move_extra(code, word);
    if (compares && !sets_flags)
        return move_miscellaneous(code, word);
    bool reads_pc = (!is_unary && (word >> 16 & 15) == HS_ARM_PC) || (!is_immediate && (word & 15) == HS_ARM_PC) ||
                    (!is_immediate && word & 0x10 && (word >> 8 & 15) == HS_ARM_PC);
    if (reads_pc)
        return compares ? HS_ARM_NOT_UNDERSTOOD : move_with_pc(code, word);
    if ((word >> 12 & 15) != HS_ARM_PC || compares)
        return keep(code, word);
    return sets_flags ? HS_ARM_NOT_UNDERSTOOD : keep_last(code, word);
}

static const char *move_several(struct hs_arm_code *code, uint32_t word)
{
    bool is_load = word >> 20 & 1, is_privileged = word >> 22 & 1, has_pc = word >> 15 & 1;
    if ((word >> 16 & 15) == HS_ARM_PC || is_privileged || (has_pc && !is_load))
        return HS_ARM_NOT_UNDERSTOOD;
    return has_pc ? keep_last(code, word) : keep(code, word);
}

// vldr and its like
static const char *move_coprocessor_access(struct hs_arm_code *code, uint32_t word)
{
    uint64_t distance = (word & 0xff) * UNIT;
    if ((word >> 16 & 15) != HS_ARM_PC)
        return keep(code, word);
    if ((word & 0x0f300e00) != 0x0d100a00 || !code->is_ip_free)
        return HS_ARM_NOT_UNDERSTOOD;
    put_constant(code, condition_of(word), HS_ARM_IP, word >> 23 & 1 ? pc_of(code) + distance : pc_of(code) - distance);
    return keep(code, (word & 0xfff0ff00) | 1u << 23 | HS_ARM_IP << 16);
}

static const char *move_unconditional(struct hs_arm_code *code, uint32_t word)
{
    if (word >> 25 == 0x7d)
        return move_call(code, word, pc_of(code) + (uint64_t)distance_24(word) + (word >> 23 & 2) + 1);
    bool is_vector = word >> 25 == 0x79 || (word & 0xff100000) == 0xf4000000;
    bool is_hint = (word & 0xfd70f000) == 0xf550f000 && (word >> 16 & 15) != HS_ARM_PC; // pld
    bool is_barrier = (word & 0xfff00000) == 0xf5700000;
    return is_vector || is_hint || is_barrier ? keep(code, word) : HS_ARM_NOT_UNDERSTOOD;
}

const char *hs_arm_code__move(struct hs_arm_code *code, const uint8_t *bytes, size_t length, size_t *moved)
{
    uint32_t word;
    *moved = UNIT;
    if (length < UNIT)
        return "is too short";
    memcpy(&word, bytes, sizeof word);
    if (condition_of(word) == 0xf0000000)
        return move_unconditional(code, word);
    switch (word >> 25 & 7) {
    case 0:
    case 1:
        return move_data(code, word);
    case 2:
    case 3:
        return move_word_access(code, word);
    case 4:
        return move_several(code, word);
    case 5:
        return word >> 24 & 1 ? move_call(code, word, pc_of(code) + (uint64_t)distance_24(word))
                              : move_branch(code, word);
    case 6:
        return move_coprocessor_access(code, word);
    default:
        return word >> 24 & 1 ? "makes a system call in its first instructions" : keep(code, word);
    }
}

// ---- jumps to the beginning ----------------------------------------------------------------------------------------

static bool is_branch(uint32_t word)
{
    return (word & 0x0f000000) == BRANCH && condition_of(word) != 0xf0000000;
}

static bool leads_elsewhere(uint32_t word)
{
    bool has_pc = (word >> 12 & 15) == HS_ARM_PC, is_media = (word & 0x02000010) == 0x02000010;
    if (condition_of(word) != ALWAYS)
        return false;
    if (is_branch(word) || (word & 0x0ffffff0) == 0x012fff10 || word == 0xe7f000f0) // b, bx, udf
        return true;
    if ((word & 0x0e108000) == 0x08108000) // ldm
        return true;
    if ((word & 0x0c100000) == 0x04100000) // ldr
        return has_pc && !is_media;
    return !(word & 0x0c000000) && (word & 0x01800000) != 0x01000000 && has_pc; // mov, add
}

bool hs_arm_code__is_jumped_to(const uint8_t *bytes, size_t length, size_t size, size_t consumed)
{
    size_t end = size && size < length ? size : length;
    int64_t last = 0;
    for (size_t offset = 0; offset + UNIT <= end; offset += UNIT) {
        uint32_t word;
        memcpy(&word, bytes + offset, sizeof word);
        int64_t target = is_branch(word) ? (int64_t)offset + AHEAD + distance_24(word) : -1;
        if (target >= 0 && target < (int64_t)consumed)
            return true;
        if (target > last && target < (int64_t)length)
            last = target;
        if (!size && last <= (int64_t)offset && leads_elsewhere(word))
            return false;
    }
    return false;
}
