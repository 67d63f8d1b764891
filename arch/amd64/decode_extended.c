// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The two-byte opcodes of AMD64 and those behind them, vectors among them: which of them write general registers.
#include "arch/amd64/effects.h"

static void clobber_three(struct view *view, unsigned first, unsigned second, unsigned third)
{
    clobber(view, first);
    clobber(view, second);
    clobber(view, third);
}

// Opcode 0f 01: system registers; its register forms are instructions of their own.
static void system_group(struct view *view)
{
    const struct amd64 *code = view->code;
    if (code->reg_opcode == 4)
        clobber_rm(view);
    else if (!code->is_memory && (code->modrm == 0xd0 || code->modrm == 0xee || code->modrm == 0xf9 ||
                                  code->modrm == 0xfd)) // xgetbv, rdpkru, rdtscp, rdpru
        clobber_three(view, RAX, RDX, RCX);
    else if (code->modrm == 0xc0 || code->modrm == 0xc1 || code->modrm == 0xcf || code->modrm == 0xd7)
        clobber_three(view, RAX, RBX, RCX); // calls of hypervisors and enclaves
}

// Opcode 0f c7.
static void exchange_pair_group(struct view *view)
{
    if (view->code->is_memory && view->code->reg_opcode == 1) {
        clobber(view, RAX);
        clobber(view, RDX);
    } else if (view->code->reg_opcode >= 6) {
        clobber_rm(view); // random numbers
    }
}

static bool map_0f_high(struct view *view)
{
    const struct amd64 *code = view->code;
    switch (code->opcode) {
    case 0x80 ... 0x8f:
        branch_on_condition(view);
        return true;
    case 0x90 ... 0x9f:
        clobber_rm_byte(view);
        return true;
    case 0xa0:
    case 0xa8:
        move_sp(view, -stack_word(view));
        return true;
    case 0xa1:
    case 0xa9:
        move_sp(view, stack_word(view));
        return true;
    case 0xa2:
        clobber(view, RBX);
        clobber_three(view, RAX, RCX, RDX);
        return true;
    case 0xa4:
    case 0xa5:
    case 0xab:
    case 0xac:
    case 0xad:
    case 0xb3:
    case 0xbb:
        clobber_rm(view);
        return true;
    case 0xae:
        if (code->repeat && code->reg_opcode < 2) // rdfsbase
            clobber_rm(view);
        return true;
    case 0xaf:
    case 0xb2:
    case 0xb4 ... 0xb8:
    case 0xbc ... 0xbf:
    case 0xc5:
    case 0xd7:
        clobber_reg(view);
        return true;
    case 0xb0:
    case 0xb1:
        clobber(view, RAX);
        clobber_rm_sized(view);
        return true;
    case 0xba:
        if (code->reg_opcode > 4)
            clobber_rm(view);
        return code->reg_opcode >= 4;
    case 0xc0:
        clobber_rm_byte(view);
        clobber_byte(view, code->reg);
        return true;
    case 0xc1:
        clobber_rm(view);
        clobber_reg(view);
        return true;
    case 0xc3:
        store_to_memory(view);
        return code->is_memory;
    case 0xc7:
        exchange_pair_group(view);
        return true;
    case 0xc8 ... 0xcf:
        clobber(view, (code->opcode & 7) | code->extend_base);
        return true;
    case 0xb9:
    case 0xff:
        flow(view, HS_FLOW_STOP);
        return true;
    default:
        return true;
    }
}

bool hs_amd64_effects_0f(struct view *view)
{
    const struct amd64 *code = view->code;
    switch (code->opcode) {
    case 0x00:
        if (code->reg_opcode < 2)
            clobber_rm(view);
        return true;
    case 0x01:
        system_group(view);
        return true;
    case 0x02:
    case 0x03:
    case 0x40 ... 0x4f:
    case 0x50:
        clobber_reg(view);
        return true;
    case 0x05:
        clobber_three(view, RAX, RCX, R11);
        return true;
    case 0x07:
    case 0x34:
    case 0x35:
    case 0xaa:
        flow(view, HS_FLOW_RETURN);
        return true;
    case 0x0b:
        flow(view, HS_FLOW_STOP);
        return true;
    case 0x1e: // rdssp
        if (code->repeat && code->reg_opcode == 1)
            clobber_rm(view);
        return true;
    case 0x20:
    case 0x21:
        clobber_rm(view);
        return true;
    case 0x2c:
    case 0x2d:
        if (code->repeat || code->repeat_not)
            clobber_reg(view);
        return true;
    case 0x31 ... 0x33:
        clobber(view, RAX);
        clobber(view, RDX);
        return true;
    case 0x37:
        clobber_three(view, RAX, RBX, RCX);
        return true;
    case 0x78:
        if (!code->operand_16 && !code->repeat_not)
            clobber_rm(view);
        return true;
    case 0x7e:
        if (!code->repeat)
            clobber_rm(view);
        return true;
    default:
        return map_0f_high(view);
    }
}

static void map_0f38(struct view *view)
{
    bool sums = view->code->repeat_not;
    switch (view->code->opcode) {
    case 0xf0:
        clobber_reg(view);
        return;
    case 0xf1:
        if (sums)
            clobber_reg(view);
        return;
    case 0xf6:
        if (view->code->operand_16 || view->code->repeat)
            clobber_reg(view);
        return;
    default:
        return;
    }
}

static void map_0f3a(struct view *view)
{
    uint8_t opcode = view->code->opcode;
    if (opcode >= 0x14 && opcode <= 0x17)
        clobber_rm(view);
    else if (opcode == 0x61 || opcode == 0x63)
        clobber(view, RCX);
    else if (view->code->vector && opcode == 0xf0)
        clobber_reg(view);
}

static void vector_0f38(struct view *view)
{
    const struct amd64 *code = view->code;
    switch (code->opcode) {
    case 0xe0 ... 0xef: // cmpccxadd
        clobber_reg(view);
        clobber(view, code->vector_reg);
        return;
    case 0xf2:
    case 0xf5:
    case 0xf7:
        clobber_reg(view);
        return;
    case 0xf3:
        clobber(view, code->vector_reg);
        return;
    case 0xf6: // mulx
        clobber_reg(view);
        clobber(view, code->vector_reg);
        return;
    default:
        return;
    }
}

static void vector_0f(struct view *view)
{
    const struct amd64 *code = view->code;
    bool scalar = code->repeat || code->repeat_not;
    switch (code->opcode) {
    case 0x2c:
    case 0x2d:
    case 0x78:
    case 0x79:
        if (scalar)
            clobber_reg(view);
        return;
    case 0x50:
    case 0x93:
    case 0xc5:
    case 0xd7:
        clobber_reg(view);
        return;
    case 0x7e:
        if (code->operand_16)
            clobber_rm(view);
        return;
    default:
        return;
    }
}

static void vector_xop(struct view *view)
{
    const struct amd64 *code = view->code;
    if (code->map == AMD64_MAP_XOP_9 && (code->opcode == 0x01 || code->opcode == 0x02))
        clobber(view, code->vector_reg);
    else if (code->map == AMD64_MAP_XOP_9 && code->opcode == 0x12)
        clobber_rm(view);
    else if (code->map == AMD64_MAP_XOP_A && code->opcode == 0x10)
        clobber_reg(view);
}

static bool vector(struct view *view)
{
    switch (view->code->map) {
    case AMD64_MAP_0F:
    case AMD64_MAP_EVEX_5:
        vector_0f(view);
        return true;
    case AMD64_MAP_0F38:
        vector_0f38(view);
        return true;
    case AMD64_MAP_0F3A:
        map_0f3a(view);
        return true;
    default:
        vector_xop(view);
        return true;
    }
}

bool hs_amd64_effects_extended(struct view *view)
{
    if (view->code->vector)
        return vector(view);
    if (view->code->map == AMD64_MAP_0F38)
        map_0f38(view);
    else
        map_0f3a(view);
    return true;
}
