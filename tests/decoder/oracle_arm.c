// SPDX-License-Identifier: MIT OR Apache-2.0
//
// capstone's view of ARM and Thumb code. Memory operands are read from its text, which is more often right than the
// structured ones. With ORACLE_THUMB for Thumb code, without for ARM code.
#include "tests/decoder/oracle.h"

#include <stdlib.h>
#include <string.h>

enum { NO_REGISTER = 0xff, SP = 13, LR = 14, PC = 15 };

#define TRACKED UINT64_C(0x6ff0) // r4-r11, sp, lr

#ifdef ORACLE_THUMB
static const bool thumb = true;
#else
static const bool thumb = false;
#endif
static bool lr_is_next;       // the instruction before was `mov lr, pc`
static uint64_t next_address; // if capstone knows the next instruction
static unsigned block_left;   // instructions of the IT block that are still to come
static unsigned block_broken; // instructions that may be in a block or not

static unsigned dwarf_number(unsigned reg)
{
    if (reg >= ARM_REG_R0 && reg <= ARM_REG_R12)
        return reg - ARM_REG_R0;
    return reg == ARM_REG_SP ? SP : reg == ARM_REG_LR ? LR : reg == ARM_REG_PC ? PC : NO_REGISTER;
}

static const struct {
    const char name[4];
    unsigned number;
} register_names[] = {{"r10", 10}, {"r11", 11}, {"r12", 12}, {"r0", 0},  {"r1", 1},  {"r2", 2}, {"r3", 3},
                      {"r4", 4},   {"r5", 5},   {"r6", 6},   {"r7", 7},  {"r8", 8},  {"r9", 9}, {"sb", 9},
                      {"sl", 10},  {"fp", 11},  {"ip", 12},  {"sp", SP}, {"lr", LR}, {"pc", PC}};

// Advances past a register's name.
static unsigned parse_register(const char **text)
{
    for (size_t i = 0; i < sizeof register_names / sizeof register_names[0]; i++) {
        size_t length = strlen(register_names[i].name);
        if (strncmp(*text, register_names[i].name, length) == 0) {
            *text += length;
            return register_names[i].number;
        }
    }
    return NO_REGISTER;
}

struct memory {
    unsigned base;
    int64_t offset;   // of the access
    bool constant;    // the access is at a constant offset
    bool moves;       // the base
    bool moves_known; // by a constant
    int64_t moves_by;
};

static bool parse_memory(const char *operands, struct memory *memory)
{
    const char *text = strchr(operands, '[');
    *memory = (struct memory){.constant = true, .moves_known = true};
    if (!text)
        return false;
    text++;
    memory->base = parse_register(&text);
    if (memory->base == NO_REGISTER)
        return false;
    if (strncmp(text, ", #", 3) == 0)
        memory->offset = strtoll(text + 3, (char **)&text, 0);
    else if (*text == ',')
        memory->constant = false;
    text = strchr(text, ']');
    if (text && text[1] == '!') {
        memory->moves = true;
        memory->moves_known = memory->constant;
        memory->moves_by = memory->offset;
    } else if (text && text[1] == ',') {
        memory->moves = true;
        memory->moves_known = text[3] == '#';
        memory->moves_by = memory->moves_known ? strtoll(text + 4, NULL, 0) : 0;
    }
    return true;
}

static bool tracked(unsigned reg)
{
    return reg < 32 && TRACKED >> reg & 1;
}

static bool is_list(unsigned id)
{
    return id == ARM_INS_PUSH || id == ARM_INS_POP || id == ARM_INS_LDM || id == ARM_INS_LDMDA || id == ARM_INS_LDMDB ||
           id == ARM_INS_LDMIB || id == ARM_INS_STM || id == ARM_INS_STMDA || id == ARM_INS_STMDB ||
           id == ARM_INS_STMIB;
}

static bool list_loads(unsigned id)
{
    return id == ARM_INS_POP || id == ARM_INS_LDM || id == ARM_INS_LDMDA || id == ARM_INS_LDMDB || id == ARM_INS_LDMIB;
}

// "{r4, r5, lr}"
static uint32_t parse_list(const char *operands)
{
    const char *text = strchr(operands, '{');
    uint32_t list = 0;
    while (text && *text && *text != '}') {
        text += *text == '{' ? 1 : 2;
        unsigned reg = parse_register(&text);
        if (reg == NO_REGISTER)
            break;
        list |= 1u << reg;
    }
    return list;
}

static void expect_list(const cs_insn *insn, struct oracle_view *view)
{
    const char *text = insn->op_str;
    uint32_t list = parse_list(text);
    unsigned id = insn->id, base = id == ARM_INS_PUSH || id == ARM_INS_POP ? SP : parse_register(&text);
    int64_t bytes = 4 * __builtin_popcount(list), at = 0;
    bool load = list_loads(id), down = id == ARM_INS_PUSH || id == ARM_INS_LDMDB || id == ARM_INS_STMDB;
    bool moves = id == ARM_INS_PUSH || id == ARM_INS_POP || strchr(insn->op_str, '!');
    if (id == ARM_INS_LDMIB || id == ARM_INS_STMIB)
        at = 4;
    if (id == ARM_INS_LDMDA || id == ARM_INS_STMDA) {
        at = 4 - bytes;
        down = true;
    } else if (down) {
        at = -bytes;
    }
    for (unsigned reg = 0; reg < 16; reg++) {
        if (!(list >> reg & 1))
            continue;
        if (tracked(reg) && base != PC)
            oracle_view__access(view, !load, reg, base, at);
        if (load)
            view->writes |= UINT64_C(1) << reg;
        at += 4;
    }
    if (moves && !(load && list >> base & 1)) {
        view->writes |= UINT64_C(1) << base;
        view->values[base] = (struct oracle_value){true, (uint8_t)base, down ? -bytes : bytes};
    }
}

static void expect_memory(const cs_insn *insn, struct oracle_view *view)
{
    struct memory memory;
    bool load = insn->id == ARM_INS_LDR || insn->id == ARM_INS_LDRD || insn->id == ARM_INS_LDRT;
    bool store = insn->id == ARM_INS_STR || insn->id == ARM_INS_STRD || insn->id == ARM_INS_STRT;
    bool two = insn->id == ARM_INS_LDRD || insn->id == ARM_INS_STRD;
    const char *text = insn->op_str;
    unsigned first, second = NO_REGISTER;
    if (!parse_memory(text, &memory))
        return;
    if (memory.moves) {
        view->writes |= UINT64_C(1) << memory.base;
        view->values[memory.base] = (struct oracle_value){memory.moves_known, (uint8_t)memory.base, memory.moves_by};
    }
    if ((!load && !store) || !memory.constant || memory.base == PC)
        return;
    first = parse_register(&text);
    if (two && *text == ',') {
        text += 2;
        second = parse_register(&text);
    }
    if (load && (first == memory.base || second == memory.base))
        view->values[memory.base].known = false; // with a write-back that is unpredictable
    if (tracked(first))
        oracle_view__access(view, store, first, memory.base, memory.offset);
    if (tracked(second))
        oracle_view__access(view, store, second, memory.base, memory.offset + 4);
}

static bool writes_pc(const cs_insn *insn)
{
    const cs_arm *detail = &insn->detail->arm;
    return detail->op_count && detail->operands[0].type == ARM_OP_REG && detail->operands[0].reg == ARM_REG_PC;
}

static bool operand_is(const cs_insn *insn, unsigned which, arm_reg reg)
{
    const cs_arm *detail = &insn->detail->arm;
    return detail->op_count > which && detail->operands[which].type == ARM_OP_REG &&
           detail->operands[which].reg == (int)reg;
}

static enum hs_flow flow_of_move(const cs_insn *insn)
{
    if (!thumb && insn->bytes[2] & 0x10)
        return HS_FLOW_RETURN; // from an exception
    return insn->id == ARM_INS_MOV && operand_is(insn, 1, ARM_REG_LR) ? HS_FLOW_RETURN : HS_FLOW_INDIRECT;
}

static enum hs_flow flow_of(const cs_insn *insn, bool conditional)
{
    struct memory memory;
    switch (insn->id) {
    case ARM_INS_B:
        return conditional ? HS_FLOW_BRANCH : HS_FLOW_JUMP;
    case ARM_INS_CBZ:
    case ARM_INS_CBNZ:
        return HS_FLOW_BRANCH;
    case ARM_INS_BL:
    case ARM_INS_BLX:
        return HS_FLOW_CALL;
    case ARM_INS_BX:
    case ARM_INS_BXJ:
        return operand_is(insn, 0, ARM_REG_LR) ? HS_FLOW_RETURN : HS_FLOW_INDIRECT;
    case ARM_INS_TBB:
    case ARM_INS_TBH:
        return HS_FLOW_INDIRECT;
    case ARM_INS_UDF:
    case ARM_INS_HLT:
    case ARM_INS_TRAP:
        return HS_FLOW_STOP;
    case ARM_INS_LDR:
        if (!writes_pc(insn))
            return HS_FLOW_NEXT;
        return parse_memory(insn->op_str, &memory) && memory.base == SP && memory.constant ? HS_FLOW_RETURN
                                                                                           : HS_FLOW_INDIRECT;
    case ARM_INS_ADC:
    case ARM_INS_ADD:
    case ARM_INS_AND:
    case ARM_INS_ASR:
    case ARM_INS_BIC:
    case ARM_INS_EOR:
    case ARM_INS_LSL:
    case ARM_INS_LSR:
    case ARM_INS_MOV:
    case ARM_INS_MVN:
    case ARM_INS_ORR:
    case ARM_INS_ROR:
    case ARM_INS_RRX:
    case ARM_INS_RSB:
    case ARM_INS_RSC:
    case ARM_INS_SBC:
    case ARM_INS_SUB:
    case ARM_INS_ADR:
        return writes_pc(insn) && !(thumb && insn->size == 4) ? flow_of_move(insn) : HS_FLOW_NEXT;
    default:
        if (is_list(insn->id) && list_loads(insn->id) && parse_list(insn->op_str) >> PC)
            return HS_FLOW_RETURN;
        return HS_FLOW_NEXT;
    }
}

static bool is_direct(unsigned id)
{
    return id == ARM_INS_B || id == ARM_INS_BL || id == ARM_INS_BLX || id == ARM_INS_CBZ || id == ARM_INS_CBNZ;
}

static void expect_flow(const cs_insn *insn, struct oracle_view *view)
{
    const cs_arm *detail = &insn->detail->arm;
    bool conditional = detail->cc != ARM_CC_AL && detail->cc != ARM_CC_INVALID;
    bool to_thumb = insn->id == ARM_INS_BLX ? !thumb : thumb;
    view->flow = flow_of(insn, conditional);
    view->conditional = conditional && view->flow != HS_FLOW_BRANCH && insn->id != ARM_INS_IT;
    if (view->flow == HS_FLOW_INDIRECT && lr_is_next)
        view->flow = HS_FLOW_CALL;
    for (unsigned i = 0; is_direct(insn->id) && i < detail->op_count; i++)
        if (detail->operands[i].type == ARM_OP_IMM)
            view->target = (uint64_t)(int64_t)detail->operands[i].imm | to_thumb;
}

// add, sub and mov of registers and constants.
static void expect_sum(const cs_insn *insn, struct oracle_view *view)
{
    const cs_arm *detail = &insn->detail->arm;
    const cs_arm_op *to = &detail->operands[0], *last = &detail->operands[detail->op_count ? detail->op_count - 1 : 0];
    bool adds = insn->id == ARM_INS_ADD || insn->id == ARM_INS_ADDW,
         subtracts = insn->id == ARM_INS_SUB || insn->id == ARM_INS_SUBW;
    bool moves = insn->id == ARM_INS_MOV && detail->op_count == 2 && last->type == ARM_OP_REG;
    const cs_arm_op *from = moves || detail->op_count == 3 ? &detail->operands[1] : to;
    if (!moves &&
        !((adds || subtracts) && last->type == ARM_OP_IMM && (detail->op_count == 2 || detail->op_count == 3)))
        return;
    if (to->type != ARM_OP_REG || from->type != ARM_OP_REG || last->shift.type != ARM_SFT_INVALID)
        return;
    unsigned reg = dwarf_number((unsigned)to->reg), base = dwarf_number((unsigned)from->reg);
    int64_t value = moves ? 0 : subtracts ? -(int64_t)last->imm : last->imm;
    if (tracked(reg) && base < PC)
        view->values[reg] = (struct oracle_value){true, (uint8_t)base, (int32_t)value};
}

// capstone leaves out what these do to sp.
static void expect_vectors(const cs_insn *insn, struct oracle_view *view)
{
    const cs_arm *detail = &insn->detail->arm;
    int64_t bytes = detail->op_count * (detail->operands[0].reg >= ARM_REG_S0 ? 4 : 8);
    view->writes |= UINT64_C(1) << SP;
    view->values[SP] = (struct oracle_value){true, SP, insn->id == ARM_INS_VPUSH ? -bytes : bytes};
}

// A block in a block is unpredictable, and so is one that is executed never; of some instructions capstone has no
// conditional form, some it does not know, and loses count there. All that occurs in literals only.
static void follow_blocks(const cs_insn *insn)
{
    bool in_block = block_left > 0, begins = insn->id == ARM_INS_IT, always = insn->detail->arm.cc == ARM_CC_AL;
    block_left -= in_block;
    block_broken -= block_broken > 0;
    if (in_block && (begins || always || insn->address != next_address))
        block_broken = 5;
    next_address = insn->address + insn->size;
    if (begins && strcmp(insn->op_str, "al") == 0)
        block_broken = 5;
    if (begins)
        block_left = (unsigned)strlen(insn->mnemonic) - 1; // it, itt, ...
}

static void expect(csh handle, const cs_insn *insn, struct oracle_view *view)
{
    cs_regs reads, writes;
    uint8_t read_count, write_count;
    follow_blocks(insn);
    expect_flow(insn, view);
    lr_is_next =
        !thumb && insn->id == ARM_INS_MOV && operand_is(insn, 0, ARM_REG_LR) && operand_is(insn, 1, ARM_REG_PC);
    if (is_list(insn->id)) {
        expect_list(insn, view);
        return;
    }
    if (cs_regs_access(handle, insn, reads, &read_count, writes, &write_count) == CS_ERR_OK)
        for (unsigned i = 0; i < write_count; i++)
            if (dwarf_number(writes[i]) != NO_REGISTER)
                view->writes |= UINT64_C(1) << dwarf_number(writes[i]);
    if (view->flow == HS_FLOW_CALL)
        view->writes = 0; // the decoder leaves what a call does to registers to the convention
    if (insn->id == ARM_INS_SVC)
        view->writes &= ~(UINT64_C(1) << LR); // that is the kernel's
    if (insn->id == ARM_INS_VPUSH || insn->id == ARM_INS_VPOP)
        expect_vectors(insn, view);
    expect_sum(insn, view);
    expect_memory(insn, view);
}

static const char *excuse(const cs_insn *insn, const struct oracle_view *ours, const struct oracle_view *theirs)
{
    bool from_coprocessor =
        insn->id == ARM_INS_MRC || insn->id == ARM_INS_MRC2 || insn->id == ARM_INS_MRRC || insn->id == ARM_INS_MRRC2;
    if (from_coprocessor && ours->writes && !theirs->writes)
        return "capstone does not say what is read from a coprocessor";
    if (block_broken && ours->target == theirs->target && !((ours->writes ^ theirs->writes) & TRACKED))
        return "an IT block that is unpredictable or that capstone miscounts";
    if (insn->id == ARM_INS_RFEIA || insn->id == ARM_INS_RFEIB || insn->id == ARM_INS_RFEDA ||
        insn->id == ARM_INS_RFEDB)
        return "the kernel's instructions are not decoded";
    if ((ours->writes ^ theirs->writes) & TRACKED && strstr(insn->op_str, "], {"))
        return "capstone takes a coprocessor's option for a write-back";
    if (strncmp(insn->mnemonic, "vld", 3) == 0 || strncmp(insn->mnemonic, "vst", 3) == 0)
        if ((ours->writes ^ theirs->writes) & TRACKED && strstr(insn->op_str, "], "))
            return "capstone misses the write-back of structures";
    return NULL;
}

int main(int argc, char **argv)
{
    static const struct oracle oracle = {
#ifdef ORACLE_THUMB
        .name = "thumb",
        .decoder = &hs_decoder_thumb,
        .mode = CS_MODE_THUMB | CS_MODE_V8,
#else
        .name = "arm",
        .decoder = &hs_decoder_arm,
        .mode = CS_MODE_ARM | CS_MODE_V8,
#endif
        .arch = CS_ARCH_ARM,
        .tracked = TRACKED,
        .expect = expect,
        .excuse = excuse,
    };
    return oracle_run(&oracle, argc, argv);
}
