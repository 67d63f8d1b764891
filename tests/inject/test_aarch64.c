// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Instructions of AArch64 that make room for a patch: what is moved does the same at its new place, as capstone reads
// it. Argument: a library for AArch64, all of whose functions are tried.
#include "host/inject/arch.h"
#include "host/inject/modules.h"
#include "tests/suite.h"

#include <capstone/capstone.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 8, UNIT = 4 };

#define FUNCTION 0x40201230u
#define PLACE    0x3ff00040u
#define PACIASP  0xd503233fu
#define BTI_C    0xd503245fu
#define OTHER    0xd65f03c0u // ret

static csh handle;
static const char *library;

// ---- what moved code does ------------------------------------------------------------------------------------------

struct reading {
    const uint8_t *code;
    size_t length;
    uint64_t at;
    cs_insn *insn;
    uint64_t constants[32];
    bool is_constant[32];
};

static bool next(struct reading *reading)
{
    return cs_disasm_iter(handle, &reading->code, &reading->length, &reading->at, reading->insn);
}

static unsigned number_of(arm64_reg reg)
{
    if (reg == ARM64_REG_X29 || reg == ARM64_REG_X30)
        return 29 + (reg == ARM64_REG_X30);
    if (reg == ARM64_REG_XZR)
        return 31;
    return (unsigned)(reg - ARM64_REG_X0);
}

// Follows instructions that build constants. False: the current one is another.
static bool is_constant(struct reading *reading)
{
    const cs_arm64 *parts = &reading->insn->detail->arm64;
    const char *name = reading->insn->mnemonic;
    if (parts->op_count != 2 || parts->operands[0].type != ARM64_OP_REG || parts->operands[1].type != ARM64_OP_IMM ||
        strncmp(name, "mov", 3))
        return false;
    unsigned reg = number_of(parts->operands[0].reg), shift = parts->operands[1].shift.value;
    uint64_t value = (uint64_t)parts->operands[1].imm;
    if (!strcmp(name, "movk"))
        value = (reading->constants[reg] & ~((uint64_t)0xffff << shift)) | value << shift;
    else if (!strcmp(name, "movn"))
        value = ~(value << shift);
    else
        value <<= shift;
    reading->constants[reg] = value;
    reading->is_constant[reg] = true;
    return true;
}

static uint64_t last_operand(const cs_insn *insn)
{
    const cs_arm64 *parts = &insn->detail->arm64;
    return parts->op_count ? (uint64_t)parts->operands[parts->op_count - 1].imm : 0;
}

static void expect_jump(struct reading *reading, uint64_t to)
{
    ck_assert_msg(next(reading) && !strcmp(reading->insn->mnemonic, "b") && last_operand(reading->insn) == to,
                  "b 0x%" PRIx64 " is missing, there is %s %s", to, reading->insn->mnemonic, reading->insn->op_str);
}

static bool is_one_of(const char *name, const char *names)
{
    char word[34];
    snprintf(word, sizeof word, " %.31s ", name);
    return strstr(names, word) != NULL;
}

static void check_constant(struct reading *reading, const cs_insn *old)
{
    unsigned reg = number_of(old->detail->arm64.operands[0].reg);
    while (reading->length > UNIT) {
        ck_assert(next(reading));
        ck_assert_msg(is_constant(reading), "%s %s", reading->insn->mnemonic, reading->insn->op_str);
    }
    ck_assert_uint_eq(reading->constants[reg], last_operand(old));
    for (unsigned i = 0; i < 31; i++)
        ck_assert(i == reg || !reading->is_constant[i]);
    expect_jump(reading, old->address + UNIT);
}

static void check_literal(struct reading *reading, const cs_insn *old)
{
    do
        ck_assert(next(reading));
    while (is_constant(reading));
    const cs_arm64 *parts = &reading->insn->detail->arm64;
    ck_assert_str_eq(reading->insn->mnemonic, old->mnemonic);
    ck_assert_int_eq(parts->operands[1].type, ARM64_OP_MEM);
    ck_assert_int_eq(parts->operands[1].mem.disp, 0);
    unsigned base = number_of(parts->operands[1].mem.base);
    ck_assert_uint_eq(reading->constants[base], last_operand(old));
    if (old->detail->arm64.operands[0].type == ARM64_OP_REG)
        ck_assert_int_eq(parts->operands[0].reg, old->detail->arm64.operands[0].reg);
    for (unsigned i = 0; i < 31; i++)
        ck_assert(i == base || !reading->is_constant[i]);
    expect_jump(reading, old->address + UNIT);
}

static void check_conditional(struct reading *reading, const cs_insn *old)
{
    ck_assert(next(reading));
    ck_assert_str_eq(reading->insn->mnemonic, old->mnemonic);
    ck_assert_uint_eq(last_operand(reading->insn), reading->insn->address + 2 * UNIT);
    ck_assert_int_eq(reading->insn->detail->arm64.cc, old->detail->arm64.cc);
    for (int i = 0; i + 1 < old->detail->arm64.op_count; i++)
        ck_assert_int_eq(reading->insn->detail->arm64.operands[i].reg, old->detail->arm64.operands[i].reg);
    expect_jump(reading, old->address + UNIT);
    expect_jump(reading, last_operand(old));
}

// `old`: the instruction that was moved.
static void check_moved(const struct hs_moved_code *moved, uint64_t place, const cs_insn *old)
{
    struct reading reading = {
        .code = moved->code, .length = moved->length, .at = place, .insn = cs_malloc(handle), .is_constant = {false}};
    const char *name = old->mnemonic;
    bool has_address = old->detail->arm64.op_count == 2 && old->detail->arm64.operands[1].type == ARM64_OP_IMM;
    if (moved->signing) {
        ck_assert(!memcmp(reading.code, &moved->signing, UNIT) && next(&reading));
    }
    if (is_one_of(name, " adr adrp ")) {
        check_constant(&reading, old);
    } else if (is_one_of(name, " ldr ldrsw prfm ") && has_address) {
        check_literal(&reading, old);
    } else if (!strcmp(name, "b")) {
        expect_jump(&reading, last_operand(old));
    } else if (!strncmp(name, "b.", 2) || is_one_of(name, " cbz cbnz tbz tbnz ")) {
        check_conditional(&reading, old);
    } else if (!strcmp(name, "bl")) {
        ck_assert(next(&reading) && !strcmp(reading.insn->mnemonic, "bl"));
        ck_assert_uint_eq(last_operand(reading.insn), last_operand(old));
        expect_jump(&reading, old->address + UNIT);
    } else {
        ck_assert(!memcmp(reading.code, old->bytes, UNIT) && next(&reading));
        if (!is_one_of(name, " br ret retaa retab "))
            expect_jump(&reading, old->address + UNIT);
    }
    ck_assert_uint_eq(reading.length, 0);
    cs_free(reading.insn, 1);
}

static void check_function(const struct hs_moved_code *moved, uint64_t function, const uint8_t *code, uint64_t place)
{
    uint64_t at = moved->at;
    const uint8_t *bytes = code + (moved->at - function);
    size_t length = UNIT;
    cs_insn *old = cs_malloc(handle);
    ck_assert_uint_eq(moved->consumed, UNIT);
    ck_assert(cs_disasm_iter(handle, &bytes, &length, &at, old));
    check_moved(moved, place, old);
    cs_free(old, 1);
}

// ---- single instructions -------------------------------------------------------------------------------------------

// NULL, or why it is not possible.
static const char *move_words(struct hs_moved_code *moved, const uint32_t *words, size_t count)
{
    const uint8_t *bytes = (const uint8_t *)words;
    if (!hs_inject_aarch64.move(moved, FUNCTION, bytes, count * UNIT, count * UNIT, PLACE))
        return moved->problem;
    check_function(moved, FUNCTION, bytes, PLACE);
    return NULL;
}

static const char *move_word(uint32_t word, bool may_call)
{
    struct hs_moved_code moved = {.may_call = may_call};
    return move_words(&moved, (const uint32_t[]){word, OTHER}, 2);
}

static const uint32_t movable[] = {
    0xa9be7bfd, // stp x29, x30, [sp, #-32]!
    0x14000100, // b
    0x17ffff00, // b backward
    0x54000102, // b.hs
    0xb4fffd03, // cbz x3, backward
    0x35000805, // cbnz w5
    0xb6380083, // tbz x3, #39
    0x3707ff83, // tbnz w3, #0, backward
    0x10ffff00, // adr x0, backward
    0x50001234, // adr x20
    0xd0001231, // adrp x17
    0xf0ffff3e, // adrp x30, backward
    0x18000480, // ldr w0
    0x58000491, // ldr x17
    0x98ffff83, // ldrsw x3, backward
    0xd8000480, // prfm pldl1keep
    0x1c000481, // ldr s1
    0x5c000481, // ldr d1
    0x9cffff81, // ldr q1, backward
    0xd65f03c0, // ret
    0xd61f0100, // br x8
};

START_TEST(test_movable)
{
    ck_assert_ptr_null(move_word(movable[_i], false));
    ck_assert_ptr_null(move_word(movable[_i], true));
}
END_TEST

START_TEST(test_calls)
{
    static const uint32_t calls[] = {0x94000100, 0x97ffff00, 0xd63f0100};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        ck_assert_str_eq(move_word(calls[i], false), "calls at once");
        ck_assert_ptr_null(move_word(calls[i], true));
    }
}
END_TEST

START_TEST(test_refused)
{
    static const uint32_t words[] = {0xd4000001, 0x00000000, 0xd50324ff, 0xdac1a3fe, 0x74000020};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        ck_assert_ptr_nonnull(move_word(words[i], true));
}
END_TEST

START_TEST(test_beginnings)
{
    struct hs_moved_code moved = {.may_call = false};
    ck_assert_ptr_null(move_words(&moved, (const uint32_t[]){BTI_C, 0xa9be7bfd, OTHER}, 3));
    ck_assert_uint_eq(moved.at, FUNCTION + UNIT);
    ck_assert_uint_eq(moved.signing, 0);
    ck_assert_ptr_null(move_words(&moved, (const uint32_t[]){PACIASP, 0xa9be7bfd, OTHER}, 3));
    ck_assert_uint_eq(moved.at, FUNCTION + UNIT);
    ck_assert_uint_eq(moved.signing, PACIASP);
    ck_assert_ptr_null(move_words(&moved, (const uint32_t[]){BTI_C, PACIASP, 0x10ffff00, OTHER}, 4));
    ck_assert_uint_eq(moved.at, FUNCTION + 2 * UNIT);
    ck_assert_uint_eq(moved.signing, PACIASP);
    ck_assert_str_eq(move_words(&moved, (const uint32_t[]){BTI_C}, 1), "is too short");
    ck_assert_ptr_null(move_words(&moved, (const uint32_t[]){OTHER}, 1));
}
END_TEST

START_TEST(test_loops)
{
    struct hs_moved_code moved = {.may_call = false};
    // add x0, x0, #1; cbnz x0, the first; ret
    ck_assert_str_eq(move_words(&moved, (const uint32_t[]){0x91000400, 0xb5ffffe0, OTHER}, 3),
                     "jumps back to its beginning");
    // mov x1, x0; add x0, x0, #1; cbnz x0, the second; ret
    ck_assert_ptr_null(move_words(&moved, (const uint32_t[]){0xaa0003e1, 0x91000400, 0xb5ffffe0, OTHER}, 4));
    // bti c; add x0, x0, #1; cbnz x0, bti; ret
    ck_assert_str_eq(move_words(&moved, (const uint32_t[]){BTI_C, 0x91000400, 0xb5ffffc0, OTHER}, 4),
                     "jumps back to its beginning");
}
END_TEST

// cbz x0, ret; add x0, x0, #1; ret; the next function ends with a call of this one, in the form of a jump.
START_TEST(test_others)
{
    static const uint32_t words[] = {0x91000400, 0xb4000040, 0x91000400, OTHER, 0xaa0103e0, 0x17fffffb};
    for (size_t size = 0; size <= sizeof words; size += UNIT) {
        struct hs_moved_code moved = {.may_call = false};
        bool done = hs_inject_aarch64.move(&moved, FUNCTION, (const uint8_t *)words, sizeof words, size, PLACE);
        ck_assert_int_eq(done, size < sizeof words);
    }
}
END_TEST

// How a function may end whose size is not known. The next one calls it as above.
static const struct {
    uint32_t words[5];
    unsigned count;
    bool ends;
} endings[] = {
    {{OTHER}, 1, true},
    {{0xd4207d00}, 1, true},                                                 // brk #1000
    {{0xd4400000}, 1, true},                                                 // hlt
    {{0}, 1, true},                                                          // udf
    {{0x91000400, 0x94000010, 0xd503201f, 0xd503201f, 0xd503201f}, 5, true}, // add; bl; nop up to a multiple of 16
    {{0x91000400, 0x94000010, 0, 0, 0}, 5, true},                            // add; bl; udf
    {{0x91000400, 0x94000010, 0xd503201f}, 3, false},                        // add; bl; less filler
    {{0x94000010, 0xa9be7bfd}, 2, true},                                     // bl; stp x29, x30, [sp, #-32]!
    {{0x94000010, PACIASP}, 2, true},                                        // bl; paciasp
    {{0x94000010, 0xa9be4ff4}, 2, false},                                    // bl; stp x20, x19, [sp, #-32]!
    {{0x94000010}, 1, false},                                                // bl
    {{0xd503201f, 0xd503201f}, 2, false},                                    // nop
    {{0xd4000001}, 1, false},                                                // svc
};

START_TEST(test_endings)
{
    uint32_t words[16] = {0x91000400, 0xb4000040, 0x91000400};
    unsigned count = 3 + endings[_i].count;
    struct hs_moved_code moved = {.may_call = false};
    memcpy(words + 3, endings[_i].words, sizeof endings[_i].words);
    words[count++] = 0xaa0103e0;
    words[count] = 0x14000000 | (-count & 0x3ffffff);
    bool done = hs_inject_aarch64.move(&moved, FUNCTION, (const uint8_t *)words, sizeof words, 0, PLACE);
    ck_assert_int_eq(done, endings[_i].ends);
}
END_TEST

START_TEST(test_reach)
{
    struct hs_moved_code moved = {.may_call = false};
    const uint32_t words[] = {0xa9be7bfd, OTHER};
    uint8_t patch[HS_INJECT_PATCH];
    ck_assert(!hs_inject_aarch64.move(&moved, FUNCTION, (const uint8_t *)words, 8, 8, FUNCTION + (1ull << 28)));
    ck_assert_str_eq(moved.problem, "is out of reach");
    ck_assert_uint_eq(hs_inject_aarch64.patch(patch, FUNCTION, FUNCTION + (1 << 27)), 0);
    ck_assert_uint_eq(hs_inject_aarch64.patch(patch, FUNCTION, FUNCTION - (1 << 27)), UNIT);
}
END_TEST

// ---- islands -------------------------------------------------------------------------------------------------------

static unsigned count_in(const uint8_t *code, size_t length, const char *text)
{
    cs_insn *insns;
    unsigned found = 0;
    size_t count = cs_disasm(handle, code, length, PLACE, 0, &insns);
    ck_assert_uint_eq(count, length / UNIT);
    for (size_t i = 0; i < count; i++) {
        char line[256];
        snprintf(line, sizeof line, "%s %s", insns[i].mnemonic, insns[i].op_str);
        found += !strncmp(line, text, strlen(text));
    }
    cs_free(insns, count);
    return found;
}

// Registers that arguments are in, and x8, stay as they are.
static void check_no_argument_is_written(const uint8_t *code, size_t length)
{
    cs_insn *insns;
    size_t count = cs_disasm(handle, code, length, PLACE, 0, &insns);
    for (size_t i = 0; i < count; i++) {
        const cs_arm64_op *first = insns[i].detail->arm64.operands;
        if (!insns[i].detail->arm64.op_count || first->type != ARM64_OP_REG || !strcmp(insns[i].mnemonic, "str"))
            continue;
        ck_assert_msg(is_one_of(cs_reg_name(handle, first->reg), " x15 w15 x16 w16 x17 w17 xzr wzr "), "%s %s",
                      insns[i].mnemonic, insns[i].op_str);
    }
    cs_free(insns, count);
}

START_TEST(test_islands)
{
    uint8_t code[HS_INJECT_CODE];
    for (unsigned form = 0; form < 32; form++) {
        struct hs_island island = {.hook = 0xffff12345678,
                                   .original = 0xffff87654320,
                                   .function = form & 1 ? 0xfffffedcba90 : 0,
                                   .is_loaded = form & 2,
                                   .own = form & 4 ? 0xffff11112222 : 0,
                                   .own_end = form & 4 ? 0xffff11153333 : 0,
                                   .signing = form & 8 ? PACIASP : 0,
                                   .words = {NULL, 8, -1648},
                                   .number_at = 60,
                                   .no_record = form & 16 ? 0xffff77778888 : 0};
        size_t length = hs_inject_aarch64.island(code, &island);
        ck_assert_uint_le(length, sizeof code);
        check_no_argument_is_written(code, length);
        ck_assert_uint_eq(count_in(code, length, "hint #0x1d"), form & 8 ? 1 : 0);
        ck_assert_uint_eq(count_in(code, length, "br x16"), form & 4 ? 2 : 1);
        ck_assert_uint_eq(count_in(code, length, "sub x16, x30, x16"), form & 4 ? 1 : 0);
        ck_assert_uint_eq(count_in(code, length, "mrs x16, tpidr_el0"), form & 2 ? 0 : 1);
        ck_assert_uint_eq(count_in(code, length, form & 16 ? "str x15, [x16, x17]" : "str xzr, [x16, x17]"),
                          form & 2 ? 0 : 1);
    }
}
END_TEST

// ---- a whole library -----------------------------------------------------------------------------------------------

static const uint8_t *code_at(const struct hs_elf_file *file, uint64_t address, uint64_t size)
{
    for (size_t i = 0; i < file->segment_count; i++) {
        const Elf64_Phdr *segment = &file->segments[i];
        if (segment->p_type == PT_LOAD && address - segment->p_vaddr < segment->p_filesz)
            return hs_elf_file__at(file, segment->p_offset + (address - segment->p_vaddr), size);
    }
    return NULL;
}

START_TEST(test_library)
{
    struct hs_elf_file file;
    struct hs_elf_symbols symbols;
    unsigned count = 0, refused = 0;
    if (!library)
        return;
    ck_assert_int_eq(hs_elf_file__open(&file, library, EM_AARCH64), 0);
    ck_assert(hs_elf_file__symbols(&file, SHT_DYNSYM, &symbols));
    for (size_t i = 0; i < symbols.count; i++) {
        const Elf64_Sym *symbol = &symbols.symbols[i];
        struct hs_moved_code moved = {.may_call = false};
        if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF || !symbol->st_size)
            continue;
        const uint8_t *code = code_at(&file, symbol->st_value, symbol->st_size);
        ck_assert_ptr_nonnull(code);
        uint64_t function = 0x10000000 + symbol->st_value, place = 0xffff000;
        count++;
        if (hs_inject_aarch64.move(&moved, function, code, symbol->st_size, symbol->st_size, place)) {
            check_function(&moved, function, code, place);
        } else {
            ck_assert_msg(!strcmp(moved.problem, "jumps back to its beginning"), "%s %s",
                          hs_elf_symbols__name(&symbols, i), moved.problem);
            refused++;
        }
    }
    hs_elf_file__close(&file);
    ck_assert_uint_gt(count, 2000);
    ck_assert_uint_lt(refused, count / 100);
}
END_TEST

int main(int argc, char **argv)
{
    library = argc > 1 ? argv[1] : NULL;
    if (cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &handle))
        return EXIT_FAILURE;
    cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
    Suite *suite = suite_create("inject_aarch64");
    TCase *tests = tcase_create("moving");
    tcase_add_loop_test(tests, test_movable, 0, sizeof movable / sizeof *movable);
    tcase_add_test(tests, test_calls);
    tcase_add_test(tests, test_refused);
    tcase_add_test(tests, test_beginnings);
    tcase_add_test(tests, test_loops);
    tcase_add_test(tests, test_others);
    tcase_add_loop_test(tests, test_endings, 0, sizeof endings / sizeof *endings);
    tcase_add_test(tests, test_reach);
    tcase_add_test(tests, test_islands);
    tcase_add_test(tests, test_library);
    suite_add_tcase(suite, tests);
    int failed = run_suite(suite);
    cs_close(&handle);
    return failed;
}
