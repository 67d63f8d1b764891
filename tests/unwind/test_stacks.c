// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Stacks of all sorts: threads with stacks of their own, coroutines, alternate signal stacks, forked children.
#define _GNU_SOURCE
#include "shapes.h"
#include "support.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static atomic_int failures;

NOINLINE static void leaf(void *unused)
{
    (void)unused;
    failures += !side_stack_matches(3);
}

NOINLINE static void descend(int depth, unsigned shape)
{
    ENTER();
    if (depth)
        descend(depth - 1, shape + depth);
    else
        shape_call(shape % 4, 7, leaf, NULL);
    OPAQUE(depth);
    LEAVE();
}

static void *thread_main(void *unused)
{
    (void)unused;
    for (int i = 0; i < 50; i++)
        descend(i % 20, (unsigned)i);
    return NULL;
}

static void run_thread(const pthread_attr_t *attributes)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, attributes, thread_main, NULL), 0);
    pthread_join(thread, NULL);
}

START_TEST(threads_with_given_stacks)
{
    enum { SIZE = 1 << 18 };
    pthread_attr_t attributes;
    void *heap = NULL;
    ck_assert_int_eq(posix_memalign(&heap, 4096, SIZE), 0);
    static char global[SIZE] __attribute__((aligned(64)));
    pthread_attr_init(&attributes);
    ck_assert_int_eq(pthread_attr_setstack(&attributes, heap, SIZE), 0);
    run_thread(&attributes);
    ck_assert_int_eq(pthread_attr_setstack(&attributes, global, SIZE), 0);
    run_thread(&attributes);
    run_thread(NULL);
    ck_assert_int_eq(failures, 0);
}
END_TEST

static size_t mapped_kib(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    ck_assert_int_eq(fscanf(file, "%zu", &pages), 1);
    fclose(file);
    return pages * 4;
}

// Memory of ended threads is used again.
START_TEST(many_threads)
{
    for (int i = 0; i < 50; i++)
        run_thread(NULL);
    size_t before = mapped_kib();
    for (int i = 0; i < 2000; i++)
        run_thread(NULL);
    ck_assert_uint_lt(mapped_kib(), before + 4096);
    ck_assert_int_eq(failures, 0);
}
END_TEST

START_TEST(threads_at_once)
{
    enum { THREADS = 40 };
    pthread_t threads[THREADS];
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < THREADS; i++)
            ck_assert_int_eq(pthread_create(&threads[i], NULL, thread_main, NULL), 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    ck_assert_int_eq(failures, 0);
}
END_TEST

enum { COROUTINES = 6, COROUTINE_STACK = 1 << 17, SWITCHES = 200 };
#ifdef __GLIBC__ // musl has no makecontext
static struct coroutine {
    ucontext_t context;
    struct side_stack side;
    char *stack;
} coroutines[COROUTINES];
static ucontext_t scheduler;
static int current;

static void yield(void)
{
    coroutines[current].side = side;
    side.depth = 0;
    swapcontext(&coroutines[current].context, &scheduler);
}

NOINLINE static void coroutine_leaf(void *unused)
{
    (void)unused;
    failures += !side_stack_matches(3);
    yield();
    failures += !side_stack_matches(3);
}

NOINLINE static void coroutine_descend(int depth)
{
    ENTER();
    if (depth)
        coroutine_descend(depth - 1);
    else
        shape_call((unsigned)current % 4, 3, coroutine_leaf, NULL);
    OPAQUE(depth);
    LEAVE();
}

static void coroutine_main(void)
{
    for (int i = 0;; i++)
        coroutine_descend((current * 3 + i) % 11);
}

START_TEST(coroutines_by_swapcontext)
{
    for (int i = 0; i < COROUTINES; i++) {
        coroutines[i].stack = mmap(NULL, COROUTINE_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        getcontext(&coroutines[i].context);
        coroutines[i].context.uc_stack.ss_sp = coroutines[i].stack;
        coroutines[i].context.uc_stack.ss_size = COROUTINE_STACK;
        makecontext(&coroutines[i].context, coroutine_main, 0);
    }
    for (int i = 0; i < SWITCHES; i++) {
        current = i * 7 % COROUTINES;
        side = coroutines[current].side;
        swapcontext(&scheduler, &coroutines[current].context);
        side.depth = 0;
        descend(i % 10, (unsigned)i);
    }
    ck_assert_int_eq(failures, 0);
}
END_TEST
#endif

static jmp_buf environment;

NOINLINE static void jump(void)
{
    longjmp(environment, 1);
}

NOINLINE static void jump_out(int depth)
{
    static void (*volatile leave)(void) = jump;
    ENTER();
    if (depth) {
        jump_out(depth - 1);
        return;
    }
    failures += !side_stack_matches(0);
    leave();
}

START_TEST(longjmp_out)
{
    for (volatile int i = 0; i < 100; i++) {
        side.depth = 0;
        if (!setjmp(environment))
            jump_out(i % 30);
        side.depth = 0;
        descend(i % 9, (unsigned)i);
    }
    ck_assert_int_eq(failures, 0);
}
END_TEST

static atomic_int handled;

// The stack of a handler goes on, through the trampoline and the interrupted frame, with the frames of the side stack.
static void on_signal(int number, siginfo_t *info, void *context)
{
    void *pcs[200];
    struct hs_backtrace_info how;
    int depth = hs_backtrace_reason(pcs, 200, &how), at = 0;
    (void)number, (void)info;
    uintptr_t interrupted = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    while (at < depth && (uintptr_t)pcs[at] != interrupted)
        at++;
    bool found = at < depth && how.end == HS_BACKTRACE_COMPLETE;
    // raise() and what it calls are between the interrupted pc and the side stack.
    while (found && at < depth && pcs[at] != side.returns[side.depth - 1])
        at++;
    for (int i = 0; i < side.depth; i++)
        found = found && at + i < depth && pcs[at + i] == side.returns[side.depth - 1 - i];
    failures += !found;
    handled++;
    if (number == SIGUSR1)
        raise(SIGUSR2);
}

NOINLINE static void raise_deep(int depth)
{
    ENTER();
    if (depth)
        raise_deep(depth - 1);
    else
        raise(SIGUSR1);
    OPAQUE(depth);
    LEAVE();
}

START_TEST(signals)
{
    static char alternate[1 << 16];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    struct sigaction action = {.sa_flags = SA_SIGINFO | (_i & 1 ? SA_ONSTACK : 0)};
    action.sa_sigaction = on_signal;
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    action.sa_flags = SA_SIGINFO | (_i & 2 ? SA_ONSTACK : 0);
    sigaction(SIGUSR2, &action, NULL);
    for (int i = 0; i < 60; i++) {
        raise_deep(i % 20);
        descend(i % 7, (unsigned)i);
    }
    ck_assert_int_eq(handled, 120);
    ck_assert_int_eq(failures, 0);
}
END_TEST

static timer_t timer;
static void on_timer(int number)
{
    void *pcs[64];
    (void)number;
    failures += hs_backtrace(pcs, 64) < 5;
    handled++;
}

// Signals at any time, in threads that walk all the time.
START_TEST(signals_while_walking)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
    struct itimerspec period = {{0, 200000}, {0, 200000}}, stop = {{0, 0}, {0, 0}};
    signal(SIGPROF, on_timer);
    ck_assert_int_eq(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    timer_settime(timer, 0, &period, NULL);
    for (int i = 0; handled < 1000; i++) {
        descend(i % 30, (unsigned)i);
        if (i % 100 == 0)
            hs_unwind_forget_rules();
    }
    timer_settime(timer, 0, &stop, NULL);
    ck_assert_int_eq(failures, 0);
}
END_TEST

START_TEST(forked_children)
{
    descend(3, 1);
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        if (!child) {
            descend(5, 2);
            pthread_t threads[4];
            for (int t = 0; t < 4; t++)
                pthread_create(&threads[t], NULL, thread_main, NULL);
            descend(7, 3);
            for (int t = 0; t < 4; t++)
                pthread_join(threads[t], NULL);
            _exit(failures);
        }
        int status;
        waitpid(child, &status, 0);
        ck_assert_int_eq(status, 0);
    }
    descend(4, 1);
    ck_assert_int_eq(failures, 0);
}
END_TEST

static int call_is_found;

static void on_fault(int number, siginfo_t *info, void *context)
{
    void *pcs[100], *in_handler[100];
    struct hs_backtrace_info how, how_in_handler;
    (void)number, (void)info;
    int depth = hs_backtrace_context(pcs, 100, context, &how);
    int depth_in_handler = hs_backtrace_reason(in_handler, 100, &how_in_handler);
    if (call_is_found) {
        failures += depth < 4 || how.end != HS_BACKTRACE_COMPLETE || how.guessed;
        failures += depth_in_handler < depth || how_in_handler.end != HS_BACKTRACE_COMPLETE;
        failures +=
            memcmp(pcs + 1, in_handler + depth_in_handler - (depth - 1), (size_t)(depth - 1) * sizeof *pcs) != 0;
    } else {
        failures += depth != 1 || how.end != HS_BACKTRACE_NO_RULE;
    }
    handled++;
    siglongjmp(environment, 1);
}

static void go_to(void (*volatile nowhere)(void))
{
    if (!sigsetjmp(environment, 1))
        nowhere();
}

// pc is in no module, and on a page that cannot be read: the caller is where the call has left it.
START_TEST(call_to_nowhere)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = on_fault;
    sigaction(SIGSEGV, &action, NULL);
    call_is_found = true;
    go_to((void (*)(void))0x12345);
    go_to(NULL);
    ck_assert_int_eq(handled, 2);
    ck_assert_int_eq(failures, 0);
}
END_TEST

// No call has left what lies there: the walk ends and says so.
START_TEST(jump_to_nowhere)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = on_fault;
    sigaction(SIGSEGV, &action, NULL);
    if (!sigsetjmp(environment, 1))
        __asm__ volatile("sub $136, %%rsp\n lea 1f(%%rip), %%rax\n push %%rax\n jmp *%0\n 1: ud2" ::"r"(0x12345L)
                         : "rax");
    ck_assert_int_eq(handled, 1);
    ck_assert_int_eq(failures, 0);
}
END_TEST

#ifdef __x86_64__
// Each is interrupted where it reads address 0. The table of the first two says that the return address is a word
// further up, where a zero is. The code of the first one knows better, that of the second says nothing, and the third
// is the outermost one of its stack.
__asm__(".text\n.p2align 4\n.type one_off, @function\none_off:\n    .cfi_startproc\n    .cfi_def_cfa_offset 16\n"
        "    mov 0, %ecx\n    ret\n    .cfi_endproc\n    .size one_off, . - one_off\n"
        "    .p2align 4\n.type one_off_unknown, @function\none_off_unknown:\n    .cfi_startproc\n"
        "    .cfi_def_cfa_offset 16\n    mov %rax, %rsp\n    mov 0, %ecx\n    ret\n    .cfi_endproc\n"
        "    .size one_off_unknown, . - one_off_unknown\n"
        "    .p2align 4\n.type outermost, @function\noutermost:\n    .cfi_startproc\n    mov 0, %ecx\n"
        "    ret\n    .cfi_endproc\n    .size outermost, . - outermost\n"
        // call_on_zero(function): a zero is above its return address; enter_on_zero: in place of it.
        "    .p2align 4\n.type call_on_zero, @function\ncall_on_zero:\n    .cfi_startproc\n    push $0\n"
        "    .cfi_adjust_cfa_offset 8\n    lea -8(%rsp), %rax\n    call *%rdi\n    add $8, %rsp\n"
        "    .cfi_adjust_cfa_offset -8\n    ret\n    .cfi_endproc\n    .size call_on_zero, . - call_on_zero\n"
        "    .p2align 4\n.type enter_on_zero, @function\nenter_on_zero:\n    .cfi_startproc\n    push $0\n"
        "    .cfi_adjust_cfa_offset 8\n    jmp *%rdi\n    .cfi_endproc\n    .size enter_on_zero, . - enter_on_zero");
void one_off(void) __attribute__((visibility("hidden")));
void one_off_unknown(void) __attribute__((visibility("hidden")));
void outermost(void) __attribute__((visibility("hidden")));
void call_on_zero(void (*function)(void)) __attribute__((visibility("hidden")));
void enter_on_zero(void (*function)(void)) __attribute__((visibility("hidden")));

static struct {
    int frames, callers;
    struct hs_backtrace_info info;
} interrupted[2];

// Twice: a remembered stack has to end as the first one.
static sigjmp_buf after_fault;

static void on_fault_in_frame(int number)
{
    void *pcs[64];
    for (int i = 0; i < 2; i++) {
        interrupted[i].frames = hs_backtrace_reason(pcs, 64, &interrupted[i].info);
        interrupted[i].callers = 0;
        for (int frame = 0; frame < interrupted[i].frames; frame++)
            interrupted[i].callers += (uintptr_t)pcs[frame] - (uintptr_t)call_on_zero < 32;
    }
    siglongjmp(after_fault, number); // of the outermost one there is no other way back
}

static void check_interrupted(void (*call)(void (*function)(void)), void (*function)(void), int end, bool goes_on)
{
    if (!sigsetjmp(after_fault, 1))
        call(function);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(interrupted[i].info.end, end);
        ck_assert_int_eq(interrupted[i].callers, goes_on);
    }
}

START_TEST(a_zero_alone_is_no_end)
{
    signal(SIGSEGV, on_fault_in_frame);
    check_interrupted(call_on_zero, one_off, HS_END_ROOT, true);
    check_interrupted(call_on_zero, one_off_unknown, HS_END_BAD_STACK, false);
    check_interrupted(enter_on_zero, outermost, HS_END_ROOT, false);
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("stacks");
    TCase *cases = tcase_create("stacks");
    tcase_add_test(cases, threads_with_given_stacks);
    tcase_add_test(cases, many_threads);
    tcase_add_test(cases, threads_at_once);
#ifdef __GLIBC__
    tcase_add_test(cases, coroutines_by_swapcontext);
#endif
    tcase_add_test(cases, longjmp_out);
    tcase_add_loop_test(cases, signals, 0, 4);
    tcase_add_test(cases, signals_while_walking);
    tcase_add_test(cases, forked_children);
#ifdef __x86_64__
    tcase_add_test(cases, a_zero_alone_is_no_end);
#endif
    tcase_add_test(cases, call_to_nowhere);
    tcase_add_test(cases, jump_to_nowhere);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
