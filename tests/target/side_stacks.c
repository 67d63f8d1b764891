// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Functions of many shapes that call each other at random, several threads at once: directly, by pointer, out of libc,
// in handlers of signals and over jumps. side_stack.c checks the stacks.
#define _GNU_SOURCE
#include "side_stack.h"
#include "tests/rounds.h"

#include <alloca.h>
#include <pthread.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 3, ROUNDS = 1, CALLS_PER_ROUND = 1500, MOST_DEPTH = 60, ALTERNATE_SIZE = 4 << 20 };

#define QUIET     __attribute__((no_instrument_function))
#define FUNCTION  static __attribute__((noinline)) long
#define BARRIER() __asm__ volatile("" ::: "memory")

typedef long (*shape)(long);

static __thread int calls_left, depth;
static __thread sigjmp_buf after_fault;
static volatile long sink;
static volatile long *unmapped;

static QUIET shape next_shape(void);
#define NEXT(a) (next_shape()(a))

FUNCTION ends(long a)
{
    return a ^ sink;
}

FUNCTION plain(long a)
{
    long result = NEXT(a);
    BARRIER();
    return result + 1;
}

FUNCTION twice(long a)
{
    return NEXT(a) + NEXT(a + 1);
}

// Would be jumps without -fno-optimize-sibling-calls.
FUNCTION jumps(long a)
{
    return NEXT(a + 3);
}

FUNCTION jumps_or_returns(long a)
{
    if (a & 4)
        return a * 5;
    if (a & 8)
        return jumps(a);
    return NEXT(a);
}

FUNCTION recursive(long a)
{
    long level = a & 15;
    if (level == 0 || calls_left <= 0)
        return NEXT(a);
    long result = recursive(a - 1);
    BARRIER();
    return result * 3 + level;
}

FUNCTION is_odd(long a);
FUNCTION is_even(long a)
{
    return (a & 7) == 0 ? NEXT(a) : is_odd(a - 1);
}

FUNCTION is_odd(long a)
{
    return (a & 7) == 0 ? 0 : is_even(a - 1);
}

FUNCTION saves_many(long a)
{
    long b = sink, c = sink, d = sink, e = sink, f = sink, g = sink, h = sink, i = sink, j = sink;
    long result = NEXT(a);
    sink = b + c * d - e;
    return result + f + g * h + i + c + d + e + j;
}

FUNCTION on_the_stack(long a)
{
    size_t size = (size_t)(a & 255) + 40;
    char *bytes = alloca(size);
    memset(bytes, (int)a, size);
    long result = NEXT(a);
    return result + bytes[size / 2];
}

FUNCTION in_a_loop(long a)
{
    long result = 0;
    for (long i = 0; i < 1 + (a & 1); i++) {
        char bytes[(a & 127) + i * 64 + 16];
        memset(bytes, (int)i, sizeof bytes);
        result += NEXT(a + i) + bytes[a & 7];
    }
    return result;
}

static __attribute__((noinline)) long variadic_sum(const char *kinds, ...)
{
    va_list values;
    long sum = 0;
    va_start(values, kinds);
    for (; *kinds; kinds++)
        sum += *kinds == 'd' ? (long)va_arg(values, double) : va_arg(values, long);
    va_end(values);
    return sum + NEXT(sum);
}

FUNCTION variadic(long a)
{
    return variadic_sum("ldldl", a, 2.5, a, 4.0, a);
}

#define LARGE_FRAME(name, size)                                                                                        \
    FUNCTION name(long a)                                                                                              \
    {                                                                                                                  \
        volatile char bytes[size];                                                                                     \
        for (long i = 0; i < (size); i += 1024)                                                                        \
            bytes[i] = (char)a;                                                                                        \
        return NEXT(a) + bytes[((size)-1) / 1024 * 1024];                                                              \
    }
LARGE_FRAME(frame_of_600, 600)
LARGE_FRAME(frame_of_5000, 5000)
LARGE_FRAME(frame_of_40000, 40000)

FUNCTION early_exit(long a)
{
    if (__builtin_expect(sink == 77, 0))
        return a * 3;
    long b = sink, result = NEXT(a);
    sink = b;
    return result + b;
}

FUNCTION reals(long a)
{
    double x = (double)sink, y = x * 2, z = y + 1;
    long result = NEXT(a);
    return result + (long)(x * y - z);
}

struct large {
    long words[20];
};

static __attribute__((noinline)) struct large by_value(struct large given, long a)
{
    given.words[a & 15] += NEXT(a);
    return given;
}

FUNCTION structures(long a)
{
    struct large given = {{a, a + 1}};
    struct large result = by_value(given, a);
    return result.words[a & 15] + result.words[3];
}

FUNCTION cases(long a)
{
    switch (side_stack__random(7)) {
    case 0:
        return NEXT(a);
    case 1:
        return (long)getpid() + NEXT(a + 1);
    case 2:
        sink = NEXT(a) & 63;
        return 4;
    case 3:
        return saves_many(a);
    case 4:
        return structures(a) + twice(a);
    case 5:
        BARRIER();
        return recursive(a | 3);
    default:
        return -NEXT(a ^ 5);
    }
}

// The callbacks of libc call on, now and then: it sorts and searches meanwhile.
static long maybe_next(long a)
{
    return side_stack__random(4) ? 0 : NEXT(a) & 1;
}

static int compare_longs(const void *left, const void *right)
{
    long a = *(const long *)left, b = *(const long *)right;
    sink = sink * 2 + maybe_next(a);
    sink &= 63;
    return (a > b) - (a < b);
}

FUNCTION sorts(long a)
{
    long numbers[9];
    for (int i = 0; i < 9; i++)
        numbers[i] = (a * 7 + i * 5) % 11;
    qsort(numbers, 9, sizeof numbers[0], compare_longs);
    return numbers[4];
}

FUNCTION searches(long a)
{
    long numbers[] = {1, 3, 5, 7, 9, 11, 13, 15}, wanted = a & 15;
    const long *found = bsearch(&wanted, numbers, 8, sizeof numbers[0], compare_longs);
    return found ? *found : 0;
}

static void visit(const void *node, VISIT order, int level)
{
    if (order == preorder || order == leaf)
        sink = (sink + maybe_next(level + **(long *const *)node)) & 63;
}

FUNCTION walks_a_tree(long a)
{
    long numbers[] = {5, 2, 8, 1, 9, 4};
    void *root = NULL;
    for (int i = 0; i < 6; i++)
        if (!tsearch(&numbers[i], &root, compare_longs))
            abort();
    twalk(root, visit);
    for (int i = 0; i < 6; i++)
        tdelete(&numbers[i], &root, compare_longs);
    return a;
}

static ssize_t write_cookie(void *cookie, const char *bytes, size_t count)
{
    // musl flushes with nothing to write.
    sink = (sink + NEXT((count ? bytes[0] : 0) + *(long *)cookie)) & 63;
    return (ssize_t)count;
}

FUNCTION prints(long a)
{
    cookie_io_functions_t functions = {.write = write_cookie};
    FILE *file = fopencookie(&a, "w", functions);
    if (!file)
        abort();
    setvbuf(file, NULL, _IONBF, 0);
    fprintf(file, "%ld and %s\n", a, "more");
    fclose(file);
    return a;
}

static void on_signal(int number, siginfo_t *more, void *context)
{
    (void)more;
    side_stack__check_interrupted(context);
    sink = (sink + NEXT(number)) & 63;
}

FUNCTION is_interrupted(long a)
{
    raise(a & 1 ? SIGUSR1 : SIGUSR2);
    BARRIER();
    return a;
}

static void on_fault(int number, siginfo_t *more, void *context)
{
    (void)number, (void)more;
    side_stack__check_interrupted(context);
    siglongjmp(after_fault, 1);
}

FUNCTION faults(long a)
{
    if (a == 12345678)
        return 0;
    return *unmapped;
}

FUNCTION survives_a_fault(long a)
{
    volatile int side_depth = side_stack__depth(), shape_depth = depth;
    if (!sigsetjmp(after_fault, 1))
        faults(a);
    side_stack__cut(side_depth);
    depth = shape_depth;
    return NEXT(a);
}

struct jump {
    jmp_buf place;
    int side_depth, shape_depth;
};

static __thread struct jump *jump;

static __attribute__((noinline, noreturn)) void jump_back(long a)
{
    sink = a & 63;
    side_stack__cut(jump->side_depth);
    depth = jump->shape_depth;
    longjmp(jump->place, 1);
}

FUNCTION maybe_jumps_back(long a)
{
    if (jump && a & 1)
        jump_back(a);
    return NEXT(a + 1);
}

FUNCTION is_jumped_to(long a)
{
    struct jump here, *volatile outer = jump;
    volatile long result = a;
    here.side_depth = side_stack__depth();
    here.shape_depth = depth;
    if (!setjmp(here.place)) {
        jump = &here;
        result += NEXT(a);
    }
    jump = outer;
    return result + NEXT(a);
}

static const shape shapes[] = {plain,        twice,           jumps,        jumps_or_returns, recursive,
                               is_even,      saves_many,      on_the_stack, in_a_loop,        variadic,
                               frame_of_600, frame_of_5000,   early_exit,   frame_of_40000,   reals,
                               structures,   cases,           sorts,        searches,         walks_a_tree,
                               prints,       is_interrupted,  plain,        survives_a_fault, saves_many,
                               is_jumped_to, maybe_jumps_back};

static shape next_shape(void)
{
    if (calls_left <= 0 || side_stack__depth() > MOST_DEPTH)
        return ends;
    calls_left--;
    return shapes[side_stack__random(sizeof shapes / sizeof *shapes)];
}

static void use_alternate_stack(void)
{
    stack_t alternate = {.ss_sp = malloc(ALTERNATE_SIZE), .ss_size = ALTERNATE_SIZE};
    if (!alternate.ss_sp || sigaltstack(&alternate, NULL))
        abort();
}

static void run_rounds(void)
{
    use_alternate_stack();
    for (int round = 0; round < ROUNDS; round++)
        for (calls_left = (int)test_rounds(CALLS_PER_ROUND); calls_left > 0;)
            sink = (sink + NEXT(round)) & 63;
}

static void *run_thread(void *number)
{
    side_stack__begin_thread((unsigned)(uintptr_t)number);
    run_rounds();
    side_stack__end_thread();
    return NULL;
}

static void handle(int number, int flags, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_NODEFER | flags;
    if (sigaction(number, &action, NULL))
        abort();
}

int main(void)
{
    pthread_t threads[THREADS];
    pthread_attr_t attributes;
    side_stack__begin(8);
    unmapped = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    handle(SIGUSR1, 0, on_signal);
    handle(SIGUSR2, SA_ONSTACK, on_signal);
    handle(SIGSEGV, 0, on_fault);
    run_rounds();
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 16 << 20);
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], &attributes, run_thread, (void *)(i + 1)))
            abort();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    int failed = side_stack__finish(THREADS * 500);
    // Files that were left by longjmp stay locked; exit() would wait for them.
    fflush(stdout);
    _exit(failed);
}
