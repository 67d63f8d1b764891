// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "run_time.h"

#include <string.h>
#include <sys/mman.h>

struct stack inner, outer;

NOINLINE void take_inner(void)
{
    inner.depth = hs_backtrace_reason(inner.pcs, 256, &inner.info);
    OPAQUE(inner.depth);
}

void check_goes_on(void)
{
    const int shared = outer.depth - 1;
    ck_assert_int_eq(outer.info.end, HS_BACKTRACE_COMPLETE);
    ck_assert_int_eq(inner.info.end, HS_BACKTRACE_COMPLETE);
    ck_assert_int_gt(shared, 2);
    ck_assert_int_gt(inner.depth, shared + 2);
    ck_assert(!memcmp(inner.pcs + inner.depth - shared, outer.pcs + outer.depth - shared,
                      (size_t)shared * sizeof *inner.pcs));
}

uintptr_t make_code(const uint8_t *from, size_t size)
{
    uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(code, MAP_FAILED);
    memcpy(code + 64, from, size);
    ck_assert_int_eq(mprotect(code, 4096, PROT_READ | PROT_EXEC), 0);
    return (uintptr_t)(code + 64);
}

NOINLINE void call_pypy(uintptr_t code, enum pypy_kind kind, size_t pushed, const void *object)
{
    char *room = __builtin_alloca(pushed + 1);
    OPAQUE(room);
    outer.depth = hs_backtrace_reason(outer.pcs, 256, &outer.info);
    ((void (*)(void (*)(void), intptr_t, size_t, const void *))code)(take_inner, (intptr_t)kind, pushed, object);
    OPAQUE(room);
}
