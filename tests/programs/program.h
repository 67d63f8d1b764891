// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the test programs share. They print with write(2) only, so that printing allocates nothing, and what they print
// depends on nothing but their arguments: a bare and a recorded run must print the same.
#ifndef HEAPSONDE_TESTS_PROGRAM_H
#define HEAPSONDE_TESTS_PROGRAM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// vsnprintf of these conversions allocates nothing.
__attribute__((format(printf, 1, 2), unused)) static void say(const char *format, ...)
{
    char line[1024];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    for (int at = 0; at < length;) {
        ssize_t put = write(1, line + at, (size_t)(length - at));
        if (put <= 0)
            _exit(99);
        at += (int)put;
    }
}

// Ends the program when something that must hold does not.
#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            say("%s:%d: does not hold: %s (errno %d)\n", strrchr("/" __FILE__, '/') + 1, __LINE__, #condition, errno); \
            _exit(98);                                                                                                 \
        }                                                                                                              \
    } while (0)

// The compiler may not remove an allocation whose pointer went through here.
static inline void *keep(void *pointer)
{
    __asm__ volatile("" : "+r"(pointer) : : "memory");
    return pointer;
}

#define NOINLINE __attribute__((noinline, noclone, unused))

static NOINLINE void *allocate(size_t size)
{
    char *block = (char *)keep(malloc(size));
    MUST(block);
    if (size)
        block[0] = block[size - 1] = 1;
    __asm__ volatile("" ::: "memory"); // no tail call: the frame of this function is part of every stack
    return block;
}

// Where everything takes longer, TEST_SCALE divides the rounds of long loops.
__attribute__((unused)) static int fewer(int rounds)
{
    const char *scale = getenv("TEST_SCALE");
    int by = scale ? atoi(scale) : 1;
    return by > 0 && rounds / by > 0 ? rounds / by : 1;
}

// The same, but never fewer than the recorder's buffers need to be written out several times.
__attribute__((unused)) static int fewer_but(int rounds, int least)
{
    int all = fewer(rounds);
    return all < least ? least : all;
}

// A small generator of its own: the same numbers everywhere.
__attribute__((unused)) static uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

#endif
