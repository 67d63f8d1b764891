// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Files that others cut while a command reads them.
#include "command.h"
#include "tests/store/trace_writer.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

// Far more rows than what fits a pipe once they are written.
static void write_trace(void)
{
    struct random_program program;
    random_program__make(&program, 1, 100000, 2, false, 8);
    random_program__write(&program, text("%s/trace", work), HS_BYTE_ORDER_LITTLE, 8, false, true);
    random_program__free(&program);
}

// When the first byte arrives, the store is open and most of it has still to be read.
static void expect_complaint(const char *command)
{
    struct outcome outcome =
        run("(%s; echo $? > status) | (head -c 1 > first; for file in trace.store/*; do : > $file; done; cat > rest); "
            "exit $(cat status)",
            command);
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_msg(strstr(outcome.errors, "cut short while it was read"), "%s", outcome.errors);
    free_outcome(&outcome);
}

START_TEST(test_a_store_is_cut_while_it_is_exported)
{
    write_trace();
    struct outcome whole = run("$HEAPSONDE export --format csv trace");
    ck_assert_int_eq(whole.status, 0);
    ck_assert_uint_gt(whole.output_length, 1u << 20);
    free_outcome(&whole);
    expect_complaint("$HEAPSONDE export --format csv trace");
    // The next one makes the store again.
    struct outcome again = run("$HEAPSONDE report trace");
    ck_assert_int_eq(again.status, 0);
    ck_assert_str_eq(again.errors, "");
    free_outcome(&again);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("cut");
    tcase_add_checked_fixture(cases, make_work, remove_work);
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, test_a_store_is_cut_while_it_is_exported);
    return run_cases("cut", cases);
}
