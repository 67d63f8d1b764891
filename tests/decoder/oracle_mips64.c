// SPDX-License-Identifier: MIT OR Apache-2.0
//
// capstone's view of MIPS64, in the byte order of each file. All registers are compared.
#include "tests/decoder/oracle.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

enum { NO_REGISTER = 0xff, RA = 31 };

static unsigned dwarf_number(unsigned reg)
{
    return reg >= MIPS_REG_0 && reg <= MIPS_REG_31 ? reg - MIPS_REG_0 : NO_REGISTER;
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

static bool starts_with_one_of(const char *name, const char *const *starts)
{
    for (; *starts; starts++)
        if (strncmp(name, *starts, strlen(*starts)) == 0)
            return true;
    return false;
}

static unsigned operand_register(const cs_insn *insn, unsigned number)
{
    const cs_mips *detail = &insn->detail->mips;
    if (number >= detail->op_count || detail->operands[number].type != MIPS_OP_REG)
        return NO_REGISTER;
    return dwarf_number(detail->operands[number].reg);
}

static int64_t last_immediate(const cs_insn *insn)
{
    const cs_mips *detail = &insn->detail->mips;
    return detail->op_count ? detail->operands[detail->op_count - 1].imm : 0;
}

static bool is_branch(const char *name)
{
    static const char *const branches[] = {"beq",   "bne",   "beqz", "bnez",  "blez",  "bgtz",  "bltz",
                                           "bgez",  "beql",  "bnel", "beqzl", "bnezl", "blezl", "bgtzl",
                                           "bltzl", "bgezl", "bc1t", "bc1f",  "bc1tl", "bc1fl", NULL};
    return is_one_of(name, branches);
}

static bool is_direct_call(const char *name)
{
    static const char *const calls[] = {"jal", "bal", "bgezal", "bltzal", NULL};
    return is_one_of(name, calls);
}

static bool is_register_call(const char *name)
{
    static const char *const calls[] = {"jalr", "jalr.hb", NULL};
    return is_one_of(name, calls);
}

// A call of the instruction after the delay slot asks for the pc and is none.
static bool asks_for_pc(const cs_insn *insn)
{
    return strcmp(insn->mnemonic, "jal") != 0 && (uint64_t)last_immediate(insn) == insn->address + 8;
}

static void expect_flow(const cs_insn *insn, struct oracle_view *view)
{
    static const char *const jumps[] = {"b", "j", NULL}, *const register_jumps[] = {"jr", "jr.hb", NULL};
    const char *name = insn->mnemonic;
    if (is_branch(name))
        view->flow = HS_FLOW_BRANCH;
    else if (is_register_call(name) || (is_direct_call(name) && !asks_for_pc(insn)))
        view->flow = HS_FLOW_CALL;
    else if (is_one_of(name, jumps))
        view->flow = HS_FLOW_JUMP;
    else if (is_one_of(name, register_jumps))
        view->flow = operand_register(insn, 0) == RA ? HS_FLOW_RETURN : HS_FLOW_INDIRECT;
    else if (strcmp(name, "break") == 0)
        view->flow = HS_FLOW_STOP;
    else if (strcmp(name, "teq") == 0 && operand_register(insn, 0) == operand_register(insn, 1))
        view->flow = HS_FLOW_STOP;
    view->delay_slot = view->flow != HS_FLOW_NEXT && view->flow != HS_FLOW_STOP;
    view->likely = view->flow == HS_FLOW_BRANCH && name[strlen(name) - 1] == 'l';
    if (view->delay_slot && !is_register_call(name) && !is_one_of(name, register_jumps))
        view->target = (uint64_t)last_immediate(insn);
}

// The first operand is the destination of all others.
static bool writes_nothing(const char *name)
{
    static const char *const starts[] = {"mult", "div", "dmult", "ddiv", "madd", "msub", "c.", "trunc.", NULL};
    static const char *const names[] = {"sb",    "sh",    "sw",    "sd",    "swl",  "swr",   "sdl",   "sdr",  "swc1",
                                        "sdc1",  "swxc1", "sdxc1", "lwc1",  "ldc1", "lwxc1", "ldxc1", "nop",  "ssnop",
                                        "ehb",   "sync",  "synci", "break", "teq",  "tne",   "tge",   "tgeu", "tlt",
                                        "tltu",  "mtc1",  "dmtc1", "mthc1", "ctc1", "mthi",  "mtlo",  "pref", "cache",
                                        "pause", "j",     "jr",    "jr.hb", "b",    NULL};
    return is_branch(name) || is_one_of(name, names) || starts_with_one_of(name, starts);
}

static void expect_writes(const cs_insn *insn, struct oracle_view *view)
{
    unsigned reg = NO_REGISTER;
    if (is_direct_call(insn->mnemonic))
        reg = RA;
    else if (is_register_call(insn->mnemonic))
        reg = insn->detail->mips.op_count == 2 ? operand_register(insn, 0) : RA;
    else if (!writes_nothing(insn->mnemonic))
        reg = operand_register(insn, 0);
    if (reg != NO_REGISTER && reg != 0)
        view->writes |= UINT64_C(1) << reg;
}

static void expect_sum(const cs_insn *insn, struct oracle_view *view)
{
    bool moves = strcmp(insn->mnemonic, "move") == 0, sums = strcmp(insn->mnemonic, "daddiu") == 0;
    unsigned reg = operand_register(insn, 0), base = operand_register(insn, 1);
    if ((moves || sums) && reg != NO_REGISTER && base != NO_REGISTER && base != 0)
        view->values[reg] = (struct oracle_value){true, (uint8_t)base, sums ? last_immediate(insn) : 0};
}

static void expect_accesses(const cs_insn *insn, struct oracle_view *view)
{
    bool store = strcmp(insn->mnemonic, "sd") == 0;
    unsigned reg = operand_register(insn, 0);
    const mips_op_mem *memory = &insn->detail->mips.operands[1].mem;
    if ((store || strcmp(insn->mnemonic, "ld") == 0) && reg != NO_REGISTER && reg != 0)
        oracle_view__access(view, store, reg, dwarf_number(memory->base), memory->disp);
}

static void expect(csh handle, const cs_insn *insn, struct oracle_view *view)
{
    (void)handle;
    expect_flow(insn, view);
    expect_writes(insn, view);
    expect_sum(insn, view);
    expect_accesses(insn, view);
}

static const char *excuse(const cs_insn *insn, const struct oracle_view *ours, const struct oracle_view *theirs)
{
    if (strcmp(insn->mnemonic, "syscall") == 0 && ours->flow == theirs->flow && ours->access_count == 0)
        return "a system call gives results and keeps no temporary register; capstone has none written";
    return NULL;
}

static bool is_big_endian(const char *path)
{
    unsigned char ident[EI_NIDENT] = {0};
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    size_t read = fread(ident, 1, sizeof ident, file);
    fclose(file);
    return read == sizeof ident && ident[EI_DATA] == ELFDATA2MSB;
}

// Those of the files that have the byte order.
static int run(const char *name, const struct hs_decoder *decoder, bool big_endian, int argc, char **argv)
{
    unsigned mode = (unsigned)CS_MODE_MIPS64 | (big_endian ? (unsigned)CS_MODE_BIG_ENDIAN : 0);
    const struct oracle oracle = {
        .name = name,
        .decoder = decoder,
        .arch = CS_ARCH_MIPS,
        .mode = (cs_mode)mode,
        .tracked = UINT64_C(0xfffffffe),
        .unknown_step = 4,
        .expect = expect,
        .excuse = excuse,
    };
    char *files[64];
    int count = 1;
    files[0] = argv[0];
    for (int i = 1; i < argc && count < 64; i++)
        if (is_big_endian(argv[i]) == big_endian)
            files[count++] = argv[i];
    return oracle_run(&oracle, count, files);
}

int main(int argc, char **argv)
{
    int little = run("mips64el", &hs_decoder_mips64el, false, argc, argv);
    int big = run("mips64", &hs_decoder_mips64, true, argc, argv);
    return little || big;
}
