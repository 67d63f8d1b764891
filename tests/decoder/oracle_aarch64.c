// SPDX-License-Identifier: MIT OR Apache-2.0
//
// capstone's view of AArch64. Its memory operands are read from its text: the structured ones lack the write-back.
#include "tests/decoder/oracle.h"

#include <stdlib.h>
#include <string.h>

enum { NO_REGISTER = 0xff, SP = 31, LR = 30 };

static unsigned dwarf_number(unsigned reg)
{
    if (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28)
        return reg - ARM64_REG_X0;
    if (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W30)
        return reg - ARM64_REG_W0;
    if (reg == ARM64_REG_FP)
        return 29;
    if (reg == ARM64_REG_LR)
        return LR;
    return reg == ARM64_REG_SP || reg == ARM64_REG_WSP ? SP : NO_REGISTER;
}

// "x19", "sp": a whole register; advances past it.
static unsigned parse_register(const char **text)
{
    if (strncmp(*text, "sp", 2) == 0) {
        *text += 2;
        return SP;
    }
    char *end;
    if ((*text)[0] != 'x' || (*text)[1] < '0' || (*text)[1] > '9')
        return NO_REGISTER;
    unsigned number = (unsigned)strtoul(*text + 1, &end, 10);
    *text = end;
    return number;
}

struct memory {
    unsigned base;
    int64_t offset; // of the access
    bool moves;     // the base by `moves_by`, when that is a constant
    bool moves_known;
    int64_t moves_by;
    bool constant; // the access is at a constant offset
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
        memory->offset = (int64_t)strtoull(text + 3, (char **)&text, 0);
    else if (*text == ',')
        memory->constant = false;
    text = strchr(text, ']');
    if (text && strcmp(text, "]!") == 0) {
        memory->moves = true;
        memory->moves_by = memory->offset;
    } else if (text && text[1] == ',') {
        memory->moves = true;
        memory->moves_known = text[3] == '#';
        memory->moves_by = memory->moves_known ? (int64_t)strtoull(text + 4, NULL, 0) : 0;
    }
    return true;
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

static void expect_flow(csh handle, const cs_insn *insn, struct oracle_view *view)
{
    static const char *const stops[] = {"brk", "hlt", "dcps1", "dcps2", "dcps3", "drps", NULL};
    const char *name = insn->mnemonic;
    const cs_arm64 *detail = &insn->detail->arm64;
    bool branches = strncmp(name, "b.", 2) == 0 || strncmp(name, "cb", 2) == 0 || strncmp(name, "tb", 2) == 0;
    if (strcmp(name, "bl") == 0 || strcmp(name, "blr") == 0)
        view->flow = HS_FLOW_CALL;
    else if (strcmp(name, "b") == 0)
        view->flow = HS_FLOW_JUMP;
    else if (cs_insn_group(handle, insn, CS_GRP_JUMP) && branches)
        view->flow = HS_FLOW_BRANCH;
    else if (strcmp(name, "br") == 0)
        view->flow = strcmp(insn->op_str, "x30") == 0 ? HS_FLOW_RETURN : HS_FLOW_INDIRECT; // as longjmp() returns
    else if (strcmp(name, "ret") == 0 || strcmp(name, "eret") == 0)
        view->flow = HS_FLOW_RETURN;
    else if (is_one_of(name, stops))
        view->flow = HS_FLOW_STOP;
    bool direct = strcmp(name, "bl") == 0 || view->flow == HS_FLOW_JUMP || view->flow == HS_FLOW_BRANCH;
    if (direct && detail->op_count)
        view->target = (uint64_t)detail->operands[detail->op_count - 1].imm;
}

static void expect_accesses(const cs_insn *insn, const struct memory *memory, struct oracle_view *view)
{
    static const char *const loads[] = {"ldr", "ldur", "ldp", "ldnp", "ldtr", "ldar", NULL};
    static const char *const stores[] = {"str", "stur", "stp", "stnp", "sttr", "stlr", NULL};
    bool store = is_one_of(insn->mnemonic, stores);
    if ((!store && !is_one_of(insn->mnemonic, loads)) || !memory->constant)
        return;
    const char *text = insn->op_str;
    for (int64_t offset = memory->offset;; offset += 8) {
        bool zero = strncmp(text, "xzr", 3) == 0;
        unsigned reg = parse_register(&text);
        if (reg == NO_REGISTER && !zero)
            return;
        if (!zero && reg >= 19 && reg <= LR)
            oracle_view__access(view, store, reg, memory->base, offset);
        text = strchr(text, ',');
        if (!text)
            return;
        text += 2;
    }
}

static void expect_sum(const cs_insn *insn, struct oracle_view *view)
{
    const cs_arm64 *detail = &insn->detail->arm64;
    const cs_arm64_op *to = &detail->operands[0], *from = &detail->operands[1], *by = &detail->operands[2];
    bool moves = insn->id == ARM64_INS_MOV && detail->op_count == 2 && from->type == ARM64_OP_REG;
    bool sums = (insn->id == ARM64_INS_ADD || insn->id == ARM64_INS_SUB) && detail->op_count == 3 &&
                from->type == ARM64_OP_REG && by->type == ARM64_OP_IMM;
    if ((!moves && !sums) || insn->op_str[0] == 'w' || to->type != ARM64_OP_REG)
        return;
    unsigned reg = dwarf_number(to->reg), base = dwarf_number(from->reg);
    if (reg == NO_REGISTER || base == NO_REGISTER)
        return;
    int64_t value = sums ? by->imm << (by->shift.type == ARM64_SFT_LSL ? by->shift.value : 0) : 0;
    view->values[reg] = (struct oracle_value){true, (uint8_t)base, insn->id == ARM64_INS_SUB ? -value : value};
}

static void expect(csh handle, const cs_insn *insn, struct oracle_view *view)
{
    cs_regs reads, writes;
    uint8_t read_count, write_count;
    struct memory memory;
    expect_flow(handle, insn, view);
    if (cs_regs_access(handle, insn, reads, &read_count, writes, &write_count) == CS_ERR_OK)
        for (unsigned i = 0; i < write_count; i++)
            if (dwarf_number(writes[i]) != NO_REGISTER)
                view->writes |= UINT64_C(1) << dwarf_number(writes[i]);
    expect_sum(insn, view);
    if (!parse_memory(insn->op_str, &memory))
        return;
    expect_accesses(insn, &memory, view);
    if (memory.moves) {
        view->writes |= UINT64_C(1) << memory.base;
        view->values[memory.base] = (struct oracle_value){memory.moves_known, (uint8_t)memory.base, memory.moves_by};
    }
}

static const char *excuse(const cs_insn *insn, const struct oracle_view *ours, const struct oracle_view *theirs)
{
    static const char *const compares[] = {"cmp", "cmn", "tst", NULL};
    bool only_writes_differ = ours->flow == theirs->flow && ours->access_count == theirs->access_count;
    if (is_one_of(insn->mnemonic, compares) && only_writes_differ && ours->writes == 0)
        return "a comparison writes flags only; capstone has its first register written";
    if (strcmp(insn->mnemonic, "adds") == 0 && only_writes_differ && theirs->writes == 0)
        return "adds with an immediate writes its register; capstone has none written";
    if (strcmp(insn->mnemonic, "svc") == 0 && only_writes_differ && ours->writes == 1)
        return "svc gives its result in x0; capstone has x30 written";
    return NULL;
}

int main(int argc, char **argv)
{
    static const struct oracle oracle = {
        .name = "aarch64",
        .decoder = &hs_decoder_aarch64,
        .arch = CS_ARCH_ARM64,
        .mode = CS_MODE_LITTLE_ENDIAN,
        .tracked = UINT64_C(0x1fff) << 19, // x19-x28, x29, x30, sp
        .unknown_step = 4,
        .expect = expect,
        .excuse = excuse,
    };
    return oracle_run(&oracle, argc, argv);
}
