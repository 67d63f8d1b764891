// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Instructions of AMD64 that make room for a patch: what is moved does the same at its new place, and a function that
// jumps to what is moved is refused, as capstone reads both. Argument: a library for AMD64, all of whose functions are
// tried.
#include "host/inject/arch.h"
#include "host/inject/modules.h"
#include "tests/suite.h"

#include <capstone/capstone.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PATCH = 5 };

#define FUNCTION 0x40201230u
#define PLACE    0x3ff00040u
#define LOOPS    "jumps back to its beginning"

static csh handle;
static const char *library;

// ---- what moved code does ------------------------------------------------------------------------------------------

static bool is_same_memory(const cs_insn *old, const x86_op_mem *was, const cs_insn *new, const x86_op_mem *is)
{
    uint64_t old_end = was->base == X86_REG_RIP ? old->address + old->size : 0;
    uint64_t new_end = is->base == X86_REG_RIP ? new->address + new->size : 0;
    return was->segment == is->segment && was->base == is->base && was->index == is->index && was->scale == is->scale &&
           old_end + (uint64_t)was->disp == new_end + (uint64_t)is->disp;
}

static bool is_same(const cs_insn *old, const cs_insn *new)
{
    const cs_x86 *was = &old->detail->x86, *is = &new->detail->x86;
    bool same = old->id == new->id && was->op_count == is->op_count;
    for (int i = 0; same && i < was->op_count; i++) {
        const cs_x86_op *before = &was->operands[i], *after = &is->operands[i];
        same = before->type == after->type && before->size == after->size &&
               (before->type != X86_OP_REG || before->reg == after->reg) &&
               (before->type != X86_OP_IMM || before->imm == after->imm) &&
               (before->type != X86_OP_MEM || is_same_memory(old, &before->mem, new, &after->mem));
    }
    return same;
}

static void check_moved(const struct hs_moved_code *moved, const uint8_t *code, uint64_t place)
{
    const uint8_t *old_code = code, *new_code = moved->code;
    size_t old_length = 24, new_length = moved->length;
    uint64_t old_at = moved->at, new_at = place;
    cs_insn *old = cs_malloc(handle), *new = cs_malloc(handle);
    bool ended = false;
    while (old_at < moved->at + moved->consumed && !ended) {
        ck_assert(cs_disasm_iter(handle, &old_code, &old_length, &old_at, old));
        ck_assert(cs_disasm_iter(handle, &new_code, &new_length, &new_at, new));
        ck_assert_msg(is_same(old, new), "%s %s became %s %s", old->mnemonic, old->op_str, new->mnemonic, new->op_str);
        ended = old->id == X86_INS_JMP || old->id == X86_INS_RET;
    }
    if (!ended) {
        ck_assert_uint_eq(old_at, moved->at + moved->consumed);
        ck_assert(cs_disasm_iter(handle, &new_code, &new_length, &new_at, new));
        ck_assert_int_eq(new->id, X86_INS_JMP);
        ck_assert_uint_eq((uint64_t) new->detail->x86.operands[0].imm, old_at);
    }
    ck_assert_uint_eq(new_length, 0);
    ck_assert_uint_ge(moved->consumed, PATCH);
    cs_free(old, 1);
    cs_free(new, 1);
}

// ---- jumps to it ---------------------------------------------------------------------------------------------------

enum into { NOT_INTO, INTO, NOT_KNOWN };

static bool has_target(const cs_insn *insn)
{
    static const unsigned others[] = {X86_INS_LOOP, X86_INS_LOOPE, X86_INS_LOOPNE, X86_INS_XBEGIN};
    const cs_x86 *parts = &insn->detail->x86;
    bool is_one = cs_insn_group(handle, insn, CS_GRP_JUMP) || cs_insn_group(handle, insn, CS_GRP_CALL);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        is_one |= insn->id == others[i];
    return is_one && parts->op_count == 1 && parts->operands[0].type == X86_OP_IMM;
}

// Whether the function jumps to its beginning, or to code that was moved. NOT_KNOWN: capstone cannot read it.
static enum into jumps_into(const struct hs_moved_code *moved, uint64_t function, const uint8_t *code, size_t size)
{
    cs_insn *insn = cs_malloc(handle);
    uint64_t at = function;
    enum into found = NOT_INTO;
    while (size && found == NOT_INTO) {
        if (!cs_disasm_iter(handle, &code, &size, &at, insn)) {
            found = NOT_KNOWN;
            break;
        }
        if (!has_target(insn))
            continue;
        uint64_t target = (uint64_t)insn->detail->x86.operands[0].imm;
        uint64_t first = insn->id == X86_INS_CALL ? moved->at + 1 : function;
        if (target >= first && target < moved->at + moved->consumed)
            found = INTO;
    }
    cs_free(insn, 1);
    return found;
}

// ---- functions that were made up -----------------------------------------------------------------------------------

enum { LONG = 6000 };

// NULL, or why it is not possible. `size`: 0 if it is not known.
static const char *move(struct hs_moved_code *moved, const uint8_t *bytes, size_t length, size_t size)
{
    *moved = (struct hs_moved_code){.may_call = false};
    if (!hs_inject_amd64.move(moved, FUNCTION, bytes, length, size, PLACE))
        return moved->problem;
    check_moved(moved, bytes + (moved->at - FUNCTION), PLACE);
    return NULL;
}

static const struct {
    uint8_t bytes[32];
    size_t size;
    bool loops;
} made_up[] = {
    // add $1, %rdi; cmpb $0, (%rdi); jne the first; ret
    {{0x48, 0x83, 0xc7, 1, 0x80, 0x3f, 0, 0x75, 0xf7, 0xc3}, 10, true},
    {{0x48, 0x83, 0xc7, 1, 0x80, 0x3f, 0, 0x0f, 0x85, 0xf3, 0xff, 0xff, 0xff, 0xc3}, 14, true},
    // the same behind endbr64, to it and to what follows
    {{0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xc7, 1, 0x80, 0x3f, 0, 0x75, 0xf7, 0xc3}, 14, true},
    {{0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xc7, 1, 0x80, 0x3f, 0, 0x75, 0xf3, 0xc3}, 14, true},
    // jne to the second
    {{0x48, 0x83, 0xc7, 1, 0x80, 0x3f, 0, 0x75, 0xfb, 0xc3}, 10, true},
    // mov %rdi, %rax; add $1, %rdi; cmpb $0, (%rdi); jne to what is behind the patch, to the second, to the first
    {{0x48, 0x89, 0xf8, 0x48, 0x83, 0xc7, 1, 0x80, 0x3f, 0, 0x75, 0xfb, 0xc3}, 13, false},
    {{0x48, 0x89, 0xf8, 0x48, 0x83, 0xc7, 1, 0x80, 0x3f, 0, 0x75, 0xf7, 0xc3}, 13, true},
    {{0x48, 0x89, 0xf8, 0x48, 0x83, 0xc7, 1, 0x80, 0x3f, 0, 0x75, 0xf4, 0xc3}, 13, true},
    // add $1, %rdi; mov (%rdi), %ecx; then to the first: loop, jrcxz, jmp, xbegin
    {{0x48, 0x83, 0xc7, 1, 0x8b, 0x0f, 0xe2, 0xf8, 0xc3}, 9, true},
    {{0x48, 0x83, 0xc7, 1, 0x8b, 0x0f, 0xe3, 0xf8, 0xc3}, 9, true},
    {{0x48, 0x83, 0xc7, 1, 0x8b, 0x0f, 0xeb, 0xf8, 0xc3}, 9, true},
    {{0x48, 0x83, 0xc7, 1, 0x8b, 0x0f, 0xc7, 0xf8, 0xf4, 0xff, 0xff, 0xff, 0xc3}, 13, true},
    // it calls itself
    {{0x48, 0x83, 0xc7, 1, 0x8b, 0x0f, 0xe8, 0xf5, 0xff, 0xff, 0xff, 0xc3}, 12, false},
};

START_TEST(test_made_up)
{
    struct hs_moved_code moved;
    const uint8_t *bytes = made_up[_i].bytes;
    size_t size = made_up[_i].size;
    for (int is_known = 0; is_known < 2; is_known++) {
        const char *problem = move(&moved, bytes, sizeof made_up[_i].bytes, is_known ? size : 0);
        if (made_up[_i].loops)
            ck_assert_pstr_eq(problem, LOOPS);
        else
            ck_assert_pstr_eq(problem, NULL);
        ck_assert_int_eq(jumps_into(&moved, FUNCTION, bytes, size), made_up[_i].loops ? INTO : NOT_INTO);
    }
}
END_TEST

// The loop's end is far behind its beginning.
START_TEST(test_long)
{
    static uint8_t bytes[LONG];
    static const uint8_t end[] = {0x0f, 0x85, 0, 0, 0, 0, 0xc3}; // jne; ret
    const int32_t distance = -(int32_t)sizeof bytes + 1;
    struct hs_moved_code moved;
    memset(bytes, 0x90, sizeof bytes);
    memcpy(bytes + sizeof bytes - sizeof end, end, sizeof end);
    memcpy(bytes + sizeof bytes - 5, &distance, sizeof distance);
    ck_assert_pstr_eq(move(&moved, bytes, sizeof bytes, sizeof bytes), LOOPS);
    ck_assert_pstr_eq(move(&moved, bytes, sizeof bytes, 0), LOOPS);
}
END_TEST

// The next function ends with a call of this one, in the form of a jump.
START_TEST(test_other)
{
    static const uint8_t bytes[32] = {0x48, 0x89, 0xf8, 0x74, 4,    0x48, 0x83, 0xc0,
                                      1,    0xc3, 0x48, 0x89, 0xf7, 0xeb, 0xf1, 0xcc};
    struct hs_moved_code moved;
    ck_assert_pstr_eq(move(&moved, bytes, sizeof bytes, 10), NULL);
    ck_assert_pstr_eq(move(&moved, bytes, sizeof bytes, 0), NULL);
    ck_assert_pstr_eq(move(&moved, bytes, sizeof bytes, 15), LOOPS);
}
END_TEST

// How a function may end whose size is not known. The next one calls it as above.
static const struct {
    uint8_t bytes[8];
    size_t length;
    bool ends;
} endings[] = {
    {{0xc3}, 1, true},                               // ret
    {{0xf4}, 1, true},                               // hlt
    {{0x0f, 0x0b}, 2, true},                         // ud2
    {{0xcc}, 1, true},                               // int3
    {{0xe8, 0, 0, 0, 0, 0x66, 0x90}, 7, true},       // call; filler up to a multiple of 16
    {{0xff, 0xd0, 0x0f, 0x1f, 0x44, 0, 0}, 7, true}, // call *%rax; filler
    {{0xe8, 0, 0, 0, 0, 0xcc, 0xcc}, 7, true},       // call; int3
    {{0xe8, 0, 0, 0, 0, 0x90}, 6, false},            // call; less filler
    {{0xe8, 0, 0, 0, 0}, 5, false},                  // call
    {{0x0f, 0x1f, 0x80, 0, 0, 0, 0}, 7, false},      // filler
};

START_TEST(test_endings)
{
    static const uint8_t beginning[] = {0x48, 0x89, 0xf8, 0x74, 4, 0x48, 0x83, 0xc0, 1},
                         next[] = {0x48, 0x89, 0xf7, 0xeb};
    uint8_t bytes[32];
    struct hs_moved_code moved;
    size_t length = sizeof beginning + endings[_i].length;
    memset(bytes, 0xcc, sizeof bytes);
    memcpy(bytes, beginning, sizeof beginning);
    memcpy(bytes + sizeof beginning, endings[_i].bytes, endings[_i].length);
    memcpy(bytes + length, next, sizeof next);
    bytes[length + sizeof next] = (uint8_t) - (int)(length + sizeof next + 1);
    ck_assert_pstr_eq(move(&moved, bytes, sizeof bytes, 0), endings[_i].ends ? NULL : LOOPS);
}
END_TEST

// ---- the stub ------------------------------------------------------------------------------------------------------

// What differs from call to call are the values at its end: they lie in none of its instructions.
START_TEST(test_stub)
{
    uint8_t with_zeros[HS_INJECT_CODE], with_ones[HS_INJECT_CODE];
    struct hs_borrowed borrowed = {.stub = 0x10000000};
    if (!hs_inject_amd64.stub)
        return;
    ck_assert_uint_eq(hs_inject_amd64.stub(with_zeros, &borrowed, 0x20000000), HS_INJECT_CODE);
    memset(borrowed.registers, 0xff, sizeof borrowed.registers);
    memset(borrowed.mask, 0xff, sizeof borrowed.mask);
    ck_assert_uint_eq(hs_inject_amd64.stub(with_ones, &borrowed, 0x20000000), HS_INJECT_CODE);
    size_t code = HS_INJECT_CODE - hs_inject_amd64.stub_values;
    ck_assert_mem_eq(with_zeros, with_ones, code);
    cs_insn *instructions;
    size_t count = cs_disasm(handle, with_zeros, code, borrowed.stub, 0, &instructions);
    const cs_insn *last = NULL;
    for (size_t i = 0; i < count; i++)
        if (instructions[i].id == X86_INS_JMP)
            last = &instructions[i];
    ck_assert_ptr_nonnull(last);
    ck_assert_uint_le(last->address + last->size, borrowed.stub + code);
    ck_assert_int_eq(last->detail->x86.operands[0].type, X86_OP_MEM);
    cs_free(instructions, count);
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

struct tally {
    unsigned count, moved, loops, unread;
};

static void check_function(const struct hs_elf_file *file, const Elf64_Sym *symbol, const char *name,
                           struct tally *tally)
{
    size_t size = symbol->st_size, length = size + 16;
    const uint8_t *code = code_at(file, symbol->st_value, length);
    uint64_t function = 0x10000000 + symbol->st_value, place = 0xffff000;
    struct hs_moved_code moved = {.may_call = false};
    ck_assert_ptr_nonnull(code);
    bool done = hs_inject_amd64.move(&moved, function, code, length, size, place);
    bool loops = !done && !strcmp(moved.problem, LOOPS);
    enum into into = done || loops ? jumps_into(&moved, function, code, size) : NOT_KNOWN;
    if (done)
        check_moved(&moved, code + (moved.at - function), place);
    if (into != NOT_KNOWN)
        ck_assert_msg(loops == (into == INTO), "%s: %s", name, done ? "it jumps to its beginning" : moved.problem);
    tally->count++;
    tally->moved += done;
    tally->loops += loops;
    tally->unread += done && into == NOT_KNOWN;
}

START_TEST(test_library)
{
    struct hs_elf_file file;
    struct hs_elf_symbols symbols;
    struct tally tally = {0};
    if (!library)
        return;
    ck_assert_int_eq(hs_elf_file__open(&file, library, EM_X86_64), 0);
    ck_assert(hs_elf_file__symbols(&file, SHT_DYNSYM, &symbols));
    for (size_t i = 0; i < symbols.count; i++) {
        const Elf64_Sym *symbol = &symbols.symbols[i];
        if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF && symbol->st_size)
            check_function(&file, symbol, hs_elf_symbols__name(&symbols, i), &tally);
    }
    hs_elf_file__close(&file);
    printf("%u functions: %u moved, of which capstone cannot read %u; %u jump to their beginning\n", tally.count,
           tally.moved, tally.unread, tally.loops);
    ck_assert_uint_gt(tally.count, 2000);
    ck_assert_uint_gt(tally.loops, 0);
    ck_assert_uint_gt(tally.moved, tally.count / 100 * 90);
    ck_assert_uint_lt(tally.unread, tally.count / 100);
}
END_TEST

int main(int argc, char **argv)
{
    library = argc > 1 ? argv[1] : NULL;
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle))
        return EXIT_FAILURE;
    cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
    Suite *suite = suite_create("inject_amd64");
    TCase *tests = tcase_create("moving");
    tcase_add_loop_test(tests, test_made_up, 0, sizeof made_up / sizeof *made_up);
    tcase_add_test(tests, test_long);
    tcase_add_test(tests, test_other);
    tcase_add_loop_test(tests, test_endings, 0, sizeof endings / sizeof *endings);
    tcase_add_test(tests, test_stub);
    tcase_add_test(tests, test_library);
    suite_add_tcase(suite, tests);
    int failed = run_suite(suite);
    cs_close(&handle);
    return failed;
}
