// SPDX-License-Identifier: MIT OR Apache-2.0
//
// First instructions of functions, and what stands for them elsewhere, are carried out side by side on 32-bit ARM: from
// the same registers and memory both come to the same. All functions of libc are tried, and what libc lacks. Each part
// ends with a signal, where an instruction is reached that no code has, or memory that is not there.
#include "host/inject/arch.h"
#include "host/inject/modules.h"
#include "tests/suite.h"

#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { PAGE = 4096, SPACE = 80 << 20, PAGES = 8, FUNCTION_AT = 4 * PAGE, NEAR = 0x20000, FAR = 72 << 20 };
enum { SP = 13, LR, PC, CPSR, REGISTERS, THUMB_STATE = 1 << 5, FLAGS = 28 };
enum { SCRATCH = 4 * PAGE, TIMES = 4, TIMES_LISTED = 24 };

struct run {
    uint32_t registers[REGISTERS];
    int signal;
    uintptr_t address; // of the access that failed
    uint8_t scratch[SCRATCH];
};

static uint8_t *space, *scratch;
static struct run before, old, new;
static struct run *current;
static mcontext_t caller;
static unsigned seed;

static uint32_t number(void)
{
    seed = seed * 1103515245 + 12345;
    return seed >> 8;
}

// ---- carrying out --------------------------------------------------------------------------------------------------

static uint32_t *registers_of(ucontext_t *context)
{
    return (uint32_t *)&context->uc_mcontext.arm_r0; // up to arm_cpsr they follow one another
}

static void start(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number;
    (void)info;
    caller = ((ucontext_t *)context)->uc_mcontext;
    memcpy(registers_of(context), before.registers, sizeof before.registers);
}

static void end(int signal_number, siginfo_t *info, void *context)
{
    memcpy(current->registers, registers_of(context), sizeof current->registers);
    current->signal = signal_number;
    current->address = (uintptr_t)info->si_addr;
    ((ucontext_t *)context)->uc_mcontext = caller;
}

static void prepare(void)
{
    static uint8_t stack[64 << 10];
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = start, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    ck_assert_int_eq(sigaltstack(&other, NULL), 0);
    sigaction(SIGUSR1, &action, NULL);
    action.sa_sigaction = end;
    static const int ends[] = {SIGILL, SIGSEGV, SIGBUS, SIGTRAP};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        sigaction(ends[i], &action, NULL);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    space = mmap(NULL, SPACE, PROT_NONE, flags, -1, 0);
    ck_assert_ptr_ne(space, MAP_FAILED);
    mprotect(space, PAGES * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    mprotect(space + NEAR, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    mprotect(space + FAR, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    scratch = mmap(NULL, SCRATCH, PROT_READ | PROT_WRITE, flags, -1, 0);
    ck_assert_ptr_ne(scratch, MAP_FAILED);
    for (size_t i = 0; i < SCRATCH; i++)
        before.scratch[i] = (uint8_t)number();
}

static void fill_with_no_code(bool is_thumb, uint8_t *function)
{
    static uint8_t *last;
    static bool was_thumb;
    if (last && was_thumb == is_thumb)
        memcpy(last, last - 2 * PAGE, HS_INJECT_CODE);
    else
        for (uint8_t *at = space; at < space + PAGES * PAGE; at += 4)
            memcpy(at, &(const uint32_t){is_thumb ? 0xde80de80 : 0xe7f000f0}, 4);
    last = function;
    was_thumb = is_thumb;
}

// Most registers are good addresses; conditions hold or do not.
static void choose_state(bool is_thumb)
{
    for (unsigned i = 0; i < SP; i++)
        before.registers[i] = number() % 4 ? (uintptr_t)scratch + PAGE + number() % PAGE / 8 * 8 : number() % 3 - 1;
    before.registers[SP] = (uintptr_t)scratch + 2 * PAGE;
    before.registers[LR] = (uintptr_t)space + PAGE + is_thumb;
    before.registers[CPSR] = 0x10 | (number() & 15) << FLAGS | (is_thumb ? THUMB_STATE : 0);
}

static void carry_out(struct run *run, uintptr_t at)
{
    memcpy(scratch, before.scratch, SCRATCH);
    before.registers[PC] = at;
    current = run;
    raise(SIGUSR1);
    memcpy(run->scratch, scratch, SCRATCH);
}

// ---- one function --------------------------------------------------------------------------------------------------

struct function {
    const char *name;
    const uint8_t *code;
    size_t size;
    uint64_t value; // bit 0: Thumb
};

static bool is_within(uint32_t pc, uint64_t start, size_t length)
{
    return pc >= start && pc < start + length;
}

static void compare(const struct function *function, const struct hs_moved_code *moved, uint64_t place)
{
    bool has_failed = is_within(old.registers[PC], moved->at, moved->consumed);
    ck_assert_msg(has_failed == is_within(new.registers[PC], place, moved->length) && old.signal == new.signal,
                  "%s: ends at 0x%x by signal %d, and at 0x%x by %d", function->name, old.registers[PC], old.signal,
                  new.registers[PC], new.signal);
    if (has_failed && old.signal == SIGSEGV)
        ck_assert_msg(old.address == new.address, "%s: accesses 0x%" PRIxPTR " and 0x%" PRIxPTR, function->name,
                      old.address, new.address);
    if (has_failed)
        return;
    for (unsigned i = 0; i < REGISTERS; i++) {
        bool is_free = i == 12 && old.registers[i] == before.registers[i];
        ck_assert_msg(is_free || old.registers[i] == new.registers[i], "%s: register %u is 0x%x and 0x%x",
                      function->name, i, old.registers[i], new.registers[i]);
    }
    ck_assert_msg(!memcmp(old.scratch, new.scratch, SCRATCH), "%s: writes differ", function->name);
}

// Without its longer jumps, Thumb code is not patched.
static bool has_thumb_2(void)
{
    const char *platform = (const char *)getauxval(AT_PLATFORM);
    return !platform || platform[0] != 'v' || platform[1] >= '7';
}

// NULL, or why it cannot be moved.
static const char *try(const struct function *function, size_t place_at, unsigned times, bool may_call)
{
    const bool is_thumb = function->value & 1;
    uint8_t *at = space + FUNCTION_AT + (function->value & (PAGE - 2)), *place = space + place_at;
    struct hs_moved_code moved = {.may_call = may_call};
    fill_with_no_code(is_thumb, at);
    if (!hs_inject_arm.move(&moved, (uintptr_t)at | is_thumb, function->code, function->size, function->size,
                            (uintptr_t)place)) {
        ck_assert_ptr_nonnull(moved.problem);
        return moved.problem;
    }
    ck_assert_uint_le(moved.length, HS_INJECT_CODE);
    memcpy(at, function->code, moved.consumed);
    memcpy(place, moved.code, moved.length);
    __builtin___clear_cache((char *)space, (char *)space + PAGES * PAGE);
    __builtin___clear_cache((char *)place, (char *)place + moved.length);
    for (unsigned i = 0; i < times; i++) {
        choose_state(is_thumb);
        carry_out(&old, (uintptr_t)at);
        carry_out(&new, (uintptr_t)place);
        if (may_call) // the return address
            new.registers[LR] = old.registers[LR];
        compare(function, &moved, (uintptr_t)place);
    }
    return NULL;
}

// ---- single instructions -------------------------------------------------------------------------------------------

static const struct {
    uint32_t words[3];
    bool is_refused;
} arm[] = {
    {{0xe92d4ff0, 0xe24dd00c}, false}, // push; sub sp
    {{0xe59f0010, 0xe08f0000}, false}, // ldr r0, [pc]; add r0, pc, r0
    {{0xe51f1ff0, 0xe081100f}, false}, // ldr r1, [pc, backward]; add r1, r1, pc
    {{0xe5df2010, 0xe3520000}, false}, // ldrb r2, [pc]; cmp
    {{0x059f3010, 0x15df4020}, false}, // ldreq r3, ldrbne r4
    {{0xe79f3003, 0xe5933000}, false}, // ldr r3, [pc, r3]; ldr r3, [r3]
    {{0xe1cf40d8, 0xe0844005}, false}, // ldrd r4, [pc]; add
    {{0xe1df50b8, 0xe1df60f8}, false}, // ldrh r5, ldrsh r6
    {{0xe28f0e12, 0xe24f1c01}, false}, // add r0, pc; sub r1, pc
    {{0x128f0010, 0x024f1004}, false}, // addne r0, pc; subeq r1, pc
    {{0xe1a0200f, 0xe1a0300f}, false}, // mov r2, pc; mov r3, pc
    {{0x0a000100, 0xe3a00001}, false}, // beq; mov
    {{0x1afffe00, 0xe3a00001}, false}, // bne backward; mov
    {{0xe3500000, 0xba000100}, false}, // cmp; blt
    {{0xe3500000, 0xea000100}, false}, // cmp; b
    {{0xe3500000, 0x012fff1e}, false}, // cmp; bxeq lr
    {{0xe1a00001, 0xe12fff1e}, false}, // mov; bx lr
    {{0xe1a00001, 0xe51ff004}, false}, // mov; ldr pc, [pc]
    {{0xe1a0c001, 0xe51ff004}, true},  // mov ip; ldr pc, [pc]
    {{0xe3a00001, 0xe8bd8010}, false}, // mov; pop {r4, pc}
    {{0xe3a00c05, 0xe1a0f00e}, false}, // mov; mov pc, lr
    {{0xf5d0f000, 0xe3a00001}, false}, // pld [r0]; mov
    {{0xf5dff000, 0xe3a00001}, true},  // pld [pc]
    {{0xef000000, 0xe3a00001}, true},  // svc
    {{0xe08ff100, 0xe3a00001}, true},  // add pc, pc
    {{0xe92d8000, 0xe3a00001}, true},  // push {pc}
    {{0xe15f0000, 0xe3a00001}, true},  // cmp pc, r0
    {{0xe1200070, 0xe3a00001}, true},  // bkpt
};

static const struct {
    uint16_t halves[8];
    bool is_refused;
} thumb[] = {
    {{0xb570, 0x4604, 0x460d, 0xb082, 0x4616, 0x461a}, false}, // push; mov; mov; sub sp; mov; mov
    {{0x4b04, 0x447b, 0x681b, 0x4618, 0x4619, 0x4619}, false}, // ldr r3, [pc]; add r3, pc; ldr; mov
    {{0x4c04, 0xa005, 0x447c, 0x4478, 0x4619, 0x4619}, false}, // ldr r4; adr r0; add r4, pc; add r0, pc
    {{0xf8df, 0x1010, 0x4479, 0x46fc, 0x44fc, 0x4619}, false}, // ldr.w r1; add r1, pc; mov ip, pc; add ip, pc
    {{0xf85f, 0x1010, 0x4479, 0x4679, 0x4478, 0x4619}, false}, // ldr.w r1, backward; add r1, pc; mov r1, pc
    {{0xf89f, 0x2010, 0xf8bf, 0x3010, 0xf99f, 0x4010}, false}, // ldrb.w; ldrh.w; ldrsb.w
    {{0xf9bf, 0x5010, 0xe9df, 0x0104, 0xe95f, 0x2304}, false}, // ldrsh.w; ldrd; ldrd backward
    {{0xf20f, 0x0010, 0xf2af, 0x0110, 0xf60f, 0x7212}, false}, // adr.w; adr.w backward; adr.w
    {{0xb110, 0x2101, 0xb912, 0x2201, 0x2301, 0x2401}, false}, // cbz r0, a little forward
    {{0xb1f8, 0x2101, 0xb9fa, 0x2201, 0x2301, 0x2401}, false}, // cbz r0; mov; cbnz r2; mov
    {{0xd07f, 0x2101, 0xd180, 0xdb40, 0x2301, 0x2401}, false}, // beq; mov; bne backward; blt
    {{0xf000, 0x8100, 0xf47f, 0xaf00, 0xf2c0, 0x8200}, false}, // beq.w; bne.w backward; blt.w
    {{0xf000, 0xb900, 0x2301, 0x2301, 0x2301, 0x2301}, false}, // b.w
    {{0x2101, 0xe07f, 0x2301, 0x2301, 0x2301, 0x2301}, false}, // mov; b
    {{0xe07f, 0x2301, 0x2301, 0x2301, 0x2301, 0x2301}, true},  // b, too short
    {{0x2101, 0x4770, 0x2301, 0x2301, 0x2301, 0x2301}, false}, // mov; bx lr
    {{0xf8df, 0xf010, 0x2301, 0x2301, 0x2301, 0x2301}, false}, // ldr.w pc, [pc]
    {{0x2101, 0xbd10, 0x2301, 0x2301, 0x2301, 0x2301}, false}, // mov; pop {r4, pc}
    {{0xbf08, 0x2301, 0x2301, 0x2301, 0x2301, 0x2301}, true},  // it eq
    {{0xdf00, 0x2301, 0x2301, 0x2301, 0x2301, 0x2301}, true},  // svc
    {{0xe8df, 0xf000, 0x0402, 0x2301, 0x2301, 0x2301}, true},  // tbb [pc, r0]
    {{0xbe00, 0x2301, 0x2301, 0x2301, 0x2301, 0x2301}, true},  // bkpt
    {{0x4487, 0x2301, 0x2301, 0x2301, 0x2301, 0x2301}, true},  // add pc, r0
    {{0x4778, 0x46c0, 0x2301, 0x2301, 0x2301, 0x2301}, true},  // bx pc
    {{0xf81f, 0xf010, 0x2301, 0x2301, 0x2301, 0x2301}, true},  // pld [pc]
    {{0x3001, 0x3101, 0x3201, 0x3301, 0x3401, 0xe7f9}, true},  // add; ...; b to the first one
};

static void check_arm(size_t which)
{
    static const size_t places[] = {NEAR, FAR};
    uint32_t code[4];
    for (size_t i = 0; i < 2; i++) {
        memcpy(code, arm[which].words, 8);
        code[2] = code[3] = 0xe1a00000;
        const struct function function = {"listed", (const uint8_t *)code, sizeof code, 0x230};
        const char *problem = try(&function, places[i], TIMES_LISTED, false);
        bool is_refused = arm[which].is_refused && (i || code[0] != 0xe1a0c001); // the second one stays where it is
        ck_assert_msg(is_refused == (problem != NULL), "number %zu: %s", which, problem ? problem : "moved");
    }
}

START_TEST(test_arm)
{
    prepare();
    for (size_t i = 0; i < sizeof arm / sizeof *arm; i++)
        check_arm(i);
}
END_TEST

static void check_thumb(size_t which)
{
    static const size_t places[] = {NEAR, FAR};
    uint16_t code[10];
    for (size_t i = 0; i < 4; i++) {
        memcpy(code, thumb[which].halves, 16);
        for (size_t j = 6; j < 10; j++)
            code[j] = 0xbf00;
        const struct function function = {"listed", (const uint8_t *)code, sizeof code, i < 2 ? 0x231 : 0x233};
        const char *problem = try(&function, places[i % 2], TIMES_LISTED, false);
        if (places[i % 2] == NEAR)
            ck_assert_msg(thumb[which].is_refused == (problem != NULL), "number %zu: %s", which,
                          problem ? problem : "moved");
    }
}

START_TEST(test_thumb)
{
    prepare();
    for (size_t i = 0; i < sizeof thumb / sizeof *thumb && has_thumb_2(); i++)
        check_thumb(i);
}
END_TEST

// bl, blx, to ARM and to Thumb code; blx r3
START_TEST(test_calls)
{
    static const uint32_t words[][2] = {{0xeb000100, 0xe1a00000}, {0xfa000100, 0xe1a00000}, {0xe12fff33, 0xe1a00000}};
    static const uint16_t halves[][4] = {
        {0xf000, 0xf900, 0xbf00, 0xbf00}, {0xf000, 0xe900, 0xbf00, 0xbf00}, {0x4798, 0xbf00, 0xbf00, 0xbf00}};
    prepare();
    for (size_t i = 0; i < 3; i++) {
        const struct function first = {"call", (const uint8_t *)words[i], 8, 0x230};
        const struct function second = {"call", (const uint8_t *)halves[i], 8, 0x231};
        ck_assert_str_eq(try(&first, NEAR, 1, false), "calls at once");
        ck_assert_ptr_null(try(&first, NEAR, TIMES_LISTED, true));
        if (!has_thumb_2())
            continue;
        ck_assert_str_eq(try(&second, NEAR, 1, false), "calls at once");
        ck_assert_ptr_null(try(&second, NEAR, TIMES_LISTED, true));
    }
}
END_TEST

// ---- loops ---------------------------------------------------------------------------------------------------------

// Behind a table of branches and behind constants, instructions are found where branches lead to.
START_TEST(test_sweep)
{
    static const struct {
        uint16_t halves[12];
        unsigned size;
        bool moves;
    } functions[] = {
        // add; add; cbz r0, 1f; ldr; bx lr; a constant whose second half is like b to the beginning; 1: bx lr
        {{0x3001, 0x3101, 0xb120, 0x4801, 0x4770, 0xe000, 0xe7f8, 0xe7f8, 0x4770}, 9, true},
        // add; add; tbb [pc, r0]; 2 entries; bx lr; b to the beginning
        {{0x3001, 0x3101, 0xe8df, 0xf000, 0x0201, 0x4770, 0xe7f8}, 7, false},
        // the same without that
        {{0x3001, 0x3101, 0xe8df, 0xf000, 0x0201, 0x4770, 0x4770}, 7, true},
        // add; add; it eq; bxeq lr; b to the second instruction
        {{0x3001, 0x3101, 0xbf08, 0x4770, 0xe7fb}, 5, false},
        // add; add; bx lr; b to the beginning, of another function
        {{0x3001, 0x3101, 0x4770, 0xe7fb}, 0, true},
        {{0x3001, 0x3101, 0x4770, 0xe7fb}, 4, false},
        // add; add; beq 1f; bx lr; 1: b to the beginning
        {{0x3001, 0x3101, 0xd000, 0x4770, 0xe7fa}, 0, false},
    };
    struct hs_moved_code moved = {.may_call = false};
    const uint8_t *code = (const uint8_t *)functions[_i].halves;
    bool moves =
        hs_inject_arm.move(&moved, 0x10001, code, sizeof functions[_i].halves, 2 * functions[_i].size, 0x20000);
    ck_assert_msg(moves == functions[_i].moves, "%s", moved.problem ? moved.problem : "moved");
}
END_TEST

// ---- libc ----------------------------------------------------------------------------------------------------------

static void find_libc(char *path, size_t size)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    ck_assert_ptr_nonnull(maps);
    while (!*path && fgets(line, sizeof line, maps))
        if (strchr(line, '/') && (strstr(line, "/libc.so.6") || strstr(line, "/ld-musl-")))
            snprintf(path, size, "%.*s", (int)strcspn(strchr(line, '/'), "\n"), strchr(line, '/'));
    fclose(maps);
    ck_assert(*path);
}

static const uint8_t *code_at(const struct hs_elf_file *file, uint64_t address, uint64_t size)
{
    for (size_t i = 0; i < file->segment_count; i++) {
        const ElfW(Phdr) *segment = &file->segments[i];
        if (segment->p_type == PT_LOAD && address - segment->p_vaddr < segment->p_filesz)
            return hs_elf_file__at(file, segment->p_offset + (address - segment->p_vaddr), size);
    }
    return NULL;
}

static bool is_a_reason(const char *problem)
{
    static const char *const reasons[] = {"calls at once",
                                          "is too short",
                                          "jumps back to its beginning",
                                          "begins with conditional instructions",
                                          "begins with a table of branches",
                                          "makes a system call in its first instructions",
                                          "is Thumb code of a processor without long branches"};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (!strcmp(problem, reasons[i]))
            return true;
    return false;
}

START_TEST(test_libc)
{
    struct hs_elf_file file;
    struct hs_elf_symbols symbols;
    char path[512] = "";
    unsigned count = 0, refused = 0;
    prepare();
    find_libc(path, sizeof path);
    ck_assert_int_eq(hs_elf_file__open(&file, path, EM_ARM), 0);
    ck_assert(hs_elf_file__symbols(&file, SHT_DYNSYM, &symbols));
    for (size_t i = 0; i < symbols.count; i++) {
        const ElfW(Sym) *symbol = &symbols.symbols[i];
        if (ELF32_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF || !symbol->st_size)
            continue;
        const struct function function = {hs_elf_symbols__name(&symbols, i),
                                          code_at(&file, symbol->st_value & ~1u, symbol->st_size), symbol->st_size,
                                          symbol->st_value};
        ck_assert_ptr_nonnull(function.code);
        const char *problem = try(&function, _i ? FAR : NEAR, TIMES, false);
        ck_assert_msg(!problem || is_a_reason(problem), "%s %s", function.name, problem);
        if (problem && getenv("HEAPSONDE_TEST_VERBOSE"))
            printf("%s %s\n", function.name, problem);
        count++;
        refused += problem != NULL;
    }
    hs_elf_file__close(&file);
    ck_assert_uint_gt(count, 1000);
    ck_assert_msg(refused < count / (_i ? 5 : 12), "%u of %u are refused", refused, count);
}
END_TEST

// ---- the other parts -----------------------------------------------------------------------------------------------

START_TEST(test_patches)
{
    static const struct {
        uint64_t at, to;
        size_t length;
    } patches[] = {
        {0x1000000, 0x2000000, 4}, {0x1000000, 0x4000000, 8}, {0x1000001, 0x1400000, 4},
        {0x1000001, 0x2000000, 4}, {0x1000001, 0x2100000, 8}, {0x1000003, 0x2100000, 10},
        {0x1000003, 0x300000, 4},  {0x4000000, 0x2100000, 4}, {0x4000000, 0x1000000, 8},
    };
    uint8_t code[HS_INJECT_PATCH];
    ck_assert_uint_eq(hs_inject_arm.patch(code, patches[_i].at, patches[_i].to), patches[_i].length);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("inject_moved");
    TCase *tests = tcase_create("moving");
    tcase_add_test(tests, test_arm);
    tcase_add_test(tests, test_thumb);
    tcase_add_test(tests, test_calls);
    tcase_add_loop_test(tests, test_sweep, 0, has_thumb_2() ? 7 : 0);
    tcase_add_loop_test(tests, test_libc, 0, 2);
    tcase_add_loop_test(tests, test_patches, 0, 9);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
