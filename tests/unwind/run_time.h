// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the suites of code that is made at run time share.
#ifndef HEAPSONDE_TESTS_UNWIND_RUN_TIME_H
#define HEAPSONDE_TESTS_UNWIND_RUN_TIME_H

#include "support.h"

#include <stddef.h>
#include <stdint.h>

struct stack {
    void *pcs[256];
    int depth;
    struct hs_backtrace_info info;
};

// Of what is called by such code, and of what called that.
extern struct stack inner, outer;

void take_inner(void);

// The stack of `inner` is that of `outer` with some frames more. The caller's own frame is at another call in each.
void check_goes_on(void);

// A copy of the `size` bytes at `from` that can be executed.
uintptr_t make_code(const uint8_t *from, size_t size);

// Calls machine code as PyPy makes it, which calls take_inner(). Its frame can only be left by what PyPy keeps in it.
// The frame has an entry of `kind` for PyPy's profiler, `pushed` bytes are below it, and the machine code has `object`
// in the frame pointer.
enum pypy_kind { PYPY_COMPILED = 3, PYPY_OTHER = 4 };
extern const uint8_t frame_pypy[], frame_pypy_end[];
void call_pypy(uintptr_t code, enum pypy_kind kind, size_t pushed, const void *object);

#endif
