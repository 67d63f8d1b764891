// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/arm_code.h"
#include "host/inject/code_words.h"

#include <stdlib.h>
#include <string.h>

enum { UNIT = 2, AHEAD = 4 }; // pc reads as AHEAD bytes after the instruction

#define REACH (1 << 24)
#define NOP   0xbf00u

// ---- writing -------------------------------------------------------------------------------------------------------

static void put_half(struct hs_arm_code *code, uint32_t half)
{
    uint16_t value = (uint16_t)half;
    memcpy(code->start + code->length, &value, sizeof value);
    code->length += sizeof value;
}

void hs_arm_code__put_halves(struct hs_arm_code *code, uint32_t first, uint32_t second)
{
    put_half(code, first);
    put_half(code, second);
}

static uint64_t here(const struct hs_arm_code *code)
{
    return code->at + code->length;
}

// b.w
size_t hs_thumb_code__near_jump(struct hs_arm_code *code, uint64_t to)
{
    int64_t distance = (int64_t)((to & ~1ull) - here(code)) - AHEAD;
    uint32_t bits = (uint32_t)(distance / UNIT), sign = distance < 0;
    if (!(to & 1) || distance < -REACH || distance >= REACH)
        return 0;
    uint32_t first = (bits >> 22 & 1) ^ sign ^ 1, second = (bits >> 21 & 1) ^ sign ^ 1;
    hs_arm_code__put_halves(code, 0xf000 | sign << 10 | (bits >> 11 & 0x3ff),
                            0x9000 | first << 13 | second << 11 | (bits & 0x7ff));
    return 2 * UNIT;
}

void hs_thumb_code__jump(struct hs_arm_code *code, uint64_t to)
{
    if (hs_thumb_code__near_jump(code, to))
        return;
    if (here(code) % 4)
        put_half(code, NOP);
    hs_arm_code__put_halves(code, 0xf8df, 0xf000); // ldr.w pc, of the next word
    hs_arm_code__put(code, (uint32_t)to);
}

// movw and movt
static void put_constant(struct hs_arm_code *code, uint32_t reg, uint64_t value)
{
    for (unsigned i = 0; i < 2; i++) {
        uint32_t part = (uint32_t)(value >> 16 * i) & 0xffff;
        hs_arm_code__put_halves(code, (i ? 0xf2c0 : 0xf240) | (part >> 11 & 1) << 10 | part >> 12,
                                (part >> 8 & 7) << 12 | reg << 8 | (part & 0xff));
    }
}

// add.w reg, reg, of a byte of a constant. Its highest set bit decides how it is written.
static void put_part(struct hs_arm_code *code, uint32_t reg, uint32_t part)
{
    unsigned highest = 31;
    while (!(part >> highest & 1))
        highest--;
    uint32_t rotation = highest < 8 ? 0 : 39 - highest, byte = highest < 8 ? part : part >> (highest - 7) & 0x7f;
    uint32_t field = rotation << 7 | byte;
    hs_arm_code__put_halves(code, 0xf100 | (field >> 11 & 1) << 10 | reg,
                            (field >> 8 & 7) << 12 | reg << 8 | (field & 0xff));
}

static void put_sum(struct hs_arm_code *code, uint32_t reg, uint64_t value)
{
    for (unsigned i = 0; i < 32; i += 8)
        if (value >> i & 0xff)
            put_part(code, reg, (uint32_t)(value >> i & 0xff) << i);
}

// ---- moving --------------------------------------------------------------------------------------------------------

static const char *keep(struct hs_arm_code *code, uint32_t half)
{
    put_half(code, half);
    return NULL;
}

static const char *keep_halves(struct hs_arm_code *code, uint32_t first, uint32_t second)
{
    hs_arm_code__put_halves(code, first, second);
    return NULL;
}

static uint64_t pc_of(const struct hs_arm_code *code)
{
    return code->from + AHEAD;
}

static uint64_t base_of(const struct hs_arm_code *code)
{
    return pc_of(code) & ~3ull;
}

static const char *move_jump(struct hs_arm_code *code, uint64_t to)
{
    code->goes_on = false;
    hs_thumb_code__jump(code, to | 1);
    return NULL;
}

// `skip`: a short branch of the opposite condition, whose distance has yet to be added at `shift`.
static const char *move_conditional(struct hs_arm_code *code, uint32_t skip, uint64_t to)
{
    size_t over = code->length;
    put_half(code, 0);
    hs_thumb_code__jump(code, to | 1);
    uint32_t halves = (uint32_t)(code->length - over - AHEAD) / UNIT;
    bool is_compare = (skip & 0xf000) == 0xb000;
    uint16_t half = (uint16_t)(skip | (is_compare ? halves << 3 : halves));
    memcpy(code->start + over, &half, sizeof half);
    return NULL;
}

static const char *move_call(struct hs_arm_code *code, uint64_t to)
{
    if (!code->may_call)
        return "calls at once";
    put_constant(code, HS_ARM_IP, to);
    return keep(code, 0x4780 | HS_ARM_IP << 3); // blx
}

// Of high registers: add, cmp, mov, bx, blx
static const char *move_high(struct hs_arm_code *code, uint32_t half)
{
    uint32_t reg = (half & 7) | (half >> 4 & 8), other = half >> 3 & 15;
    switch (half >> 8 & 3) {
    case 0:
        if (reg == HS_ARM_PC || (other == HS_ARM_PC && reg == HS_ARM_SP))
            return HS_ARM_NOT_UNDERSTOOD;
        if (other != HS_ARM_PC)
            return keep(code, half);
        put_sum(code, reg, pc_of(code));
        return NULL;
    case 1:
        return reg == HS_ARM_PC || other == HS_ARM_PC ? HS_ARM_NOT_UNDERSTOOD : keep(code, half);
    case 2:
        if (other == HS_ARM_PC && reg >= HS_ARM_SP)
            return HS_ARM_NOT_UNDERSTOOD;
        code->goes_on = reg != HS_ARM_PC;
        if (other != HS_ARM_PC)
            return keep(code, half);
        put_constant(code, reg, pc_of(code));
        return NULL;
    default:
        if (other == HS_ARM_PC)
            return HS_ARM_NOT_UNDERSTOOD;
        if (half & 0x80 && !code->may_call)
            return "calls at once";
        code->goes_on = half & 0x80;
        return keep(code, half);
    }
}

static const char *move_miscellaneous(struct hs_arm_code *code, uint32_t half)
{
    if ((half & 0xff00) == 0xbf00)
        return half & 15 ? "begins with conditional instructions" : keep(code, half);
    if ((half & 0xff00) == 0xbe00 || (half & 0xff00) == 0xb600 || (half & 0xffc0) == 0xba80) // bkpt, cps, setend, hlt
        return HS_ARM_NOT_UNDERSTOOD;
    if ((half & 0xf500) == 0xb100) { // cbz, cbnz
        uint64_t distance = (half >> 3 & 0x40) | (half >> 2 & 0x3e);
        return move_conditional(code, (half & 0xfd07) ^ 0x800, pc_of(code) + distance);
    }
    code->goes_on = (half & 0xff00) != 0xbd00; // pop
    return keep(code, half);
}

static const char *move_short(struct hs_arm_code *code, uint32_t half)
{
    uint32_t reg = half >> 8 & 7, distance = (half & 0xff) * 4;
    switch (half >> 11) {
    case 0x08:
        return half & 0x400 ? move_high(code, half) : keep(code, half);
    case 0x09: // ldr
        put_constant(code, reg, base_of(code) + distance);
        return keep_halves(code, 0xf8d0 | reg, reg << 12);
    case 0x14: // adr
        put_constant(code, reg, base_of(code) + distance);
        return NULL;
    case 0x16:
    case 0x17:
        return move_miscellaneous(code, half);
    case 0x1a:
    case 0x1b:
        if ((half & 0xf00) == 0xf00)
            return "makes a system call in its first instructions";
        if ((half & 0xf00) == 0xe00)
            return HS_ARM_NOT_UNDERSTOOD;
        return move_conditional(code, (half & 0xff00) ^ 0x100,
                                pc_of(code) + (uint64_t)(hs_code_words__extend(half & 0xff, 8) * UNIT));
    case 0x1c:
        return move_jump(code, pc_of(code) + (uint64_t)(hs_code_words__extend(half & 0x7ff, 11) * UNIT));
    default:
        return keep(code, half);
    }
}

// b.w, bl
static int64_t distance_25(uint32_t first, uint32_t second)
{
    uint32_t sign = first >> 10 & 1, high = (second >> 13 & 1) ^ sign ^ 1, low = (second >> 11 & 1) ^ sign ^ 1;
    return hs_code_words__extend(sign << 24 | high << 23 | low << 22 | (first & 0x3ff) << 12 | (second & 0x7ff) << 1,
                                 25);
}

// With a condition
static int64_t distance_21(uint32_t first, uint32_t second)
{
    return hs_code_words__extend((first >> 10 & 1) << 20 | (second >> 11 & 1) << 19 | (second >> 13 & 1) << 18 |
                                     (first & 0x3f) << 12 | (second & 0x7ff) << 1,
                                 21);
}

static const char *move_branch(struct hs_arm_code *code, uint32_t first, uint32_t second)
{
    if (second & 0x4000)
        return move_call(code, second & 0x1000 ? (pc_of(code) + (uint64_t)distance_25(first, second)) | 1
                                               : base_of(code) + (uint64_t)distance_25(first, second & ~1u));
    if (second & 0x1000)
        return move_jump(code, pc_of(code) + (uint64_t)distance_25(first, second));
    if ((first & 0x380) != 0x380)
        return move_conditional(code, 0xd000 | ((first >> 6 & 15) ^ 1) << 8,
                                pc_of(code) + (uint64_t)distance_21(first, second));
    bool is_hint = first == 0xf3af && (second & 0xff00) == 0x8000, is_barrier = first == 0xf3bf;
    bool reads_status = (first & 0xffe0) == 0xf3e0;
    return is_hint || is_barrier || reads_status ? keep_halves(code, first, second) : HS_ARM_NOT_UNDERSTOOD;
}

static uint64_t literal(const struct hs_arm_code *code, uint32_t first, uint32_t distance)
{
    return first & 0x80 ? base_of(code) + distance : base_of(code) - distance;
}

static const char *move_access(struct hs_arm_code *code, uint32_t first, uint32_t second)
{
    uint32_t base = first & 15, reg = second >> 12;
    bool is_word = (first & 0x160) == 0x40, is_load = first & 0x10;
    uint64_t address = literal(code, first, second & 0xfff);
    code->goes_on = !(is_load && is_word && reg == HS_ARM_PC);
    if (base != HS_ARM_PC)
        return keep_halves(code, first, second);
    if (!is_load || reg == HS_ARM_SP || (reg == HS_ARM_PC && !(is_word && code->is_ip_free)))
        return HS_ARM_NOT_UNDERSTOOD;
    uint32_t holder = reg == HS_ARM_PC ? HS_ARM_IP : reg;
    put_constant(code, holder, address);
    return keep_halves(code, (first & 0xfff0) | 0x80 | holder, reg << 12);
}

static const char *move_several(struct hs_arm_code *code, uint32_t first, uint32_t second)
{
    uint32_t base = first & 15, reg = second >> 12, other = second >> 8 & 15;
    bool is_load = first & 0x10;
    if (!(first & 0x40)) { // ldm, stm
        if (base == HS_ARM_PC || (first >> 7 & 3) == 0 || (first >> 7 & 3) == 3)
            return HS_ARM_NOT_UNDERSTOOD;
        code->goes_on = !(is_load && second & 0x8000);
        return keep_halves(code, first, second);
    }
    if ((first & 0xfff0) == 0xe8d0 && (second & 0xffe0) == 0xf000)
        return "begins with a table of branches";
    if (base != HS_ARM_PC)
        return keep_halves(code, first, second);
    if ((first & 0xff7f) != 0xe95f || reg >= HS_ARM_SP || other >= HS_ARM_SP)
        return HS_ARM_NOT_UNDERSTOOD;
    put_constant(code, reg, literal(code, first, (second & 0xff) * 4));
    return keep_halves(code, 0xe9d0 | reg, second & 0xff00);
}

static const char *move_coprocessor(struct hs_arm_code *code, uint32_t first, uint32_t second)
{
    bool is_access = (first & 0xee00) == 0xec00;
    if (first & 0x1000 && (first & 0xef00) != 0xef00 && (first & 0xff00) != 0xfe00)
        return HS_ARM_NOT_UNDERSTOOD;
    if (!is_access || (first & 15) != HS_ARM_PC)
        return keep_halves(code, first, second);
    if ((first & 0xff30) != 0xed10 || (second & 0xe00) != 0xa00 || !code->is_ip_free)
        return HS_ARM_NOT_UNDERSTOOD;
    put_constant(code, HS_ARM_IP, literal(code, first, (second & 0xff) * 4)); // of vldr
    return keep_halves(code, (first & 0xfff0) | 0x80 | HS_ARM_IP, second & 0xff00);
}

static const char *move_long(struct hs_arm_code *code, uint32_t first, uint32_t second)
{
    uint32_t distance = (first & 0x400) << 1 | (second & 0x7000) >> 4 | (second & 0xff);
    if ((first & 0xf800) == 0xf000 && second & 0x8000)
        return move_branch(code, first, second);
    if ((first & 0xfbff) == 0xf20f || (first & 0xfbff) == 0xf2af) { // adr
        if ((second >> 8 & 15) >= HS_ARM_SP)
            return HS_ARM_NOT_UNDERSTOOD;
        put_constant(code, second >> 8 & 15, first & 0x80 ? base_of(code) - distance : base_of(code) + distance);
        return NULL;
    }
    if ((first & 0xfe00) == 0xf800)
        return move_access(code, first, second);
    if ((first & 0xfe00) == 0xe800)
        return move_several(code, first, second);
    if ((first & 0xec00) == 0xec00)
        return move_coprocessor(code, first, second);
    return keep_halves(code, first, second);
}

static bool is_long(uint32_t half)
{
    return half >= 0xe800;
}

static uint32_t half_at(const uint8_t *bytes, size_t offset)
{
    uint16_t half;
    memcpy(&half, bytes + offset, sizeof half);
    return half;
}

const char *hs_thumb_code__move(struct hs_arm_code *code, const uint8_t *bytes, size_t length, size_t *moved)
{
    *moved = length >= UNIT && is_long(half_at(bytes, 0)) ? 2 * UNIT : UNIT;
    if (length < *moved)
        return "is too short";
    return *moved == UNIT ? move_short(code, half_at(bytes, 0))
                          : move_long(code, half_at(bytes, 0), half_at(bytes, UNIT));
}

// ---- jumps to the beginning ----------------------------------------------------------------------------------------

// Instructions are of two lengths, and constants and tables lie between them. So where an instruction leads elsewhere,
// the next one is looked for where a branch has led to.
struct sweep {
    const uint8_t *bytes;
    size_t length, consumed;
    uint8_t *is_target;
    size_t last;          // of the targets
    unsigned conditional; // instructions of the IT block that follow
    bool is_found;
};

static void take_target(struct sweep *sweep, int64_t target)
{
    if (target < 0 || target >= (int64_t)sweep->length)
        return;
    sweep->is_found |= (size_t)target < sweep->consumed;
    sweep->is_target[target / UNIT] = 1;
    if ((size_t)target > sweep->last)
        sweep->last = (size_t)target;
}

static int64_t target_of(uint32_t first, uint32_t second, size_t offset)
{
    int64_t pc = (int64_t)offset + AHEAD;
    if ((first & 0xf000) == 0xd000 && (first & 0xe00) != 0xe00)
        return pc + hs_code_words__extend(first & 0xff, 8) * UNIT;
    if ((first & 0xf800) == 0xe000)
        return pc + hs_code_words__extend(first & 0x7ff, 11) * UNIT;
    if ((first & 0xf500) == 0xb100)
        return pc + (int64_t)((first >> 3 & 0x40) | (first >> 2 & 0x3e));
    if ((first & 0xf800) == 0xf000 && (second & 0xd000) == 0x9000)
        return pc + distance_25(first, second);
    if ((first & 0xf800) == 0xf000 && (second & 0xd000) == 0x8000 && (first & 0x380) != 0x380)
        return pc + distance_21(first, second);
    return -1;
}

static bool leads_elsewhere(uint32_t first, uint32_t second)
{
    if ((first & 0xf800) == 0xe000 || (first & 0xff80) == 0x4700 || (first & 0xff00) == 0xbd00 ||
        (first & 0xff87) == 0x4687 || (first & 0xff00) == 0xde00)
        return true; // b, bx, pop, mov, udf
    return ((first & 0xf800) == 0xf000 && (second & 0xd000) == 0x9000) ||
           ((first & 0xfe50) == 0xe810 && second & 0x8000) ||
           ((first & 0xff70) == 0xf850 && second >> 12 == HS_ARM_PC); // b.w, ldm, ldr
}

// Behind tbb or tbh; returns where the table ends.
static size_t take_table(struct sweep *sweep, size_t at, size_t width)
{
    size_t first = sweep->length, offset = at;
    for (; offset < first && offset + width <= sweep->length; offset += width) {
        size_t target = at + UNIT * (width == 1 ? sweep->bytes[offset] : half_at(sweep->bytes, offset));
        take_target(sweep, (int64_t)target);
        if (target < first)
            first = target;
    }
    return (offset + 1) & ~(size_t)1;
}

static size_t next_target(const struct sweep *sweep, size_t offset)
{
    for (size_t at = offset; at <= sweep->last; at += UNIT)
        if (sweep->is_target[at / UNIT])
            return at;
    return 0;
}

static bool find_jump(struct sweep *sweep, bool is_end_known)
{
    for (size_t offset = 0; offset + UNIT <= sweep->length && !sweep->is_found;) {
        uint32_t first = half_at(sweep->bytes, offset), second = 0;
        size_t behind = offset + (is_long(first) ? 2 * UNIT : UNIT);
        if (behind > sweep->length)
            break;
        if (is_long(first))
            second = half_at(sweep->bytes, offset + UNIT);
        take_target(sweep, target_of(first, second, offset));
        bool is_table = (first & 0xfff0) == 0xe8d0 && (second & 0xffe0) == 0xf000;
        bool is_last = is_table || (!sweep->conditional && leads_elsewhere(first, second));
        if (sweep->conditional)
            sweep->conditional--;
        if ((first & 0xff00) == 0xbf00 && first & 15)
            sweep->conditional = first & 1 ? 4 : first & 2 ? 3 : first & 4 ? 2 : 1;
        offset = (first & 15) == HS_ARM_PC && is_table ? take_table(sweep, behind, second & 0x10 ? 2 : 1) : behind;
        size_t next = is_last ? next_target(sweep, offset) : 0;
        if (is_last && !next && !is_end_known)
            break;
        offset = next ? next : offset;
    }
    return sweep->is_found;
}

bool hs_thumb_code__is_jumped_to(const uint8_t *bytes, size_t length, size_t size, size_t consumed)
{
    struct sweep sweep = {.bytes = bytes, .length = size && size < length ? size : length, .consumed = consumed};
    sweep.is_target = calloc(sweep.length / UNIT + 1, 1);
    bool found = !sweep.is_target || find_jump(&sweep, size != 0);
    free(sweep.is_target);
    return found;
}
