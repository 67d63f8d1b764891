// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The first instructions of functions, and what stands for them elsewhere, are carried out side by side on MIPS64: from
// the same registers both lead to the same place with the same registers.
#include "host/inject/arch.h"
#include "tests/suite.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { SEGMENT = 1 << 28, SPACE = 2 * SEGMENT, AREA = 64 << 10, TIMES = 24, REGISTERS = 32 };
enum { BREAK = 0x0d, MOVED_AT = 3 * AREA, FUNCTION_AT = AREA / 2, AT = 1, T9 = 25, K0 = 26, K1 = 27, SP = 29, RA = 31 };

struct run {
    uint64_t registers[REGISTERS];
    uint64_t pc;
};

static uint8_t *space;                    // begins with a segment
static volatile struct run before, after; // a call that sends a signal is not expected to look at them
static mcontext_t caller;
static unsigned seed;

static uint32_t number(void)
{
    seed = seed * 1103515245 + 12345;
    return seed >> 8;
}

// ---- carrying out --------------------------------------------------------------------------------------------------

static void copy(volatile uint64_t *to, const greg_t *from)
{
    for (unsigned i = 0; i < REGISTERS; i++)
        to[i] = (uint64_t)from[i];
}

static void start(int signal_number, siginfo_t *info, void *context)
{
    mcontext_t *state = &((ucontext_t *)context)->uc_mcontext;
    (void)signal_number;
    (void)info;
    caller = *state;
    for (unsigned i = AT; i < REGISTERS; i++)
        state->gregs[i] = (greg_t)before.registers[i];
    state->pc = before.pc;
}

static void end(int signal_number, siginfo_t *info, void *context)
{
    mcontext_t *state = &((ucontext_t *)context)->uc_mcontext;
    (void)signal_number;
    (void)info;
    copy(after.registers, state->gregs);
    after.pc = state->pc;
    *state = caller;
}

static void fill(uint8_t *from)
{
    for (uint8_t *at = from; at < from + 2 * AREA; at += 4)
        memcpy(at, &(const uint32_t){BREAK}, 4);
}

// Wherever it leads, there is an instruction that ends it.
static void prepare(void)
{
    static uint8_t stack[64 << 10];
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = start, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaltstack(&other, NULL);
    sigaction(SIGUSR1, &action, NULL);
    action.sa_sigaction = end;
    sigaction(SIGTRAP, &action, NULL);
    uint8_t *all = mmap(NULL, SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert_ptr_ne(all, MAP_FAILED);
    space = (uint8_t *)(((uintptr_t)all + SEGMENT - 1) & ~(uintptr_t)(SEGMENT - 1));
    ck_assert_int_eq(mprotect(space, 5 * AREA, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
    fill(space);
    fill(space + MOVED_AT);
}

static struct run carry_out(const uint8_t *at, uint64_t t9)
{
    before.pc = (uintptr_t)at;
    before.registers[T9] = t9;
    raise(SIGUSR1);
    return after;
}

static void choose_registers(void)
{
    for (unsigned i = AT; i < REGISTERS; i++)
        before.registers[i] = (uint64_t)((int64_t)(number() % 3) - 1);
    before.registers[SP] = (uintptr_t)space + AREA;
    before.registers[RA] = (uintptr_t)space + AREA + 0x100;
}

// ---- instructions --------------------------------------------------------------------------------------------------

static const struct {
    uint32_t words[4];
    const char *problem;
    bool may_call;
} listed[] = {
    {{0x67bdffd0, 0x3c1c0012, 0x0399e02d, 0}, NULL, false}, // daddiu sp; lui gp; daddu gp, gp, t9
    {{0x3c1c0012, 0x0399e02d, 0x679c1234, 0}, NULL, false}, // lui gp; daddu gp, gp, t9; daddiu gp
    {{0x10800040, 0x24020005, 0, 0}, NULL, false},          // beqz a0; li v0
    {{0x1480ffc0, 0x24020005, 0, 0}, NULL, false},          // bnez a0, backward; li v0
    {{0x24020005, 0x14850040, 0x24030007, 0}, NULL, false}, // li v0; bne a0, a1; li v1
    {{0x24020005, 0x04800040, 0x24030007, 0}, NULL, false}, // li v0; bltz a0; li v1
    {{0x04c10040, 0x24030007, 0, 0}, NULL, false},          // bgez a2; li v1
    {{0x18e00040, 0x1ce00080, 0, 0}, "has an instruction that was not understood", false}, // a branch behind a branch
    {{0x18e00040, 0x24030007, 0, 0}, NULL, false},                                         // blez a3; li v1
    {{0x5ce00040, 0x24030007, 0, 0}, NULL, false},                                         // bgtzl a3; li v1
    {{0x50850040, 0x24030007, 0, 0}, NULL, false},                                         // beql a0, a1; li v1
    {{0x10000040, 0x24030007, 0, 0}, NULL, false},                                         // b; li v1
    {{0x03e00008, 0x0000102d, 0, 0}, NULL, false},                                         // jr ra; move v0, zero
    {{0x24020005, 0x03e00008, 0x24030007, 0}, NULL, false},                                // li v0; jr ra; li v1
    {{0x08000050, 0x24030007, 0, 0}, NULL, false},            // j, within the segment; li v1
    {{0x0320f809, 0x24030007, 0, 0}, "calls at once", false}, // jalr t9
    {{0x0c000050, 0x24030007, 0, 0}, "calls at once", false}, // jal
    {{0x0c000050, 0x24030007, 0, 0}, NULL, true},
    {{0x04110001, 0, 0, 0}, "has an instruction that was not understood", false}, // bal
    {{0x0000000c, 0, 0, 0}, "makes a system call in its first instructions", false},
    {{0x47000010, 0, 0, 0}, "has an instruction that was not understood", false},    // bz.b of MSA
    {{0x47e00010, 0, 0, 0}, "has an instruction that was not understood", false},    // bnz.d
    {{0xc8000010, 0, 0, 0}, "has an instruction that was not understood", false},    // bc of release 6
    {{0x24020005, 0x14800001, 0, 0x1000fffc}, "jumps back to its beginning", false}, // li; bnez; nop; b to the first
    {{0x24020005, 0x24030007, 0x1000fffe, 0}, "jumps back to its beginning", false}, // li; li; b to the second
};

static void compare(size_t which, const struct run *old, const struct run *new)
{
    ck_assert_msg(old->pc == new->pc, "number %zu: leads to 0x%lx and to 0x%lx", which, (long)old->pc, (long)new->pc);
    for (unsigned i = AT; i < REGISTERS; i++)
        if (i != K0 && i != K1 && !(i == RA && listed[which].may_call))
            ck_assert_msg(old->registers[i] == new->registers[i], "number %zu: register %u is 0x%lx and 0x%lx", which,
                          i, (long)old->registers[i], (long)new->registers[i]);
}

static void check(size_t which)
{
    uint8_t *at = space + FUNCTION_AT, *place = space + MOVED_AT;
    struct hs_moved_code moved = {.may_call = listed[which].may_call};
    bool is_moved = hs_inject_mips64.move(&moved, (uintptr_t)at, (const uint8_t *)listed[which].words,
                                          sizeof listed[which].words, 16, (uintptr_t)place);
    ck_assert_msg(is_moved == !listed[which].problem, "number %zu: %s", which, is_moved ? "moved" : moved.problem);
    if (!is_moved) {
        ck_assert_str_eq(moved.problem, listed[which].problem);
        return;
    }
    fill(space);
    memcpy(at, listed[which].words, moved.consumed);
    memcpy(place, moved.code, moved.length);
    __builtin___clear_cache((char *)space, (char *)place + moved.length);
    for (unsigned i = 0; i < TIMES; i++) {
        choose_registers();
        struct run old = carry_out(at, (uintptr_t)at), new = carry_out(place, 0);
        compare(which, &old, &new);
    }
}

START_TEST(test_listed)
{
    prepare();
    for (size_t i = 0; i < sizeof listed / sizeof *listed; i++)
        check(i);
}
END_TEST

// A patch reaches what has the same upper bits in its address as the instruction behind the jump.
START_TEST(test_reach)
{
    uint8_t bytes[HS_INJECT_PATCH];
    static const struct {
        uint64_t at, to;
        size_t length;
    } patches[] = {{0xfff7000000, 0xfff0000000, 8},
                   {0xfff7000000, 0xffefffff00, 0},
                   {0xffeffffff8, 0xfff0000000, 0},
                   {0xffeffffffc, 0xfff0000000, 8},
                   {0xffeffffff8, 0xffe0000000, 8}};
    for (size_t i = 0; i < sizeof patches / sizeof *patches; i++)
        ck_assert_uint_eq(hs_inject_mips64.patch(bytes, patches[i].at, patches[i].to), patches[i].length);
}
END_TEST

START_TEST(test_trap)
{
    uint32_t word;
    ck_assert_uint_eq(hs_inject_mips64.trap_length, sizeof word);
    memcpy(&word, hs_inject_mips64.trap, sizeof word);
    ck_assert_uint_eq(word >> 26, 0);
    ck_assert_uint_eq(word & 63, BREAK);
}
END_TEST

// Every constant that an island can have is what the register gets.
START_TEST(test_constants)
{
    static const uint64_t values[] = {0,
                                      1,
                                      0x7fff,
                                      0x8000,
                                      0xffff,
                                      0x10000,
                                      0x7fffffff,
                                      0x80000000,
                                      0xffffffff,
                                      0xfff7b01234,
                                      0xffff80000000,
                                      0x123456789abcdef0,
                                      UINT64_MAX,
                                      (uint64_t)-0x7008,
                                      (uint64_t)-0x80000001l};
    prepare();
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const struct hs_island island = {.is_loaded = true, .function = values[i], .hook = (uintptr_t)space};
        size_t length = hs_inject_mips64.island(space + MOVED_AT, &island);
        __builtin___clear_cache((char *)space + MOVED_AT, (char *)space + MOVED_AT + length);
        choose_registers();
        struct run run = carry_out(space + MOVED_AT, 0);
        ck_assert_uint_eq(run.pc, (uintptr_t)space);
        ck_assert_uint_eq(run.registers[T9], (uintptr_t)space);
        ck_assert_uint_eq(run.registers[24], values[i] ? values[i] : before.registers[24]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("moved");
    TCase *tests = tcase_create("moved");
    tcase_add_test(tests, test_listed);
    tcase_add_test(tests, test_reach);
    tcase_add_test(tests, test_trap);
    tcase_add_test(tests, test_constants);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
