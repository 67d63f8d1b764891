// SPDX-License-Identifier: MIT OR Apache-2.0
#include "shapes.h"

#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SHAPE __attribute__((noinline, noclone)) static

static volatile long sink;
static jmp_buf back;

// Keeps the compiler from knowing a value, and from leaving out what is in memory.
#define OPAQUE(value) __asm__ volatile("" : "+r"(value) : : "memory")

SHAPE long leaf(long a, long b)
{
    return a * 3 + b;
}

// A leaf with memory of its own: below the stack pointer where the ABI has a red zone.
SHAPE long leaf_with_array(long a)
{
    volatile long array[9];
    for (int i = 0; i < 9; i++)
        array[i] = a + i;
    return array[a & 7];
}

SHAPE long nested(long a, long b)
{
    long result = leaf(a, b);
    return result + leaf_with_array(result) + 1;
}

// Values that live across calls: as many callee-saved registers as there are.
SHAPE long many_registers(long a, long b, long c, long d)
{
    long e = leaf(a, b), f = leaf(b, c), g = leaf(c, d), h = leaf(d, a), i = leaf(e, f), j = leaf(g, h);
    long k = nested(e, g), l = nested(f, h);
    return a + b + c + d + e * f + g * h + i * j + k * l + nested(a, l);
}

SHAPE long early_exit(const long *list, long count)
{
    if (!list || count < 2)
        return -1;
    long sum = leaf(count, count), product = 1;
    for (long i = 0; i < count; i++) {
        if (list[i] == 3)
            continue;
        sum += nested(list[i], sum);
        product *= leaf(product, sum);
    }
    if (sum == product)
        return nested(sum, product);
    return nested(sum, product) + count;
}

SHAPE long large_frame(long a)
{
    char bytes[1500];
    memset(bytes, (int)a, sizeof bytes);
    return nested(bytes[a & 1023], a) + bytes[7];
}

SHAPE long larger_frame(long a)
{
    volatile char bytes[4200];
    bytes[4000] = (char)a;
    bytes[5] = (char)leaf(a, a);
    return nested(bytes[4000], a) + bytes[5];
}

SHAPE long with_alloca(long a)
{
    char *bytes = alloca((size_t)(a & 63) + 16);
    OPAQUE(bytes);
    bytes[3] = (char)a;
    long result = nested(a, bytes[3]);
    if (result & 1)
        return result + leaf(bytes[3], a);
    return nested(result, bytes[3]);
}

SHAPE long with_lengths(int a)
{
    long result = 0;
    for (int i = 1; i < 4; i++) {
        long array[i + (a & 3)];
        array[0] = i;
        OPAQUE(result);
        result += nested(array[0], result);
    }
    return result;
}

// A frame that is more aligned than the stack: it hangs on another register.
SHAPE long aligned(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j)
{
    _Alignas(64) volatile char bytes[128];
    bytes[a & 127] = (char)(b + c + d + e + f + g);
    long result = nested(bytes[a & 127], h + i);
    return result + leaf(result, j) + bytes[1];
}

SHAPE long aligned_with_alloca(long a, long b, long c, long d, long e, long f, long g, long h)
{
    _Alignas(64) volatile char bytes[64];
    char *more = alloca((size_t)(a & 31) + 1);
    OPAQUE(more);
    more[0] = (char)(a + b + c + d);
    bytes[a & 63] = more[0];
    return nested(bytes[a & 63], e + f + g + h) + more[0];
}

struct big {
    long values[12];
};

SHAPE struct big make_big(long a)
{
    struct big big;
    for (int i = 0; i < 12; i++)
        big.values[i] = a * i;
    return big;
}

SHAPE long take_big(struct big big, long a, long b, long c, long d, long e, long f, long g)
{
    return big.values[a & 7] + b + c + d + e + f + leaf(g, a);
}

// Arguments on the stack: pushed one by one, or stored.
SHAPE long many_arguments(long a)
{
    long result = aligned(a, 1, 2, 3, 4, 5, 6, 7, nested(a, 8), leaf(a, 9));
    result += aligned_with_alloca(result, 2, 3, 4, 5, 6, 7, leaf(result, a));
    return result + take_big(make_big(a), result, a, 3, 4, 5, 6, nested(7, a));
}

SHAPE long variadic(int count, ...)
{
    va_list arguments;
    long sum = 0;
    va_start(arguments, count);
    for (int i = 0; i < count; i++)
        sum += leaf(va_arg(arguments, long), i);
    va_end(arguments);
    return sum;
}

SHAPE double real_numbers(double a, double b, int c)
{
    double d = a * b, e = a / (b + 1), f = a - b;
    long result = nested((long)a, c);
    double g = d * e + f;
    result += nested(result, (long)g);
    return d + e * f + g + (double)result;
}

SHAPE long tail_called(long a, long b)
{
    return nested(a, b) ^ leaf(b, a);
}

SHAPE long tail_call(long a, long b)
{
    long result = nested(a, b);
    return tail_called(result, b);
}

SHAPE long tail_call_of_leaf(long a, long b)
{
    if (a > b)
        return leaf(a, b);
    return tail_call(b, a);
}

SHAPE long fibonacci(long n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

SHAPE long cases(int kind, long a)
{
    switch (kind) {
    case 0:
        return nested(a, 1);
    case 1:
        a += leaf(a, 2);
        break;
    case 2:
        return a;
    case 3:
        a = nested(a, 3) + nested(3, a);
        break;
    case 4:
        return tail_call(a, 4);
    case 5:
        a ^= leaf_with_array(a);
        break;
    case 6:
        return large_frame(a) + 1;
    default:
        return -a;
    }
    return nested(a, kind) + 1;
}

static long (*const functions[])(long, long) = {leaf, nested, tail_called, tail_call, tail_call_of_leaf};

SHAPE long indirect(long a)
{
    long result = 0;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        result += functions[i](a, result);
    return result;
}

__attribute__((noinline, noclone, noreturn, cold)) static void give_up(int status)
{
    sink += nested(status, 1);
    longjmp(back, status);
}

// Ends with a call that does not come back.
SHAPE long unlikely(long a)
{
    if (__builtin_expect(a > 100, 0)) {
        sink += leaf(a, a);
        give_up(2);
    }
    long result = nested(a, 1);
    if (__builtin_expect(result == 77, 0))
        give_up(1);
    return result + leaf(a, result);
}

__attribute__((noinline, noclone, noreturn)) static void never_returns(long a)
{
    sink += nested(a, a);
    unlikely(200);
    abort();
}

SHAPE long jumping(long a)
{
    volatile long count = a;
    int status = setjmp(back);
    count += status;
    if (status == 0)
        sink += unlikely(7);
    if (count < a + 2)
        never_returns(count);
    return count;
}

static int compare(const void *a, const void *b)
{
    return (int)leaf(*(const int *)a, 1) - (int)leaf(*(const int *)b, 1);
}

// Into libc and back out of it; through stubs that bind lazily.
SHAPE long libraries(long a)
{
    int values[12];
    char text[80], copy[80];
    for (int i = 0; i < 12; i++)
        values[i] = i * 7 % 12;
    qsort(values, 12, sizeof *values, compare);
    snprintf(text, sizeof text, "%d %s %lx", values[3], "text", (unsigned long)a);
    strcpy(copy, text);
    char *block = malloc(strlen(copy) + 100), *duplicate;
    memset(block, 0, 100);
    duplicate = strdup(copy);
    long result = strtol(duplicate, NULL, 10) + strcmp(text, copy);
    free(block);
    free(duplicate);
    return result;
}

SHAPE long clocks(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_nsec & 1;
}

static void handle(int number)
{
    sink += nested(number, 1) + many_registers(number, 1, 2, 3);
}

SHAPE long signals(void)
{
    signal(SIGUSR2, handle);
    raise(SIGUSR2);
    return nested(1, 2);
}

void shapes_run(void)
{
    static const long list[] = {1, 2, 3, 4, 5};
    for (int round = 0; round < 8; round++) {
        sink += nested(round, 1) + many_registers(1, round, 3, 4) + early_exit(NULL, 0) + early_exit(list, 5);
        sink += large_frame(round) + larger_frame(round) + with_alloca(round) + with_alloca(20) + with_lengths(round);
        sink += many_arguments(round) + variadic(3, 1l, 2l, (long)round) + (long)real_numbers(1.5, 2.5, round);
        sink += tail_call_of_leaf(1, round) + tail_call_of_leaf(round, 1) + fibonacci(6) + indirect(round);
        for (int kind = 0; kind < 8; kind++)
            sink += cases(kind, round + 3);
        sink += jumping(round) + clocks() + signals() + libraries(round);
    }
}
