// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Thirty nested functions of many shapes, and the stack inside of the innermost one: as it is called, from a signal
// handler, and where a leaf has faulted. Each function notes its own return address, which is what the stack has to be.
#include <heapsonde/unwind.h>

#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DEPTH = 30, FRAMES = DEPTH + 1, MAX = 256 };

static void *expected[FRAMES]; // the innermost first
static void *leaf_caller;
static void *found[MAX];
static int found_count;
static struct hs_backtrace_info info;
static void (*innermost)(void);
static sigjmp_buf after_fault;
static long *unmapped;
static volatile long sink;
static volatile int always_true = 1;

#define NOTE_RETURN_ADDRESS(place) ((place) = __builtin_extract_return_addr(__builtin_return_address(0)))

// What is used after the call keeps it from being a jump.
#define BARRIER() __asm__ volatile("" ::: "memory")

#define FUNCTION(nr) static __attribute__((noinline)) long f##nr(long a)
#define BEGIN(nr)    NOTE_RETURN_ADDRESS(expected[FRAMES - (nr)])

static __attribute__((noinline)) void use(volatile char *bytes, long size)
{
    for (long i = 0; i < size; i += 64)
        bytes[i] = (char)i;
}

static __attribute__((noinline)) long inner(long a)
{
    NOTE_RETURN_ADDRESS(expected[0]);
    innermost();
    BARRIER();
    return a + 1;
}

#define PLAIN(nr, next)                                                                                                \
    FUNCTION(nr)                                                                                                       \
    {                                                                                                                  \
        BEGIN(nr);                                                                                                     \
        long result = next(a + 1);                                                                                     \
        BARRIER();                                                                                                     \
        return result + 1;                                                                                             \
    }

#define SAVES_MANY(nr, next)                                                                                           \
    FUNCTION(nr)                                                                                                       \
    {                                                                                                                  \
        BEGIN(nr);                                                                                                     \
        long b = sink, c = sink, d = sink, e = sink, f = sink, g = sink, h = sink, i = sink;                           \
        long result = next(a);                                                                                         \
        sink = b + c * d - e;                                                                                          \
        return result + f + g * h + i + c + d + e;                                                                     \
    }

#define CALLS_ALLOCA(nr, next)                                                                                         \
    FUNCTION(nr)                                                                                                       \
    {                                                                                                                  \
        BEGIN(nr);                                                                                                     \
        char *bytes = alloca((size_t)(a & 63) + 100);                                                                  \
        use(bytes, 100);                                                                                               \
        long result = next(a) + bytes[0];                                                                              \
        return result + bytes[64];                                                                                     \
    }

#define VARIABLE_ARRAY(nr, next)                                                                                       \
    FUNCTION(nr)                                                                                                       \
    {                                                                                                                  \
        BEGIN(nr);                                                                                                     \
        long result = a, size = (a & 255) + 200;                                                                       \
        for (int i = 0; i < 1; i++) {                                                                                  \
            char bytes[size];                                                                                          \
            use(bytes, size);                                                                                          \
            result += next(a) + bytes[128];                                                                            \
        }                                                                                                              \
        return result;                                                                                                 \
    }

// Numbers that happen to be addresses within the function: no pointer leads there. Every distance in code that holds
// data may look like that.
#define NUMBERS_4(function, number)                                                                                    \
    (const char *)(function) + (number), (const char *)(function) + (number) + 2,                                      \
        (const char *)(function) + (number) + 4, (const char *)(function) + (number) + 6
#define NUMBERS_WITHIN(function)                                                                                       \
    static const char *numbers_within_##function[] __attribute__((used)) = {                                           \
        NUMBERS_4(function, 2), NUMBERS_4(function, 10), NUMBERS_4(function, 18), NUMBERS_4(function, 26)};

#define VARIADIC(nr, next)                                                                                             \
    static __attribute__((noinline, noclone)) long v##nr(const char *kinds, ...)                                       \
    {                                                                                                                  \
        NOTE_RETURN_ADDRESS(expected[FRAMES - (nr)]);                                                                  \
        va_list values;                                                                                                \
        long sum = 0;                                                                                                  \
        va_start(values, kinds);                                                                                       \
        while (*kinds++)                                                                                               \
            sum += va_arg(values, long);                                                                               \
        va_end(values);                                                                                                \
        long result = next(sum & 15);                                                                                  \
        BARRIER();                                                                                                     \
        return result + sum;                                                                                           \
    }                                                                                                                  \
    NUMBERS_WITHIN(v##nr)                                                                                              \
    static inline __attribute__((always_inline)) long f##nr(long a)                                                    \
    {                                                                                                                  \
        return v##nr("abc", a, a, a);                                                                                  \
    }

#define LARGE_FRAME(nr, next, size)                                                                                    \
    FUNCTION(nr)                                                                                                       \
    {                                                                                                                  \
        BEGIN(nr);                                                                                                     \
        char bytes[size];                                                                                              \
        use(bytes, size);                                                                                              \
        long result = next(a) + bytes[64];                                                                             \
        use(bytes, size);                                                                                              \
        return result + bytes[size / 128 * 64];                                                                        \
    }

// The frame is made after an early exit.
#define EARLY_EXIT(nr, next)                                                                                           \
    FUNCTION(nr)                                                                                                       \
    {                                                                                                                  \
        if (__builtin_expect(a < -1000, 0))                                                                            \
            return a * 3;                                                                                              \
        BEGIN(nr);                                                                                                     \
        long b = sink, result = next(a);                                                                               \
        for (long i = 0; i < 2; i++)                                                                                   \
            sink = b + result;                                                                                         \
        return result + b;                                                                                             \
    }

#define REALS(nr, next)                                                                                                \
    FUNCTION(nr)                                                                                                       \
    {                                                                                                                  \
        BEGIN(nr);                                                                                                     \
        double x = (double)sink, y = x * 2, z = y + 1;                                                                 \
        long result = next(a);                                                                                         \
        return result + (long)(x * y - z);                                                                             \
    }

struct large {
    long words[20];
};

#define STRUCTURES(nr, next)                                                                                           \
    static __attribute__((noinline)) long s##nr(struct large large, long a)                                            \
    {                                                                                                                  \
        NOTE_RETURN_ADDRESS(expected[FRAMES - (nr)]);                                                                  \
        long result = 0;                                                                                               \
        switch (large.words[a % 20] % 6) {                                                                             \
        case 0:                                                                                                        \
            result = next(a);                                                                                          \
            break;                                                                                                     \
        case 1:                                                                                                        \
            result = (long)getpid();                                                                                   \
            break;                                                                                                     \
        case 2:                                                                                                        \
            sink = a;                                                                                                  \
            break;                                                                                                     \
        case 3:                                                                                                        \
            return 5;                                                                                                  \
        case 4:                                                                                                        \
            result = a * a;                                                                                            \
            break;                                                                                                     \
        case 5:                                                                                                        \
            use((volatile char *)&large, 10);                                                                          \
        }                                                                                                              \
        return result + large.words[a % 7];                                                                            \
    }                                                                                                                  \
    static inline __attribute__((always_inline)) long f##nr(long a)                                                    \
    {                                                                                                                  \
        struct large large = {{0}};                                                                                    \
        return s##nr(large, a & 7);                                                                                    \
    }

#define BY_POINTER(nr, next)                                                                                           \
    FUNCTION(nr)                                                                                                       \
    {                                                                                                                  \
        BEGIN(nr);                                                                                                     \
        long (*volatile call)(long) = next;                                                                            \
        long result = call(a);                                                                                         \
        return result ^ a;                                                                                             \
    }

static __attribute__((noinline, cold)) void unlikely(void)
{
    BARRIER();
}

// The path that is taken may lie apart from the function.
#define COLD_PATH(nr, next)                                                                                            \
    FUNCTION(nr)                                                                                                       \
    {                                                                                                                  \
        BEGIN(nr);                                                                                                     \
        long b = sink, c = sink;                                                                                       \
        if (always_true) {                                                                                             \
            unlikely();                                                                                                \
            b += next(a);                                                                                              \
        }                                                                                                              \
        return b + c;                                                                                                  \
    }

PLAIN(30, inner)
SAVES_MANY(29, f30)
CALLS_ALLOCA(28, f29)
VARIABLE_ARRAY(27, f28)
VARIADIC(26, f27)
LARGE_FRAME(25, f26, 600)
EARLY_EXIT(24, f25)
REALS(23, f24)
BY_POINTER(22, f23)
STRUCTURES(21, f22)
LARGE_FRAME(20, f21, 5000)
COLD_PATH(19, f20)
SAVES_MANY(18, f19)
CALLS_ALLOCA(17, f18)
VARIABLE_ARRAY(16, f17)
VARIADIC(15, f16)
LARGE_FRAME(14, f15, 70000)
EARLY_EXIT(13, f14)
REALS(12, f13)
BY_POINTER(11, f12)
STRUCTURES(10, f11)
SAVES_MANY(9, f10)
COLD_PATH(8, f9)
VARIABLE_ARRAY(7, f8)
EARLY_EXIT(6, f7)
LARGE_FRAME(5, f6, 300000)
SAVES_MANY(4, f5)
CALLS_ALLOCA(3, f4)
REALS(2, f3)
PLAIN(1, f2)

static __attribute__((noinline)) void take_stack(void)
{
    found_count = hs_backtrace_reason(found, MAX, &info);
    BARRIER();
}

static __attribute__((noinline)) void take_stack_in_handler(void)
{
    raise(SIGUSR1);
    BARRIER();
}

static __attribute__((noinline)) void leaf(long *where)
{
    NOTE_RETURN_ADDRESS(leaf_caller);
    BARRIER();
    *where = 1;
}

static __attribute__((noinline)) void fault(void)
{
    if (!sigsetjmp(after_fault, 1))
        leaf(unmapped);
    BARRIER();
}

// Where no code is; NULL as well.
static void (*volatile nowhere)(void);

static __attribute__((noinline)) void call_nowhere(void)
{
    if (!sigsetjmp(after_fault, 1))
        nowhere();
    BARRIER();
}

static void on_signal(int number, siginfo_t *more, void *context)
{
    (void)number, (void)more, (void)context;
    take_stack();
}

static void on_fault(int number, siginfo_t *more, void *context)
{
    (void)number, (void)more;
    found_count = hs_backtrace_context(found, MAX, context, &info);
    siglongjmp(after_fault, 1);
}

static int find(const void *pc, int from)
{
    int i = from;
    while (i < found_count && found[i] != pc)
        i++;
    return i;
}

// The frames from found[at] on that are what they have to be.
static int right_frames(int at)
{
    int count = 0;
    while (count < FRAMES && at + count < found_count && found[at + count] == expected[count])
        count++;
    return count;
}

static int report(const char *how, int right)
{
    static const char *const ends[] = {"complete", "no rule", "bad rule", "bad stack", "too deep"};
    int good = right == FRAMES && info.end == HS_BACKTRACE_COMPLETE && !info.guessed;
    printf("%s: %d of %d frames, %d in all, %s%s%s\n", how, right, FRAMES, found_count, ends[info.end],
           info.guessed ? ", guessed" : "", good ? "" : ": wrong");
    if (right < FRAMES) {
        printf("  expected:");
        for (int i = 0; i < FRAMES; i++)
            printf(" %p", expected[i]);
        printf("\n  found:   ");
        for (int i = 0; i < found_count; i++)
            printf(" %p", found[i]);
        printf("\n");
    }
    return good;
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    sigaction(number, &action, NULL);
}

int main(void)
{
    unmapped = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    handle(SIGUSR1, on_signal);
    handle(SIGSEGV, on_fault);
    int good = 1;
    for (int i = 0; i < 2; i++) { // the second time from what is cached
        innermost = take_stack;
        sink = f1(i);
        good &= report("called", right_frames(find(expected[0], 0)));
        innermost = take_stack_in_handler;
        sink = f1(i);
        good &= report("in a handler", right_frames(find(expected[0], 0)));
        innermost = fault;
        sink = f1(i);
        good &= report("at a fault", found[1] == leaf_caller ? right_frames(3) : 0);
        innermost = call_nowhere;
        for (int null = 0; null < 2; null++) {
            nowhere = null ? NULL : (void (*)(void))(uintptr_t)unmapped;
            sink = f1(i);
            good &= report(null ? "at a call of NULL" : "at a call of nowhere", found_count > 3 ? right_frames(3) : 0);
        }
    }
    return !good;
}
