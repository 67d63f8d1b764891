// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Stacks walked from registers and a copy, held against the same stacks walked as they are.
#include "unwind/include/heapsonde/unwind.h"
#include "unwind/rule_cache.h"
#include "unwind/snapshot.h"
#include "unwind/stack_memory.h"

#include "support.h"
#include "tests/rounds.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CAPACITY = 256, COPY = 65536, DEPTH = 20, PAGE = 65536 };

extern char **environ;

static struct hs_memo *memo;
static struct hs_snapshot snapshot;
static uint8_t copy[COPY];
static uintptr_t truth[CAPACITY];
static uint32_t truth_depth;
static volatile uintptr_t sink;

// The registers and the stack of the function that this is in.
__attribute__((noinline)) static void capture(void)
{
    hs_capture_all(&snapshot.registers);
    uintptr_t *values = snapshot.registers.values;
    snapshot.copy = copy;
    snapshot.size = (uintptr_t)environ - values[HS_DWARF_SP]; // the environment lies above the first frame
    ck_assert_uint_lt(snapshot.size, sizeof copy);
    memcpy(copy, (const void *)values[HS_DWARF_SP], snapshot.size);
    truth_depth = (uint32_t)hs_backtrace((void **)truth, CAPACITY); // the first is in here, too
}

__attribute__((noinline)) static void recurse(unsigned left, uintptr_t a, uintptr_t b)
{
    volatile uintptr_t room[1 + left % 5 * 3];
    room[0] = a;
    if (left)
        recurse(left - 1, a + b, a ^ b);
    else
        capture();
    sink += room[0] + a + b; // no tail call; callee-saved registers are in use
}

static void prepare(void)
{
    if (!memo)
        memo = hs_memo_create(calloc(1, hs_memo_size(CAPACITY)), CAPACITY);
    recurse(DEPTH, 3, 5);
}

// What names are looked up for: hs_call_length() of host/symbols/symbols.h before the frame.
#ifdef __mips__
enum { BEFORE = 5 };
#else
enum { BEFORE = 1 };
#endif

// Also at the first instruction of a function, before which another one ends.
START_TEST(the_interrupted_instruction_is_looked_up)
{
    prepare();
    hs_memo_take_snapshot(memo, &snapshot);
    uintptr_t pc = snapshot.registers.values[HS_DWARF_PC];
#ifdef __arm__
    pc &= ~(uintptr_t)1; // Thumb
#endif
    uintptr_t looked_up = memo->pcs[memo->depth - 1] - BEFORE;
    ck_assert_uint_le(looked_up - pc, 3);
}
END_TEST

START_TEST(a_whole_copy_gives_the_whole_stack)
{
    prepare();
    hs_memo_take_snapshot(memo, &snapshot);
    ck_assert_int_eq(memo->end, HS_END_ROOT);
    ck_assert(!memo->guessed);
    // The innermost frame is the one that was interrupted; the others are return addresses.
    ck_assert_uint_eq(memo->depth, truth_depth);
    ck_assert_uint_eq(memo->pcs[memo->depth - 1], hs_frame_address(snapshot.registers.values[HS_DWARF_PC], true));
    for (uint32_t i = 0; i + 1 < truth_depth; i++)
        ck_assert_uint_eq(memo->pcs[i], truth[truth_depth - 1 - i]);
}
END_TEST

#ifdef __x86_64__
// Behind the end of a function lies another that nothing speaks of: that one begins there can only be guessed.
__asm__(".text\n.p2align 4\n.type told, @function\ntold:\n    ret\n    .p2align 4\n"
        "    pushq %rbx\n    subq $16, %rsp\n    call *%rdi\n    addq $16, %rsp\n    popq %rbx\n    ret\n"
        ".size told, . - told");
extern const char told[] __attribute__((visibility("hidden")));

START_TEST(a_guess_is_marked)
{
    prepare();
    volatile uintptr_t untold = (uintptr_t)told;
    untold += 16; // by an instruction of its own: one that makes the address would speak of it
    ((void (*)(void (*)(void)))untold)(capture);
    hs_memo_take_snapshot(memo, &snapshot);
    ck_assert_int_eq(memo->end, HS_END_ROOT);
    ck_assert(memo->guessed);
    ck_assert_uint_eq(memo->depth, truth_depth);
    for (uint32_t i = 0; i + 1 < truth_depth; i++) {
        ck_assert_uint_eq(memo->pcs[i], truth[truth_depth - 1 - i]);
        ck_assert_int_eq(hs_memo_guessed_from(memo, i + 1), memo->pcs[i + 1] - untold < 32);
    }
}
END_TEST

// The table says that the return address is a word further up than it is, as of what is called within one function. Of
// the second one the code says nothing; with the third one it agrees.
__asm__(
    ".text\n.p2align 4\n.type one_off, @function\none_off:\n    .cfi_startproc\n    .cfi_def_cfa_offset 16\n"
    "    nop\n    ret\n    .cfi_endproc\n    .size one_off, . - one_off\n"
    "    .p2align 4\n.type one_off_unknown, @function\none_off_unknown:\n    .cfi_startproc\n"
    "    .cfi_def_cfa_offset 16\n    mov %rax, %rsp\n    nop\n    ret\n    .cfi_endproc\n"
    "    .size one_off_unknown, . - one_off_unknown\n"
    "    .p2align 4\n.type outermost, @function\noutermost:\n    .cfi_startproc\n    nop\n    ret\n    .cfi_endproc\n"
    "    .size outermost, . - outermost\n"
    "    .p2align 4\n.type calls, @function\ncalls:\n    .cfi_startproc\n    .cfi_undefined rip\n    call *%rax\n"
    "called_from:\n    ret\n    .cfi_endproc\n    .size calls, . - calls");
extern const char one_off[] __attribute__((visibility("hidden")));
extern const char one_off_unknown[] __attribute__((visibility("hidden")));
extern const char outermost[] __attribute__((visibility("hidden")));
extern const char called_from[] __attribute__((visibility("hidden")));

static void interrupt_at(const char *code, uintptr_t first_word)
{
    const uintptr_t words[] = {first_word, 0, 0, 0};
    prepare();
    snapshot.registers.values[HS_DWARF_PC] = (uintptr_t)code;
    memcpy(copy, words, sizeof words);
    hs_memo_take_snapshot(memo, &snapshot);
}

START_TEST(a_zero_alone_is_no_end)
{
    interrupt_at(one_off + 1, (uintptr_t)called_from);
    ck_assert_int_eq(memo->end, HS_END_ROOT);
    ck_assert_uint_eq(memo->depth, 2);
    ck_assert_uint_eq(memo->pcs[0], (uintptr_t)called_from);
    interrupt_at(one_off_unknown + 3, (uintptr_t)called_from);
    ck_assert_int_eq(memo->end, HS_END_BAD_STACK);
    ck_assert_uint_eq(memo->depth, 1);
    interrupt_at(outermost + 1, 0);
    ck_assert_int_eq(memo->end, HS_END_ROOT);
    ck_assert_uint_eq(memo->depth, 1);
}
END_TEST

// A table without any rule.
__asm__(".text\n.p2align 4\n.type without_rules, @function\nwithout_rules:\n    .cfi_startproc simple\n"
        "    mov %rax, %rsp\n    nop\n    ret\n    .cfi_endproc\n    .size without_rules, . - without_rules");
extern const char without_rules[] __attribute__((visibility("hidden")));

START_TEST(a_table_without_rules_is_none)
{
    prepare();
    snapshot.registers.values[HS_DWARF_FP] = 1;
    snapshot.registers.values[HS_DWARF_PC] = (uintptr_t)without_rules + 3;
    hs_memo_take_snapshot(memo, &snapshot);
    ck_assert_int_eq(memo->end, HS_END_NO_RULE);
    ck_assert_uint_eq(memo->depth, 1);
}
END_TEST
#endif

#ifdef __arm__
// As the kernel tells it: without the bit that says Thumb.
START_TEST(what_kind_of_code_it_is_is_seen)
{
    prepare();
    uintptr_t *pc = &snapshot.registers.values[HS_DWARF_PC], whole = *pc;
    *pc &= ~(uintptr_t)1;
    hs_memo_take_snapshot(memo, &snapshot);
    ck_assert_int_eq(memo->end, HS_END_ROOT);
    ck_assert_uint_eq(memo->depth, truth_depth);
    ck_assert_uint_eq(memo->pcs[memo->depth - 1], hs_frame_address(whole, true));
}
END_TEST
#endif

START_TEST(a_cut_copy_gives_the_inner_frames)
{
    prepare();
    uint32_t before = 0;
    size_t whole = snapshot.size;
    for (snapshot.size = 0; snapshot.size < whole; snapshot.size += 40) {
        // Exactly what may be read, so that a read behind it is found.
        uint8_t *exact = malloc(snapshot.size ? snapshot.size : 1);
        memcpy(exact, copy, snapshot.size);
        snapshot.copy = exact;
        hs_memo_take_snapshot(memo, &snapshot);
        ck_assert(memo->depth >= 1 && memo->depth >= before && memo->depth <= truth_depth);
        ck_assert_int_eq(memo->end, memo->depth == truth_depth ? memo->end : HS_END_CUT_COPY);
        for (uint32_t i = 1; i < memo->depth; i++)
            ck_assert_uint_eq(memo->pcs[memo->depth - 1 - i], truth[i]);
        before = memo->depth;
        free(exact);
    }
    ck_assert_uint_gt(before, DEPTH);
}
END_TEST

// Any bytes: the walk ends, and its reason is one of those.
START_TEST(damaged_copies_end)
{
    unsigned seed = 20260101;
    printf("seed %u\n", seed);
    for (int round = 0; round < 3000; round++) {
        prepare();
        for (int i = 0; i < 200; i++)
            copy[(size_t)rand_r(&seed) % snapshot.size] = (uint8_t)rand_r(&seed);
        uintptr_t *values = snapshot.registers.values;
        if (round % 3 == 0)
            values[rand_r(&seed) % HS_DWARF_REGISTERS] = (uintptr_t)rand_r(&seed) << (rand_r(&seed) % 33);
        if (round % 7 == 0)
            values[HS_DWARF_PC] = truth[(size_t)rand_r(&seed) % truth_depth] + (uintptr_t)(rand_r(&seed) % 64);
        hs_memo_take_snapshot(memo, &snapshot);
        ck_assert(memo->depth >= 1 && memo->depth <= CAPACITY && (int)memo->end < HS_END_COUNT);
    }
}
END_TEST

START_TEST(without_a_copy_there_is_the_innermost_frame)
{
    prepare();
    snapshot.copy = NULL;
    hs_memo_take_snapshot(memo, &snapshot);
    ck_assert_uint_eq(memo->depth, 1);
    ck_assert_int_eq(memo->end, HS_END_CUT_COPY);
}
END_TEST

static char *page;

static void *come_and_go(void *rounds)
{
    for (unsigned i = 0; i < *(unsigned *)rounds; i++)
        if (mprotect(page, PAGE, i % 2 ? PROT_READ : PROT_NONE))
            return page;
    return NULL;
}

// Code that is generated may go between any two instructions.
START_TEST(memory_that_goes_is_copied_or_not)
{
    unsigned rounds = test_rounds(40000), whole = 0;
    char bytes[8];
    void *failed;
    pthread_t thread;
    page = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(page, MAP_FAILED);
    ck_assert_int_eq(mprotect(page + PAGE, PAGE, PROT_NONE), 0);
    bool can_read =
        syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0) == 0; // QEMU's user mode has no such call
    for (int may_go = 0; may_go < 1 + can_read; may_go++) {
        ck_assert(
            hs_memory_copy((uintptr_t)page + PAGE - 32, bytes, sizeof bytes, may_go)); // a page is tried by 16 bytes
        ck_assert(!hs_memory_copy((uintptr_t)page + PAGE - sizeof bytes + 1, bytes, sizeof bytes, may_go));
        ck_assert(!hs_memory_copy((uintptr_t)page + PAGE, bytes, sizeof bytes, may_go));
    }
    if (!can_read)
        return;
    ck_assert_int_eq(pthread_create(&thread, NULL, come_and_go, &rounds), 0);
    for (unsigned i = 0; i < rounds; i++)
        whole += hs_memory_copy((uintptr_t)page, bytes, sizeof bytes, true);
    ck_assert_int_eq(pthread_join(thread, &failed), 0);
    ck_assert_ptr_null(failed);
    printf("%u of %u copies\n", whole, rounds);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("snapshot");
    TCase *cases = tcase_create("snapshot");
    tcase_add_test(cases, a_whole_copy_gives_the_whole_stack);
    tcase_add_test(cases, the_interrupted_instruction_is_looked_up);
#ifdef __x86_64__
    tcase_add_test(cases, a_guess_is_marked);
    tcase_add_test(cases, a_zero_alone_is_no_end);
    tcase_add_test(cases, a_table_without_rules_is_none);
#endif
#ifdef __arm__
    tcase_add_test(cases, what_kind_of_code_it_is_is_seen);
#endif
    tcase_add_test(cases, a_cut_copy_gives_the_inner_frames);
    tcase_add_test(cases, damaged_copies_end);
    tcase_add_test(cases, without_a_copy_there_is_the_innermost_frame);
    tcase_add_test(cases, memory_that_goes_is_copied_or_not);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
