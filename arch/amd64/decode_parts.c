// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How long an AMD64 instruction is and what it consists of, from the opcode maps of the manuals (Intel volume 2
// appendix A, AMD volume 3 appendix A).
#include "arch/amd64/decode.h"

// What follows an opcode and its operands.
enum immediate {
    NONE,
    BYTE,
    WORD,          // 2 bytes
    OPERAND,       // 4 bytes, or 2 with 16-bit operands
    WHOLE_OPERAND, // the same, or 8 with 64-bit operands
    ADDRESS,       // 8 bytes, or 4 with 32-bit addresses
    ENTER,         // 2 + 1 bytes
    TWO_BYTES,     // 1 + 1 bytes
    FAR_BRANCH,    // 4 bytes
    EXTRACT,       // TWO_BYTES for extrq and insertq
    INVALID,
};

static inline uint8_t take(struct amd64 *code)
{
    return code->bytes[code->at++];
}

static int32_t take_32(struct amd64 *code)
{
    uint32_t value = hs_bits__little32(&code->bytes[code->at]);
    code->at += sizeof value;
    return (int32_t)value;
}

static int16_t take_16(struct amd64 *code)
{
    unsigned value = take(code);
    return (int16_t)(value | (unsigned)take(code) << 8);
}

static int64_t take_64(struct amd64 *code)
{
    uint64_t low = (uint32_t)take_32(code);
    return (int64_t)(low | (uint64_t)(uint32_t)take_32(code) << 32);
}

// Legacy prefixes and REX, which counts only right before the opcode. Returns the first byte of the opcode.
static uint8_t take_prefixes(struct amd64 *code)
{
    uint8_t rex = 0, byte;
    for (;; rex = (byte & 0xf0) == 0x40 ? byte : 0) {
        byte = take(code);
        switch (byte) {
        case 0x66:
            code->operand_16 = true;
            continue;
        case 0x67:
            code->address_32 = true;
            continue;
        case 0xf2:
            code->repeat_not = true;
            continue;
        case 0xf3:
            code->repeat = true;
            continue;
        case 0x64:
        case 0x65:
            code->segment = true;
            continue;
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0xf0:
        case 0x40 ... 0x4f:
            continue;
        default:
            break;
        }
        break;
    }
    code->rex = rex != 0;
    code->wide = rex >> 3 & 1;
    code->extend_reg = (uint8_t)((rex >> 2 & 1) << 3);
    code->extend_index = (uint8_t)((rex >> 1 & 1) << 3);
    code->extend_base = (uint8_t)((rex & 1) << 3);
    return byte;
}

// The two low bits of a vector prefix stand for a legacy prefix.
static void take_implied_prefix(struct amd64 *code, uint8_t byte)
{
    code->operand_16 = (byte & 3) == 1;
    code->repeat = (byte & 3) == 2;
    code->repeat_not = (byte & 3) == 3;
    code->vector_reg = (uint8_t)(~byte >> 3 & 15);
}

static void take_inverted_extensions(struct amd64 *code, uint8_t byte)
{
    code->extend_reg = byte & 0x80 ? 0 : 8;
    code->extend_index = byte & 0x40 ? 0 : 8;
    code->extend_base = byte & 0x20 ? 0 : 8;
}

static bool take_vex_2(struct amd64 *code)
{
    uint8_t byte = take(code);
    code->extend_reg = byte & 0x80 ? 0 : 8;
    take_implied_prefix(code, byte);
    code->map = AMD64_MAP_0F;
    return true;
}

static bool take_vex_3(struct amd64 *code)
{
    uint8_t first = take(code), second = take(code);
    take_inverted_extensions(code, first);
    take_implied_prefix(code, second);
    code->wide = second >> 7;
    code->map = first & 31;
    return code->map >= AMD64_MAP_0F && code->map <= AMD64_MAP_0F3A;
}

static bool take_evex(struct amd64 *code)
{
    uint8_t first = take(code), second = take(code);
    take(code);
    take_inverted_extensions(code, first);
    take_implied_prefix(code, second);
    code->wide = second >> 7;
    code->map = first & 7;
    return (first & 8) == 0 && (second & 4) && code->map != 0 && code->map != 4 && code->map != 7;
}

static bool take_xop(struct amd64 *code)
{
    uint8_t first = take(code), second = take(code);
    take_inverted_extensions(code, first);
    take_implied_prefix(code, second);
    code->wide = second >> 7;
    code->map = first & 31;
    return code->map >= AMD64_MAP_XOP_8 && code->map <= AMD64_MAP_XOP_A;
}

// Takes the opcode, whose first byte is given, and everything that says in which map it is.
static bool take_opcode(struct amd64 *code, uint8_t byte)
{
    bool known = true;
    bool xop = byte == 0x8f && (code->bytes[code->at] & 0x1f) >= AMD64_MAP_XOP_8;
    if (byte == 0xc5 || byte == 0xc4 || byte == 0x62 || xop) {
        code->vector = true;
        known = !code->rex && (byte == 0xc5   ? take_vex_2(code)
                               : byte == 0xc4 ? take_vex_3(code)
                               : byte == 0x62 ? take_evex(code)
                                              : take_xop(code));
        code->rex = true; // as for byte registers
        code->opcode = take(code);
        return known;
    }
    if (byte == 0x0f) {
        byte = take(code);
        code->map = AMD64_MAP_0F;
        if (byte == 0x38 || byte == 0x3a) {
            code->map = byte == 0x38 ? AMD64_MAP_0F38 : AMD64_MAP_0F3A;
            byte = take(code);
        }
    }
    code->opcode = byte;
    return true;
}

// By opcode: what follows it, and whether operands come between. What is not named has neither, or in the second map
// operands alone.
enum { MODRM = 0x80 };

#define ARITHMETIC(first)                                                                                              \
    [(first)...(first) + 3] = MODRM, [(first) + 4] = BYTE, [(first) + 5] = OPERAND, [(first) + 6] = INVALID,           \
                         [(first) + 7] = INVALID

static const uint8_t main_shapes[256] = {
    ARITHMETIC(0x00),
    ARITHMETIC(0x08),
    ARITHMETIC(0x10),
    ARITHMETIC(0x18),
    ARITHMETIC(0x20),
    ARITHMETIC(0x28),
    ARITHMETIC(0x30),
    ARITHMETIC(0x38),
    [0x60 ... 0x61] = INVALID,
    [0x63] = MODRM,
    [0x68] = OPERAND,
    [0x69] = MODRM | OPERAND,
    [0x6a] = BYTE,
    [0x6b] = MODRM | BYTE,
    [0x70 ... 0x7f] = BYTE,
    [0x80] = MODRM | BYTE,
    [0x81] = MODRM | OPERAND,
    [0x82] = INVALID,
    [0x83] = MODRM | BYTE,
    [0x84 ... 0x8f] = MODRM,
    [0x9a] = INVALID,
    [0xa0 ... 0xa3] = ADDRESS,
    [0xa8] = BYTE,
    [0xa9] = OPERAND,
    [0xb0 ... 0xb7] = BYTE,
    [0xb8 ... 0xbf] = WHOLE_OPERAND,
    [0xc0 ... 0xc1] = MODRM | BYTE,
    [0xc2] = WORD,
    [0xc6] = MODRM | BYTE,
    [0xc7] = MODRM | OPERAND,
    [0xc8] = ENTER,
    [0xca] = WORD,
    [0xcd] = BYTE,
    [0xce] = INVALID,
    [0xd0 ... 0xd3] = MODRM,
    [0xd4 ... 0xd6] = INVALID,
    [0xd8 ... 0xdf] = MODRM,
    [0xe0 ... 0xe7] = BYTE,
    [0xe8 ... 0xe9] = FAR_BRANCH,
    [0xea] = INVALID,
    [0xeb] = BYTE,
    [0xf6 ... 0xf7] = MODRM,
    [0xfe ... 0xff] = MODRM,
};

// Behind 0F.
static const uint8_t second_shapes[256] = {
    [0x00 ... 0x03] = MODRM, [0x04] = INVALID,
    [0x0a] = INVALID,        [0x0c] = INVALID,
    [0x0d] = MODRM,          [0x0f] = MODRM | BYTE,
    [0x10 ... 0x23] = MODRM, [0x24 ... 0x27] = INVALID,
    [0x28 ... 0x2f] = MODRM, [0x36] = INVALID,
    [0x38] = MODRM,          [0x39] = INVALID,
    [0x3a] = MODRM,          [0x3b ... 0x3f] = INVALID,
    [0x40 ... 0x6f] = MODRM, [0x70 ... 0x73] = MODRM | BYTE,
    [0x74 ... 0x76] = MODRM, [0x78] = MODRM | EXTRACT,
    [0x79] = MODRM,          [0x7a ... 0x7b] = INVALID,
    [0x7c ... 0x7f] = MODRM, [0x80 ... 0x8f] = FAR_BRANCH,
    [0x90 ... 0x9f] = MODRM, [0xa3] = MODRM,
    [0xa4] = MODRM | BYTE,   [0xa5 ... 0xa7] = MODRM,
    [0xab] = MODRM,          [0xac] = MODRM | BYTE,
    [0xad ... 0xb9] = MODRM, [0xba] = MODRM | BYTE,
    [0xbb ... 0xc1] = MODRM, [0xc2] = MODRM | BYTE,
    [0xc3] = MODRM,          [0xc4 ... 0xc6] = MODRM | BYTE,
    [0xc7] = MODRM,          [0xd0 ... 0xff] = MODRM,
};

static enum immediate shape_of_vector(struct amd64 *code)
{
    code->has_modrm = true;
    switch (code->map) {
    case AMD64_MAP_0F:
        if (code->opcode == 0x77)
            code->has_modrm = false;
        return (code->opcode >= 0x70 && code->opcode <= 0x73) || code->opcode == 0xc2 ||
                       (code->opcode >= 0xc4 && code->opcode <= 0xc6)
                   ? BYTE
                   : NONE;
    case AMD64_MAP_0F3A:
    case AMD64_MAP_XOP_8:
        return BYTE;
    case AMD64_MAP_XOP_A:
        return FAR_BRANCH; // as long as one
    default:
        return NONE;
    }
}

// Fields are read one by one: comparisons of several at once would wait for the bytes that were just written.
static enum immediate shape_of(struct amd64 *code)
{
    if (code->vector)
        return shape_of_vector(code);
    uint8_t map = code->map, opcode = code->opcode, shape = map == AMD64_MAP_0F3A ? MODRM | BYTE : MODRM;
    if (map <= AMD64_MAP_0F)
        shape = (map == AMD64_MAP_MAIN ? main_shapes : second_shapes)[opcode];
    code->has_modrm = shape & MODRM;
    if (shape == (MODRM | EXTRACT))
        return code->operand_16 || code->repeat_not ? TWO_BYTES : NONE;
    return (enum immediate)(shape & ~MODRM);
}

static void take_memory(struct amd64 *code, unsigned mode)
{
    struct amd64_memory *memory = &code->memory;
    unsigned rm = code->modrm & 7;
    bool whole_displacement = mode == 2, relative = mode == 0 && rm == 5;
    *memory = (struct amd64_memory){AMD64_NO_REGISTER, AMD64_NO_REGISTER, 0, false, 0};
    if (rm == 4) {
        uint8_t sib = take(code);
        unsigned base = sib & 7, index = (sib >> 3 & 7) | code->extend_index;
        memory->scale = sib >> 6;
        if (index != RSP)
            memory->index = (uint8_t)index;
        if (base == 5 && mode == 0)
            whole_displacement = true;
        else
            memory->base = (uint8_t)(base | code->extend_base);
    } else if (!relative) {
        memory->base = (uint8_t)(rm | code->extend_base);
    }
    if (whole_displacement || relative)
        memory->displacement = take_32(code);
    else if (mode == 1)
        memory->displacement = (int8_t)take(code);
    memory->plain =
        memory->base != AMD64_NO_REGISTER && memory->index == AMD64_NO_REGISTER && !code->address_32 && !code->segment;
}

static void take_modrm(struct amd64 *code)
{
    uint8_t modrm = take(code);
    code->modrm = modrm;
    code->reg_opcode = modrm >> 3 & 7;
    code->reg = code->reg_opcode | code->extend_reg;
    code->rm = (uint8_t)((modrm & 7) | code->extend_base);
    // Moves to and from control and debug registers have no memory form.
    code->is_memory =
        modrm >> 6 != 3 && !(code->map == AMD64_MAP_0F && !code->vector && code->opcode >> 2 == 0x20 >> 2);
    if (code->is_memory)
        take_memory(code, modrm >> 6);
}

static void take_immediate(struct amd64 *code, enum immediate kind)
{
    bool short_operand = code->operand_16 && !code->wide;
    switch (kind) {
    case BYTE:
        code->immediate = (int8_t)take(code);
        return;
    case WORD:
        code->immediate = take_16(code);
        return;
    case OPERAND:
        code->immediate = short_operand ? take_16(code) : take_32(code);
        return;
    case WHOLE_OPERAND:
        code->immediate = code->wide ? take_64(code) : short_operand ? take_16(code) : (int64_t)(uint32_t)take_32(code);
        return;
    case ADDRESS:
        code->immediate = code->address_32 ? take_32(code) : take_64(code);
        return;
    case FAR_BRANCH:
        code->immediate = take_32(code);
        return;
    case ENTER:
        code->immediate = (uint16_t)take_16(code);
        code->immediate |= (int64_t)take(code) << 16;
        return;
    case TWO_BYTES:
        take(code);
        take(code);
        return;
    default:
        return;
    }
}

// test is the one of its group that has an immediate.
static enum immediate shape_of_test(const struct amd64 *code, enum immediate kind)
{
    uint8_t opcode = code->opcode, operation = code->reg_opcode;
    if ((opcode & 0xfe) != 0xf6 || operation > 1 || code->map != AMD64_MAP_MAIN || code->vector)
        return kind;
    return opcode == 0xf6 ? BYTE : OPERAND;
}

// Two words rather than a copy byte by byte where there are enough: this runs for whole libraries.
static void copy_bytes(struct amd64 *code, const uint8_t *bytes, size_t length)
{
    enum { WORD_SIZE = 8, SECOND = AMD64_LONGEST - WORD_SIZE };
    if (length >= AMD64_LONGEST) {
        __builtin_memcpy(code->bytes, bytes, WORD_SIZE);
        __builtin_memcpy(code->bytes + SECOND, bytes + SECOND, WORD_SIZE);
        return;
    }
    for (size_t i = 0; i < length; i++)
        code->bytes[i] = bytes[i];
}

bool hs_amd64_take_apart(struct amd64 *code, const uint8_t *bytes, size_t length)
{
    copy_bytes(code, bytes, length);
    uint8_t first = take_prefixes(code);
    if (!take_opcode(code, first))
        return false;
    enum immediate kind = shape_of(code);
    if (kind == INVALID)
        return false;
    if (code->has_modrm) {
        take_modrm(code);
        kind = shape_of_test(code, kind);
    }
    take_immediate(code, kind);
    return code->at <= AMD64_LONGEST && code->at <= length;
}
