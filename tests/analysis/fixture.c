// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Functions of many shapes, each in several sizes: what compilers make of them is analysed and compared with the call
// frame information that the same compilers give. Never run.
#include <alloca.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

long use(const void *bytes, long size);
long one(long a);
long two(long a, long b);
long many(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j);
double real(double a, double b);
void *get(size_t size);
void done(void *block);
void fail(const char *format, ...) __attribute__((noreturn, cold));
void report(int level, const char *format, va_list values);

struct triple {
    long a, b, c;
};
struct triple make(struct triple from);

#define JOIN_(a, b)    a##b
#define JOIN(a, b)     JOIN_(a, b)
#define NAME(what, nr) JOIN(what, nr)

// An early exit before the frame is made, then values that live across calls.
#define EARLY_EXIT(nr)                                                                                                 \
    long NAME(early_exit_, nr)(long *list, long count, long limit)                                                     \
    {                                                                                                                  \
        if (!list || count > limit + nr)                                                                               \
            return -1;                                                                                                 \
        long sum = one(count), product = 1;                                                                            \
        for (long i = 0; i < count; i++) {                                                                             \
            if (list[i] == nr)                                                                                         \
                continue;                                                                                              \
            sum += two(list[i], sum);                                                                                  \
            product *= one(product + sum);                                                                             \
        }                                                                                                              \
        return two(sum, product) + limit;                                                                              \
    }

#define LOCALS(nr, size)                                                                                               \
    long NAME(locals_, nr)(long a, long b)                                                                             \
    {                                                                                                                  \
        char bytes[size];                                                                                              \
        long found = use(bytes, a);                                                                                    \
        if (found < b)                                                                                                 \
            return one(found);                                                                                         \
        found += use(bytes + 1, two(a, b));                                                                            \
        return found + use(bytes, found) + bytes[a % size];                                                            \
    }

#define SWITCH(nr)                                                                                                     \
    long NAME(switch_, nr)(int kind, long a, long b)                                                                   \
    {                                                                                                                  \
        long result = one(a);                                                                                          \
        switch (kind) {                                                                                                \
        case 0:                                                                                                        \
            return two(a, b) + result;                                                                                 \
        case 1:                                                                                                        \
            result = two(one(a), b) + nr;                                                                              \
            break;                                                                                                     \
        case 2:                                                                                                        \
            fail("kind %d", kind);                                                                                     \
        case 3:                                                                                                        \
            result += many(a, b, a + b, a - b, 5, 6, 7, 8, result, nr);                                                \
            break;                                                                                                     \
        case 4:                                                                                                        \
            return (long)get((size_t)a);                                                                               \
        case 5:                                                                                                        \
            done(get((size_t)b));                                                                                      \
            /* fall through */                                                                                         \
        case 6:                                                                                                        \
            result -= one(nr);                                                                                         \
            break;                                                                                                     \
        case 7:                                                                                                        \
            return result;                                                                                             \
        default:                                                                                                       \
            if (a == b)                                                                                                \
                fail("%ld", a);                                                                                        \
            result = two(result, b);                                                                                   \
        }                                                                                                              \
        return two(result, a);                                                                                         \
    }

#define ALLOCA(nr)                                                                                                     \
    long NAME(alloca_, nr)(long a, long b)                                                                             \
    {                                                                                                                  \
        long result = one(a);                                                                                          \
        char *bytes = alloca((size_t)(a + nr));                                                                        \
        result += use(bytes, a);                                                                                       \
        if (b > nr) {                                                                                                  \
            long words[b];                                                                                             \
            result += use(words, b);                                                                                   \
            if (result == b)                                                                                           \
                return one(words[0]);                                                                                  \
        }                                                                                                              \
        return two(result, bytes[0]);                                                                                  \
    }

#define VARIADIC(nr)                                                                                                   \
    long NAME(variadic_, nr)(const char *format, ...)                                                                  \
    {                                                                                                                  \
        va_list values;                                                                                                \
        va_start(values, format);                                                                                      \
        report(nr, format, values);                                                                                    \
        va_end(values);                                                                                                \
        if (one(nr) == 3)                                                                                              \
            fail("%s", format);                                                                                        \
        return use(format, nr);                                                                                        \
    }

#define REALS(nr)                                                                                                      \
    double NAME(reals_, nr)(double a, double b, long count)                                                            \
    {                                                                                                                  \
        double sum = a, low = b, high = a * nr;                                                                        \
        for (long i = 0; i < count; i++) {                                                                             \
            sum += real(low, high);                                                                                    \
            low = real(sum, b);                                                                                        \
            high = real(low, (double)one(i));                                                                          \
        }                                                                                                              \
        return real(sum, low) + high;                                                                                  \
    }

#define STRUCTURES(nr)                                                                                                 \
    struct triple NAME(structures_, nr)(struct triple t, long a)                                                       \
    {                                                                                                                  \
        if (a == nr)                                                                                                   \
            return make(t);                                                                                            \
        struct triple made = make((struct triple){a, t.a, nr});                                                        \
        made.c += two(made.a, t.b);                                                                                    \
        return make(made);                                                                                             \
    }

#define ALIGNED(nr, alignment)                                                                                         \
    long NAME(aligned_, nr)(long a, long b)                                                                            \
    {                                                                                                                  \
        _Alignas(alignment) char bytes[alignment * 2];                                                                 \
        long found = use(bytes, a);                                                                                    \
        return found ? two(found, use(bytes, b)) : one(b);                                                             \
    }

#define JUMPS(nr)                                                                                                      \
    long NAME(jumps_, nr)(long a)                                                                                      \
    {                                                                                                                  \
        static jmp_buf place;                                                                                          \
        if (setjmp(place))                                                                                             \
            return one(nr);                                                                                            \
        if (one(a) == nr)                                                                                              \
            longjmp(place, 1);                                                                                         \
        return two(a, nr);                                                                                             \
    }

#define COLD(nr)                                                                                                       \
    long NAME(cold_, nr)(long *list, long count)                                                                       \
    {                                                                                                                  \
        long *block = get(sizeof(long) * (size_t)count);                                                               \
        if (__builtin_expect(!block, 0))                                                                               \
            fail("no room for %ld", count);                                                                            \
        for (long i = 0; i < count; i++) {                                                                             \
            if (__builtin_expect(list[i] > nr, 0)) {                                                                   \
                done(block);                                                                                           \
                if (one(i))                                                                                            \
                    return two(i, count);                                                                              \
                fail("too great: %ld", list[i]);                                                                       \
            }                                                                                                          \
            block[i] = two(list[i], i);                                                                                \
        }                                                                                                              \
        long result = use(block, count);                                                                               \
        done(block);                                                                                                   \
        return result;                                                                                                 \
    }

#define CALLBACKS(nr)                                                                                                  \
    long NAME(callbacks_, nr)(long (*const *list)(long, void *), long count, void *context)                            \
    {                                                                                                                  \
        long result = nr;                                                                                              \
        for (long i = 0; i < count; i++) {                                                                             \
            result = list[i](result, context);                                                                         \
            if (result < 0)                                                                                            \
                break;                                                                                                 \
        }                                                                                                              \
        return count > nr ? list[0](result, context) : result;                                                         \
    }

#define LABELS(nr)                                                                                                     \
    long NAME(labels_, nr)(const unsigned char *code, long a)                                                          \
    {                                                                                                                  \
        static const void *const steps[] = {&&add, &&call, &&twice, &&stop};                                           \
        goto *steps[*code++ & 3];                                                                                      \
    add:                                                                                                               \
        a += one(a) + nr;                                                                                              \
        goto *steps[*code++ & 3];                                                                                      \
    call:                                                                                                              \
        a = two(a, *code);                                                                                             \
        goto *steps[*code++ & 3];                                                                                      \
    twice:                                                                                                             \
        a = one(one(a));                                                                                               \
        goto *steps[*code++ & 3];                                                                                      \
    stop:                                                                                                              \
        return one(a);                                                                                                 \
    }

#define FAMILY(nr)                                                                                                     \
    EARLY_EXIT(nr)                                                                                                     \
    SWITCH(nr) ALLOCA(nr) VARIADIC(nr) REALS(nr) STRUCTURES(nr) JUMPS(nr) COLD(nr) CALLBACKS(nr) LABELS(nr)

FAMILY(1)
FAMILY(2)
FAMILY(3)
FAMILY(4)
FAMILY(5)
FAMILY(6)
FAMILY(7)
FAMILY(8)
LOCALS(1, 8)
LOCALS(2, 40)
LOCALS(3, 200)
LOCALS(4, 504)
LOCALS(5, 520)
LOCALS(6, 1000)
LOCALS(7, 4000)
LOCALS(8, 4096)
LOCALS(9, 5000)
LOCALS(10, 20000)
LOCALS(11, 32760)
LOCALS(12, 40000)
LOCALS(13, 65536)
LOCALS(14, 100000)
LOCALS(15, 1234567)
ALIGNED(1, 32)
ALIGNED(2, 64)
ALIGNED(3, 256)

// More jumps than the analysis keeps, each to where no path that it knows leads.
#define STEP(nr)                                                                                                       \
    NAME(step_, nr) : sum += two(sum, *code + nr);                                                                     \
    if (sum & 1 << nr % 16)                                                                                            \
        sum -= one(sum * nr);                                                                                          \
    goto *steps[*code++];
#define STEPS_8(STEP, d) STEP(d##0) STEP(d##1) STEP(d##2) STEP(d##3) STEP(d##4) STEP(d##5) STEP(d##6) STEP(d##7)
#define STEPS(STEP)                                                                                                    \
    STEPS_8(STEP, 1) STEPS_8(STEP, 2) STEPS_8(STEP, 3) STEPS_8(STEP, 4) STEPS_8(STEP, 5) STEPS_8(STEP, 6)
#define STEP_ADDRESS(nr) &&NAME(step_, nr),

long interpret_many_steps(const unsigned char *code, long sum)
{
    static const void *const steps[] = {STEPS(STEP_ADDRESS) && stop};
    goto *steps[*code++];
    STEPS(STEP)
stop:
    return sum + one(*code);
}
