// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The shapes of frames that compilers make, without frame pointers.
#include "support.h"

#include "unwind/odd_rules.h"
#include "unwind/resolve.h"

#include <alloca.h>
#include <errno.h>
#include <setjmp.h>
#include <string.h>

typedef void callback(void *);

static void check_here(void *unused)
{
    (void)unused;
    check_side_stack(1);
}

// Thirty functions with frames of different sizes.
#define NESTED(n, next)                                                                                                \
    NOINLINE static void nested_##n(volatile char *outer)                                                              \
    {                                                                                                                  \
        volatile char local[(n)*24 + 8];                                                                               \
        ENTER();                                                                                                       \
        local[0] = outer[0];                                                                                           \
        next(local);                                                                                                   \
        LEAVE();                                                                                                       \
        outer[0] = local[0];                                                                                           \
    }
NOINLINE static void nested_0(volatile char *outer)
{
    ENTER();
    check_side_stack(0);
    LEAVE();
    outer[0]++;
}
// clang-format off
NESTED(1, nested_0) NESTED(2, nested_1) NESTED(3, nested_2) NESTED(4, nested_3) NESTED(5, nested_4) NESTED(6, nested_5)
NESTED(7, nested_6) NESTED(8, nested_7) NESTED(9, nested_8) NESTED(10, nested_9) NESTED(11, nested_10) NESTED(12, nested_11)
NESTED(13, nested_12) NESTED(14, nested_13) NESTED(15, nested_14) NESTED(16, nested_15) NESTED(17, nested_16) NESTED(18, nested_17)
NESTED(19, nested_18) NESTED(20, nested_19) NESTED(21, nested_20) NESTED(22, nested_21) NESTED(23, nested_22) NESTED(24, nested_23)
NESTED(25, nested_24) NESTED(26, nested_25) NESTED(27, nested_26) NESTED(28, nested_27) NESTED(29, nested_28) NESTED(30, nested_29)
    // clang-format on

    START_TEST(thirty_nested_functions)
{
    volatile char buffer[8] = {0};
    nested_30(buffer);
}
END_TEST

// Whether the rule of a return address is outside of the standard encoding.
static bool is_odd(void *return_address)
{
    return hs_rule_is(hs_rule_of((uintptr_t)return_address, false), HS_RULE_ODD);
}

NOINLINE static void frame_of_a_megabyte(callback *call)
{
    volatile char local[1 << 20];
    ENTER();
    local[0] = 1;
    local[sizeof local - 1] = 1;
    call((void *)local);
    LEAVE();
}

NOINLINE static void frame_of_181312(callback *call)
{
    volatile char local[181312];
    ENTER();
    local[0] = 1;
    call((void *)local);
    LEAVE();
}

START_TEST(frames_above_128_kib)
{
    frame_of_a_megabyte(check_here);
    frame_of_181312(check_here);
}
END_TEST

NOINLINE static void with_alloca(size_t size, callback *call)
{
    ENTER();
    OPAQUE(size);
    volatile char *block = alloca(size);
    block[0] = 1;
    call((void *)block);
    LEAVE();
}

NOINLINE static void with_array(size_t size, callback *call)
{
    ENTER();
    OPAQUE(size);
    volatile char block[size];
    block[0] = 1;
    if (size > 16)
        with_alloca(size / 2, call);
    else
        call((void *)block);
    LEAVE();
}

START_TEST(frames_of_variable_size)
{
    for (size_t size = 1; size < 5000; size = size * 3 + 1)
        with_array(size, check_here);
}
END_TEST

static void *realigned_return;
static void note_and_check(void *local)
{
    (void)local;
    realigned_return = __builtin_return_address(0);
    check_side_stack(1);
}

// A realigned frame with a variable part: gcc keeps the CFA in memory (DRAP).
NOINLINE __attribute__((target("avx2"))) static void realigned(size_t size, callback *call)
{
    _Alignas(64) volatile char local[64];
    ENTER();
    OPAQUE(size);
    volatile char *block = alloca(size);
    local[0] = block[0] = 1;
    call((void *)local);
    local[1] = block[0];
    LEAVE();
}

NOINLINE static void around_realigned(size_t size)
{
    ENTER();
    realigned(size, note_and_check);
    OPAQUE(size);
    LEAVE();
}

START_TEST(realigned_frames)
{
    for (size_t size = 1; size < 1000; size *= 2)
        around_realigned(size);
    ck_assert_msg(is_odd(realigned_return), "the compiler made no frame with the CFA in memory");
}
END_TEST

static jmp_buf environment;

__attribute__((noreturn)) NOINLINE static void never_returns(void)
{
    ENTER();
    check_side_stack(0);
    longjmp(environment, 1);
}

// The call is the last instruction: the return address is the first byte of whatever follows.
NOINLINE static void ends_with_a_call(int value)
{
    ENTER();
    OPAQUE(value);
    never_returns();
}

START_TEST(call_at_the_end_of_a_function)
{
    for (volatile int i = 0; i < 3; i++) {
        side.depth = 0;
        if (!setjmp(environment))
            ends_with_a_call(i);
        side.depth = 0;
        check_side_stack(0);
    }
}
END_TEST

__attribute__((cold)) NOINLINE static void cold_callee(volatile int *value)
{
    ENTER();
    check_side_stack(0);
    LEAVE();
    ++*value;
}

// The unlikely part, with its call, is moved to .text.unlikely and has an FDE of its own.
NOINLINE static int partitioned(volatile int *value)
{
    int sum = 0;
    ENTER();
    for (int i = 0; i < 10; i++) {
        sum += value[i];
        if (__builtin_expect(value[i] < 0, 0)) {
            cold_callee(&value[i]);
            sum -= value[i] * 3;
        }
    }
    LEAVE();
    return sum;
}

START_TEST(cold_partition)
{
    volatile int values[10] = {0, 1, 2, -5, 4, -6};
    for (int i = 0; i < 3; i++)
        partitioned(values);
}
END_TEST

// tests/unwind/odd_frames.S
extern void odd_cfa_expression(callback *call, void *argument);
extern void odd_rbx_based(callback *call, void *argument);
extern void odd_unaligned(callback *call, void *argument);
extern void odd_remember_nested(callback *call, void *argument);
extern void odd_return_address_moved(callback *call, void *argument);
extern void odd_value_expression(callback *call, void *argument);

static void check_two_up(void *unused)
{
    (void)unused;
    check_side_stack(2);
}

static void check_three_up(void *unused)
{
    (void)unused;
    check_side_stack(3);
}

#define AROUND(name, check)                                                                                            \
    NOINLINE static void around_##name(int value)                                                                      \
    {                                                                                                                  \
        volatile int local[5] = {value};                                                                               \
        ENTER();                                                                                                       \
        name(check, (void *)local);                                                                                    \
        OPAQUE(value);                                                                                                 \
        LEAVE();                                                                                                       \
    }
AROUND(odd_cfa_expression, check_two_up)
AROUND(odd_rbx_based, check_two_up)
AROUND(odd_unaligned, check_three_up)
AROUND(odd_remember_nested, check_two_up)
AROUND(odd_return_address_moved, check_three_up)
AROUND(odd_value_expression, check_three_up)

START_TEST(cfa_expression)
{
    around_odd_cfa_expression(1);
}
END_TEST

START_TEST(cfa_from_another_register)
{
    around_odd_rbx_based(1);
}
END_TEST

START_TEST(unaligned_frame)
{
    around_odd_unaligned(1);
}
END_TEST

START_TEST(remembered_states)
{
    around_odd_remember_nested(1);
}
END_TEST

START_TEST(return_address_elsewhere)
{
    around_odd_return_address_moved(1);
}
END_TEST

START_TEST(value_expression)
{
    around_odd_value_expression(1);
}
END_TEST

NOINLINE static int recurse(int depth, void (*leaf)(void))
{
    volatile int local = depth;
    ENTER();
    if (depth)
        recurse(depth - 1, leaf);
    else
        leaf();
    LEAVE();
    return local;
}

static void check_leaf(void)
{
    check_side_stack(1);
}

START_TEST(deeper_than_the_memo)
{
    recurse(5000, check_leaf);
    recurse(1500, check_leaf);
    recurse(900, check_leaf);
}
END_TEST

static void check_innermost_part(void)
{
    void *pcs[40];
    struct hs_backtrace_info info;
    errno = 77;
    int depth = hs_backtrace_reason(pcs, 40, &info);
    ck_assert_int_eq(errno, 77);
    ck_assert_int_eq(depth, 40);
    ck_assert_int_eq(info.end, HS_BACKTRACE_TOO_DEEP);
    for (int i = 0; i < 38; i++)
        ck_assert_ptr_eq(pcs[2 + i], side.returns[side.depth - 1 - i]);
    ck_assert_int_eq(hs_backtrace(pcs, 1), 1);
    ck_assert_int_eq(hs_backtrace(pcs, 0), 0);
    ck_assert_int_eq(hs_backtrace(pcs, -1), 0);
}

START_TEST(array_too_small)
{
    recurse(100, check_innermost_part);
    recurse(3000, check_innermost_part);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frames");
    TCase *compiled = tcase_create("compiled");
    tcase_add_test(compiled, thirty_nested_functions);
    tcase_add_test(compiled, frames_above_128_kib);
    tcase_add_test(compiled, frames_of_variable_size);
    tcase_add_test(compiled, realigned_frames);
    tcase_add_test(compiled, call_at_the_end_of_a_function);
    tcase_add_test(compiled, cold_partition);
    tcase_add_test(compiled, deeper_than_the_memo);
    tcase_add_test(compiled, array_too_small);
    suite_add_tcase(suite, compiled);
    TCase *written = tcase_create("hand-written");
    tcase_add_test(written, cfa_expression);
    tcase_add_test(written, cfa_from_another_register);
    tcase_add_test(written, unaligned_frame);
    tcase_add_test(written, remembered_states);
    tcase_add_test(written, return_address_elsewhere);
    tcase_add_test(written, value_expression);
    suite_add_tcase(suite, written);
    return run_suite(suite);
}
