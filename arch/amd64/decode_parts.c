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
    INVALID,
};

static uint8_t take(struct amd64 *code)
{
    if (code->at >= code->length) {
        code->cut = true;
        return 0;
    }
    return code->code[code->at++];
}

static int32_t take_32(struct amd64 *code)
{
    uint32_t value = take(code);
    value |= (uint32_t)take(code) << 8;
    value |= (uint32_t)take(code) << 16;
    return (int32_t)(value | (uint32_t)take(code) << 24);
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
    bool xop = byte == 0x8f && code->at < code->length && (code->code[code->at] & 0x1f) >= AMD64_MAP_XOP_8;
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

static enum immediate shape_of_main(struct amd64 *code)
{
    uint8_t opcode = code->opcode;
    if (opcode < 0x40) {
        code->has_modrm = (opcode & 7) < 4;
        return (opcode & 7) == 4 ? BYTE : (opcode & 7) == 5 ? OPERAND : (opcode & 7) < 4 ? NONE : INVALID;
    }
    switch (opcode) {
    case 0x63:
    case 0x84 ... 0x8f:
    case 0xd0 ... 0xd3:
    case 0xd8 ... 0xdf:
    case 0xf6:
    case 0xf7:
    case 0xfe:
    case 0xff:
        code->has_modrm = true;
        return NONE;
    case 0x69:
    case 0x81:
    case 0xc7:
        code->has_modrm = true;
        return OPERAND;
    case 0x6b:
    case 0x80:
    case 0x83:
    case 0xc0:
    case 0xc1:
    case 0xc6:
        code->has_modrm = true;
        return BYTE;
    case 0x68:
    case 0xa9:
        return OPERAND;
    case 0x6a:
    case 0x70 ... 0x7f:
    case 0xa8:
    case 0xb0 ... 0xb7:
    case 0xcd:
    case 0xe0 ... 0xe7:
    case 0xeb:
        return BYTE;
    case 0xa0 ... 0xa3:
        return ADDRESS;
    case 0xb8 ... 0xbf:
        return WHOLE_OPERAND;
    case 0xc2:
    case 0xca:
        return WORD;
    case 0xc8:
        return ENTER;
    case 0xe8:
    case 0xe9:
        return FAR_BRANCH;
    case 0x60:
    case 0x61:
    case 0x82:
    case 0x9a:
    case 0xce:
    case 0xd4 ... 0xd6:
    case 0xea:
        return INVALID;
    default:
        return NONE;
    }
}

static enum immediate shape_of_0f(struct amd64 *code)
{
    code->has_modrm = true;
    switch (code->opcode) {
    case 0x04:
    case 0x0a:
    case 0x0c:
    case 0x24 ... 0x27:
    case 0x36:
    case 0x39:
    case 0x3b ... 0x3f:
    case 0x7a:
    case 0x7b:
        return INVALID;
    case 0x05 ... 0x09:
    case 0x0b:
    case 0x0e:
    case 0x30 ... 0x35:
    case 0x37:
    case 0x77:
    case 0xa0 ... 0xa2:
    case 0xa8 ... 0xaa:
    case 0xc8 ... 0xcf:
        code->has_modrm = false;
        return NONE;
    case 0x80 ... 0x8f:
        code->has_modrm = false;
        return FAR_BRANCH;
    case 0x0f:
    case 0x70 ... 0x73:
    case 0xa4:
    case 0xac:
    case 0xba:
    case 0xc2:
    case 0xc4 ... 0xc6:
        return BYTE;
    case 0x78: // extrq, insertq
        return code->operand_16 || code->repeat_not ? TWO_BYTES : NONE;
    default:
        return NONE;
    }
}

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

static enum immediate shape_of(struct amd64 *code)
{
    if (code->vector)
        return shape_of_vector(code);
    if (code->map == AMD64_MAP_MAIN)
        return shape_of_main(code);
    if (code->map == AMD64_MAP_0F)
        return shape_of_0f(code);
    code->has_modrm = true;
    return code->map == AMD64_MAP_0F3A ? BYTE : NONE;
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
    if (code->map != AMD64_MAP_MAIN || code->vector || code->reg_opcode > 1)
        return kind;
    return code->opcode == 0xf6 ? BYTE : code->opcode == 0xf7 ? OPERAND : kind;
}

bool hs_amd64_take_apart(struct amd64 *code)
{
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
    return !code->cut;
}
