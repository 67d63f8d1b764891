// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A side stack as the oracle: functions that take part note their return address, the innermost last.
#ifndef HEAPSONDE_TESTS_UNWIND_SUPPORT_H
#define HEAPSONDE_TESTS_UNWIND_SUPPORT_H

#include "tests/suite.h"
#include "unwind/include/heapsonde/unwind.h"
#include "unwind/walk.h"

#include <check.h>
#include <stdbool.h>
#include <stdint.h>

#define NOINLINE __attribute__((noinline, noclone))

enum { SIDE_MAX = 8192, FRAMES_MAX = 16384 };

struct side_stack {
    int depth;
    void *returns[SIDE_MAX];
};
extern __thread struct side_stack side;

#define ENTER() (side.returns[side.depth++] = __builtin_return_address(0))
#define LEAVE() (side.depth--)

// Keeps the compiler from turning a call before it into a tail call, and from knowing `value`.
#define OPAQUE(value) __asm__ volatile("" : "+r"(value) : : "memory")

// Asserts that the caller's stack is the side stack, innermost first, and that it is complete; through every walker.
// `kept` innermost frames that take no part are left out.
void check_side_stack(int kept);

// The same as a condition, with hs_backtrace() only: for threads other than Check's.
bool side_stack_matches(int kept);

#endif
