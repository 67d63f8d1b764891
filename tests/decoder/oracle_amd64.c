// SPDX-License-Identifier: MIT OR Apache-2.0
//
// capstone's view of AMD64.
#include "tests/decoder/oracle.h"

#include <string.h>

enum { NO_REGISTER = 0xff, RBP = 6, RSP = 7 };

static const struct {
    uint16_t capstone;
    uint8_t dwarf;
} registers[] = {
    {X86_REG_RBX, 3},   {X86_REG_EBX, 3},   {X86_REG_BX, 3},    {X86_REG_BL, 3},    {X86_REG_BH, 3},
    {X86_REG_RBP, 6},   {X86_REG_EBP, 6},   {X86_REG_BP, 6},    {X86_REG_BPL, 6},   {X86_REG_RSP, 7},
    {X86_REG_ESP, 7},   {X86_REG_SP, 7},    {X86_REG_SPL, 7},   {X86_REG_R12, 12},  {X86_REG_R12D, 12},
    {X86_REG_R12W, 12}, {X86_REG_R12B, 12}, {X86_REG_R13, 13},  {X86_REG_R13D, 13}, {X86_REG_R13W, 13},
    {X86_REG_R13B, 13}, {X86_REG_R14, 14},  {X86_REG_R14D, 14}, {X86_REG_R14W, 14}, {X86_REG_R14B, 14},
    {X86_REG_R15, 15},  {X86_REG_R15D, 15}, {X86_REG_R15W, 15}, {X86_REG_R15B, 15}, {X86_REG_RAX, 0},
    {X86_REG_RDX, 1},   {X86_REG_RCX, 2},   {X86_REG_RSI, 4},   {X86_REG_RDI, 5},   {X86_REG_R8, 8},
    {X86_REG_R9, 9},    {X86_REG_R10, 10},  {X86_REG_R11, 11},
};

static unsigned dwarf_number(unsigned reg)
{
    for (size_t i = 0; i < sizeof registers / sizeof *registers; i++)
        if (registers[i].capstone == reg)
            return registers[i].dwarf;
    return NO_REGISTER;
}

// A whole register.
static unsigned whole_number(const cs_x86_op *operand)
{
    return operand->type == X86_OP_REG && operand->size == 8 ? dwarf_number(operand->reg) : NO_REGISTER;
}

static bool is_tracked(unsigned reg)
{
    return reg == 3 || reg == RBP || (reg >= 12 && reg <= 15) || reg == RSP;
}

static void expect_flow(csh handle, const cs_insn *insn, struct oracle_view *view)
{
    const cs_x86_op *operand = &insn->detail->x86.operands[0];
    bool direct = insn->detail->x86.op_count == 1 && operand->type == X86_OP_IMM;
    switch (insn->id) {
    case X86_INS_CALL:
    case X86_INS_LCALL:
        view->flow = HS_FLOW_CALL;
        break;
    case X86_INS_JMP:
    case X86_INS_LJMP:
        view->flow = direct ? HS_FLOW_JUMP : HS_FLOW_INDIRECT;
        break;
    case X86_INS_RET:
    case X86_INS_RETF:
    case X86_INS_RETFQ:
    case X86_INS_IRET:
    case X86_INS_IRETD:
    case X86_INS_IRETQ:
        view->flow = HS_FLOW_RETURN;
        return;
    case X86_INS_HLT:
    case X86_INS_INT3:
    case X86_INS_UD0:
    case X86_INS_UD2:
    case X86_INS_UD2B:
        view->flow = HS_FLOW_STOP;
        return;
    case X86_INS_XBEGIN:
    case X86_INS_LOOP:
    case X86_INS_LOOPE:
    case X86_INS_LOOPNE:
        view->flow = HS_FLOW_BRANCH;
        break;
    default:
        if (!cs_insn_group(handle, insn, CS_GRP_JUMP))
            return;
        view->flow = HS_FLOW_BRANCH;
    }
    if (direct)
        view->target = (uint64_t)operand->imm;
}

static void value(struct oracle_view *view, unsigned reg, unsigned base, int64_t offset)
{
    if (reg != NO_REGISTER && base != NO_REGISTER)
        view->values[reg] = (struct oracle_value){true, (uint8_t)base, offset};
}

static bool plain_memory(const cs_x86_op *operand, unsigned *base)
{
    const x86_op_mem *memory = &operand->mem;
    *base = operand->type == X86_OP_MEM ? dwarf_number(memory->base) : NO_REGISTER;
    return *base != NO_REGISTER && memory->index == X86_REG_INVALID && memory->segment == X86_REG_INVALID;
}

static void expect_move(const cs_insn *insn, struct oracle_view *view)
{
    const cs_x86_op *to = &insn->detail->x86.operands[0], *from = &insn->detail->x86.operands[1];
    unsigned base;
    if (is_tracked(whole_number(to)) && plain_memory(from, &base) && insn->detail->x86.addr_size == 8)
        oracle_view__access(view, false, whole_number(to), base, from->mem.disp);
    else if (is_tracked(whole_number(from)) && plain_memory(to, &base) && insn->detail->x86.addr_size == 8)
        oracle_view__access(view, true, whole_number(from), base, to->mem.disp);
    else
        value(view, whole_number(to), whole_number(from), 0);
}

static void expect_push_and_pop(const cs_insn *insn, struct oracle_view *view)
{
    const cs_x86_op *operand = &insn->detail->x86.operands[0];
    unsigned reg = whole_number(operand);
    if (insn->id == X86_INS_PUSH || insn->id == X86_INS_PUSHFQ) {
        value(view, RSP, RSP, operand->size == 2 ? -2 : -8);
        if (insn->id == X86_INS_PUSH && is_tracked(reg) && reg != RSP)
            oracle_view__access(view, true, reg, RSP, -8);
    } else {
        if (reg != RSP)
            value(view, RSP, RSP, operand->size == 2 ? 2 : 8);
        if (insn->id == X86_INS_POP && is_tracked(reg))
            oracle_view__access(view, false, reg, RSP, 0);
    }
}

static void expect_values(const cs_insn *insn, struct oracle_view *view)
{
    const cs_x86 *detail = &insn->detail->x86;
    const cs_x86_op *to = &detail->operands[0], *by = &detail->operands[1];
    unsigned reg = whole_number(to), base;
    switch (insn->id) {
    case X86_INS_MOV:
    case X86_INS_MOVABS:
        expect_move(insn, view);
        return;
    case X86_INS_PUSH:
    case X86_INS_POP:
    case X86_INS_PUSHFQ:
    case X86_INS_POPFQ:
        expect_push_and_pop(insn, view);
        return;
    case X86_INS_LEA:
        if (plain_memory(by, &base) && detail->addr_size == 8)
            value(view, reg, base, by->mem.disp);
        return;
    case X86_INS_ADD:
    case X86_INS_SUB:
        if (by->type == X86_OP_IMM)
            value(view, reg, reg, insn->id == X86_INS_ADD ? by->imm : -by->imm);
        return;
    case X86_INS_INC:
    case X86_INS_DEC:
        value(view, reg, reg, insn->id == X86_INS_INC ? 1 : -1);
        return;
    case X86_INS_LEAVE:
        value(view, RSP, RBP, 8);
        oracle_view__access(view, false, RBP, RBP, 0);
        return;
    default:
        return;
    }
}

static void expect(csh handle, const cs_insn *insn, struct oracle_view *view)
{
    cs_regs reads, writes;
    uint8_t read_count, write_count;
    expect_flow(handle, insn, view);
    if (cs_regs_access(handle, insn, reads, &read_count, writes, &write_count) == CS_ERR_OK)
        for (unsigned i = 0; i < write_count; i++)
            if (dwarf_number(writes[i]) != NO_REGISTER)
                view->writes |= UINT64_C(1) << dwarf_number(writes[i]);
    if (view->flow == HS_FLOW_CALL || view->flow == HS_FLOW_RETURN) // what goes on the stack is gone after the return
        view->writes &= ~(UINT64_C(1) << RSP);
    expect_values(insn, view);
}

static const char *excuse(const cs_insn *insn, const struct oracle_view *ours, const struct oracle_view *theirs)
{
    (void)insn;
    (void)ours;
    (void)theirs;
    return NULL;
}

int main(int argc, char **argv)
{
    static const struct oracle oracle = {
        .name = "amd64",
        .decoder = &hs_decoder_amd64,
        .arch = CS_ARCH_X86,
        .mode = CS_MODE_64,
        .tracked = 1u << 3 | 1u << RBP | 1u << RSP | 0xfu << 12,
        .expect = expect,
        .excuse = excuse,
    };
    return oracle_run(&oracle, argc, argv);
}
