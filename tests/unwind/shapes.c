// SPDX-License-Identifier: MIT OR Apache-2.0
#include "shapes.h"

#include "support.h"

#include <alloca.h>

void odd_rbx_based(shape_callback *callback, void *argument);
void odd_unaligned(shape_callback *callback, void *argument);

#define FIXED(name, bytes)                                                                                             \
    NOINLINE static void name(size_t size, shape_callback *callback, void *argument)                                   \
    {                                                                                                                  \
        volatile char local[bytes];                                                                                    \
        local[size % (bytes)] = 1;                                                                                     \
        callback(argument);                                                                                            \
        local[0]++;                                                                                                    \
    }
FIXED(fixed_8, 8)
FIXED(fixed_56, 56)
FIXED(fixed_1000, 1000)
FIXED(fixed_140000, 140000)

NOINLINE static void two_calls(size_t size, shape_callback *callback, void *argument)
{
    if (size & 1)
        callback(argument);
    else
        callback(argument);
    OPAQUE(size);
}

NOINLINE static void many_registers(size_t size, shape_callback *callback, void *argument)
{
    size_t a = size * 3, b = size * 5, c = size * 7, d = size * 11;
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    callback(argument);
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    size = a + b + c + d;
    OPAQUE(size);
}

NOINLINE static void variable(size_t size, shape_callback *callback, void *argument)
{
    volatile char *block = alloca(size % 100 + 1);
    block[0] = 1;
    callback(argument);
    block[0]++;
}

NOINLINE __attribute__((target("avx2"))) static void realigned(size_t size, shape_callback *callback, void *argument)
{
    _Alignas(64) volatile char local[64];
    volatile char *block = alloca(size % 100 + 1);
    local[0] = block[0] = 1;
    callback(argument);
    local[1] = local[0] + block[0];
}

NOINLINE static void through_rbx(size_t size, shape_callback *callback, void *argument)
{
    odd_rbx_based(callback, argument);
    OPAQUE(size);
}

NOINLINE static void unaligned(size_t size, shape_callback *callback, void *argument)
{
    odd_unaligned(callback, argument);
    OPAQUE(size);
}

void shape_call(unsigned shape, size_t size, shape_callback *callback, void *argument)
{
    static void (*const shapes[SHAPES])(size_t, shape_callback *, void *) = {
        fixed_8,  fixed_56,  fixed_1000,  two_calls, many_registers,
        variable, realigned, through_rbx, unaligned, fixed_140000,
    };
    shapes[shape % SHAPES](size, callback, argument);
}
