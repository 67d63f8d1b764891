// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Frames of runtimes that make code while they run, of which no table tells.
#define _GNU_SOURCE
#include "run_time.h"

#include "unwind/known_frame.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void frame_planted(void (*callback)(void), const void *fp);
void frame_planted_at(void);
void frame_luajit(void (*callback)(void), void (*code)(void), void **state);
extern const uint8_t frame_process[], frame_process_called[], frame_process_end[];

NOINLINE static void call_planted(const void *fp)
{
    outer.depth = hs_backtrace_reason(outer.pcs, 256, &outer.info);
    frame_planted(take_inner, fp);
    OPAQUE(fp);
}

START_TEST(a_frame_that_was_replaced)
{
    for (int i = 0; i < 5; i++) {
        call_planted((const void *)8); // the same frames, of which only the frame pointer says that the stack starts
        ck_assert_int_eq(inner.depth, 2);
        call_planted(NULL);
        check_goes_on();
        ck_assert_int_eq(inner.info.guessed, 1);
        ck_assert_ptr_eq(inner.pcs[1], (void *)frame_planted_at);
    }
}
END_TEST

enum { MOST_IN_A_ROW = 200 };

bool __real_hs_call_site__in_chain(uintptr_t pc, uintptr_t caller, bool may_go);
bool __wrap_hs_call_site__in_chain(uintptr_t pc, uintptr_t caller, bool may_go);
static size_t times_asked;

bool __wrap_hs_call_site__in_chain(uintptr_t pc, uintptr_t caller, bool may_go)
{
    times_asked++;
    return __real_hs_call_site__in_chain(pc, caller, may_go);
}

struct linked {
    const void *next;
    const void *function;
};

NOINLINE static const void *return_address(void)
{
    return __builtin_return_address(0);
}

// As if V8 had replaced `count` frames more, one directly below the other.
NOINLINE static void call_planted_in_a_row(size_t count)
{
    struct linked frames[MOST_IN_A_ROW + 1];
    for (size_t i = 0; i < count; i++)
        frames[i] = (struct linked){frames + i + 1, frame_planted_at};
    frames[count] = (struct linked){__builtin_frame_address(0), return_address()};
    outer.depth = hs_backtrace_reason(outer.pcs, 256, &outer.info);
    frame_planted(take_inner, frames);
    OPAQUE(count);
}

START_TEST(frames_that_were_replaced_in_a_row)
{
    for (int again = 0; again < 2; again++)
        for (size_t count = 0; count <= MOST_IN_A_ROW; count += count < 16 ? 1 : 23) {
            times_asked = 0;
            call_planted_in_a_row(count);
            ck_assert_uint_le(times_asked, 40 * (count + 1)); // each is asked only for a few below it
            check_goes_on();
            ck_assert_int_eq(inner.info.guessed, 1);
            ck_assert_int_eq(inner.depth, outer.depth + 2 + (int)count);
            for (size_t i = 0; i <= count; i++)
                ck_assert_ptr_eq(inner.pcs[1 + i], (void *)frame_planted_at);
        }
}
END_TEST

// Such as a coroutine: what is in the frame pointer does not lead on, though it may look like frames. The function in
// it must not be directly behind a call.
START_TEST(a_stack_that_starts_at_a_function)
{
    const struct list {
        const struct list *next;
        void (*function)(void);
    } list[3] = {{list + 1, frame_planted_at}, {list + 2, frame_planted_at}, {list, frame_planted_at}};
    uint8_t *far = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const void *const fps[] = {list, list + 1, (void *)8, (const char *)list + 1, far};
    ck_assert_ptr_ne(far, MAP_FAILED);
    for (size_t i = 0; i < sizeof fps / sizeof *fps; i++)
        for (int again = 0; again < 2; again++) {
            call_planted(fps[i]);
            ck_assert_int_eq(inner.info.end, HS_BACKTRACE_COMPLETE);
            ck_assert_int_eq(inner.info.guessed, 0);
            ck_assert_int_eq(inner.depth, 2);
        }
}
END_TEST

// push %rbp; mov %rsp,%rbp; movabs $..., %rax; call *%rax; pop %rbp; ret
static const uint8_t framed[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x5d, 0xc3};

// Compiled code whose caller was deoptimized returns to a function's first byte, too.
START_TEST(a_caller_that_was_replaced)
{
    uint8_t code[sizeof framed];
    void (*const callback)(void) = take_inner;
    memcpy(code, framed, sizeof code);
    memcpy(code + 6, &callback, sizeof callback);
    void (*const compiled)(void) = (void (*)(void))make_code(code, sizeof code);
    for (int i = 0; i < 5; i++) {
        outer.depth = hs_backtrace_reason(outer.pcs, 256, &outer.info);
        frame_planted(compiled, NULL);
        check_goes_on();
        ck_assert_int_eq(inner.info.guessed, 1);
        ck_assert_ptr_eq(inner.pcs[2], (void *)frame_planted_at);
    }
}
END_TEST

__attribute__((aligned(32))) NOINLINE static void handle(void)
{
    OPAQUE(inner.depth);
}

// push %rbp; movabs $..., %rbp; movabs $..., %rax; call *%rax; pop %rbp; ret
static const uint8_t with_list[] = {0x55, 0x48, 0xbd, 0, 0, 0, 0, 0, 0,    0,    0,    0x48, 0xb8,
                                    0,    0,    0,    0, 0, 0, 0, 0, 0xff, 0xd0, 0x5d, 0xc3};

// Compiled code that keeps something else in the frame pointer: what it leads to may look like frames.
START_TEST(a_list_of_functions)
{
    const struct list {
        const struct list *next;
        void (*function)(void);
    } list[2] = {{list + 1, handle}, {NULL, handle}}, *const first = list;
    uint8_t code[sizeof with_list];
    void (*const callback)(void) = take_inner;
    memcpy(code, with_list, sizeof code);
    memcpy(code + 3, &first, sizeof first);
    memcpy(code + 13, &callback, sizeof callback);
    void (*const compiled)(void) = (void (*)(void))make_code(code, sizeof code);
    for (int i = 0; i < 5; i++) {
        compiled();
        ck_assert_int_ne(inner.info.end, HS_BACKTRACE_COMPLETE);
        ck_assert_int_eq(inner.info.guessed, 0);
        ck_assert_int_eq(inner.depth, 2);
    }
}
END_TEST

// sub $0x60,%rsp; mov $3,%ebp; call *%rdi; add $0x60,%rsp; jmp *%r14
static const uint8_t trace[] = {0x48, 0x83, 0xec, 0x60, 0xbd, 3,    0,    0,    0,
                                0xff, 0xd7, 0x48, 0x83, 0xc4, 0x60, 0x41, 0xff, 0xe6};

static void (*make_trace(void))(void)
{
    return (void (*)(void))make_code(trace, sizeof trace);
}

NOINLINE static void run_luajit(void (*callback)(void), void (*code)(void), void **state)
{
    frame_luajit(callback, code, state);
    state[10] = state[10] ? state : NULL; // the frame is no more
    OPAQUE(code);
}

NOINLINE static void call_luajit(void (*code)(void), void **state)
{
    outer.depth = hs_backtrace_reason(outer.pcs, 256, &outer.info);
    run_luajit(take_inner, code, state);
    OPAQUE(code);
}

// Not on the stack. Not NULL at 10: to be set.
static void **make_state(int i)
{
    static void *states[2][12];
    states[i][1] = (void *)0x10621;
    states[i][10] = states[i];
    return states[i];
}

START_TEST(machine_code_of_luajit)
{
    void (*code)(void) = make_trace();
    for (int i = 0; i < 10; i++) {
        call_luajit(code, make_state(i % 2));
        check_goes_on();
        ck_assert_int_eq(inner.info.guessed, 1);
        ck_assert_int_eq(inner.depth, outer.depth + 3);
    }
}
END_TEST

static void (*nested_code)(void);

NOINLINE static void call_nested(void)
{
    run_luajit(take_inner, nested_code, make_state(1));
    OPAQUE(nested_code);
}

// A coroutine runs on a frame of its own, below that of what resumed it. Whichever was found last, neither is left out.
START_TEST(machine_code_of_a_coroutine)
{
    nested_code = make_trace();
    for (int i = 0; i < 4; i++) {
        call_luajit(nested_code, make_state(i % 2)); // the last one that was found
        outer.depth = hs_backtrace_reason(outer.pcs, 256, &outer.info);
        run_luajit(call_nested, nested_code, make_state(0));
        check_goes_on();
        ck_assert_int_eq(inner.depth, outer.depth + 6);
    }
}
END_TEST

// What points back at the frame is no state of LuaJIT.
START_TEST(a_pointer_to_the_frame)
{
    static void *object[12];
    void (*code)(void) = make_trace();
    object[10] = object;
    call_luajit(code, object);
    ck_assert_int_eq(inner.info.end, HS_BACKTRACE_NO_RULE);
    ck_assert_int_eq(inner.depth, 2);
}
END_TEST

// More often than it is looked for: afterwards, a new state is found at one of many calls, and the known one at each.
START_TEST(machine_code_of_others)
{
    void (*code)(void) = make_trace();
    void **known = make_state(0), **other = make_state(1);
    call_luajit(code, known);
    check_goes_on();
    other[10] = NULL;
    for (int i = 0; i < 300; i++) {
        call_luajit(code, other);
        ck_assert_int_eq(inner.info.end, HS_BACKTRACE_NO_RULE);
        ck_assert_int_eq(inner.depth, 2);
    }
    call_luajit(code, known);
    check_goes_on();
    int calls = 0;
    do
        call_luajit(code, make_state(1));
    while (inner.info.end == HS_BACKTRACE_NO_RULE && ++calls < 4096);
    check_goes_on();
    ck_assert_int_gt(calls, 0);
}
END_TEST

static void call_process(uintptr_t code, void **fp)
{
    ((void (*)(void (*)(void), void **))code)(take_inner, fp);
    ck_assert_int_eq(inner.info.guessed, 1);
    ck_assert_int_eq(inner.depth, 3);
}

// It starts where nothing was called, without a frame pointer.
START_TEST(stack_of_an_erlang_process)
{
    static void *frames[4];
    uintptr_t code = make_code(frame_process, (size_t)(frame_process_end - frame_process));
    frames[0] = frames + 2;
    frames[1] = (void *)(code + (uintptr_t)(frame_process_called - frame_process));
    frames[3] = (void *)code;
    for (int i = 0; i < 4; i++) {
        frames[2] = NULL;
        call_process(code, frames);
        ck_assert_int_eq(inner.info.end, HS_BACKTRACE_COMPLETE);
        frames[2] = (void *)8;
        call_process(code, frames);
        ck_assert_int_eq(inner.info.end, HS_BACKTRACE_NO_RULE);
    }
}
END_TEST

// Only machine code that was made at run time returns to the start of a process.
START_TEST(code_of_a_file_starts_no_process)
{
    const uintptr_t code = make_code(frame_process, (size_t)(frame_process_end - frame_process));
    const void *const start[] = {NULL, (void *)code};
    for (int i = 0; i < 4; i++) {
        call_pypy((uintptr_t)frame_pypy, PYPY_OTHER, 16, start);
        ck_assert_int_eq(inner.info.end, HS_BACKTRACE_NO_RULE);
        ck_assert_int_eq(inner.depth, 2);
    }
}
END_TEST

// Another thread may unmap what lies behind the end of a stack. That it was readable is remembered.
START_TEST(memory_behind_a_stack)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    uint8_t *end = (uint8_t *)mmap(NULL, 2 * HS_STACK_PAGE, PROT_READ | PROT_WRITE, flags, -1, 0) + HS_STACK_PAGE;
    ck_assert(hs_memory_readable((uintptr_t)end, 1));
    ck_assert_int_eq(munmap(end, HS_STACK_PAGE), 0);
    uintptr_t sp = (uintptr_t)end - 64;
    struct hs_stack_memory memory;
    struct hs_registers caller;
    hs_stack_memory_start(&memory, sp);
    ck_assert(!hs_luajit_frame__find(&memory, sp, &caller));
    ck_assert(!hs_pypy_frame__find(&memory, sp, sp + HS_PYPY_PUSHED_MAX, &caller));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("run_time");
    TCase *cases = tcase_create("run_time");
    tcase_add_test(cases, a_frame_that_was_replaced);
    tcase_add_test(cases, frames_that_were_replaced_in_a_row);
    tcase_add_test(cases, a_stack_that_starts_at_a_function);
    tcase_add_test(cases, a_caller_that_was_replaced);
    tcase_add_test(cases, a_list_of_functions);
    tcase_add_test(cases, machine_code_of_luajit);
    tcase_add_test(cases, machine_code_of_a_coroutine);
    tcase_add_test(cases, a_pointer_to_the_frame);
    tcase_add_test(cases, machine_code_of_others);
    tcase_add_test(cases, stack_of_an_erlang_process);
    tcase_add_test(cases, code_of_a_file_starts_no_process);
    tcase_add_test(cases, memory_behind_a_stack);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
