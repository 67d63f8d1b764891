// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Files that others cut, before a command reads them or meanwhile.
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

// Here the kernel ends it in the middle of the file.
START_TEST(test_who_is_ended_while_writing_leaves_nothing)
{
    write_trace();
    struct outcome whole = run("$HEAPSONDE report trace");
    ck_assert_int_eq(whole.status, 0);
    free_outcome(&whole);
    struct outcome cut = run("bash -c 'ulimit -f 64; $HEAPSONDE export --format csv trace -o rows.csv'; ls");
    ck_assert_msg(!strstr(cut.output, "rows.csv"), "%s", cut.output);
    free_outcome(&cut);
    cut = run("$HEAPSONDE export --format html trace -o /dev/full");
    ck_assert_int_eq(cut.status, 1);
    ck_assert_str_eq(cut.errors, "heapsonde export: the page could not be written: No space left on device\n");
    free_outcome(&cut);
}
END_TEST

// ---- before they are read
// --------------------------------------------------------------------------------------------

// Where the last chunk of events of a trace begins.
static long last_events(const char *path)
{
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    long at = 4096, found = 0;
    uint8_t header[56];
    while (!fseek(file, at, SEEK_SET) && fread(header, sizeof header, 1, file) == 1) {
        uint16_t kind;
        uint32_t length;
        memcpy(&kind, header + 4, sizeof kind);
        memcpy(&length, header + 8, sizeof length);
        found = kind == 3 ? at : found;
        at += (long)sizeof header + (long)((length + 7) & ~7u);
    }
    fclose(file);
    return found;
}

static void expect_report(const char *file, const char *part)
{
    struct outcome outcome = run("$HEAPSONDE report %s && $HEAPSONDE report --json %s", file, file);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_msg(!strstr(outcome.output, "the file is truncated") == !part && (!part || strstr(outcome.output, part)),
                  "%s", outcome.output);
    free_outcome(&outcome);
}

// What is there can be read to its end: that something is missing shows in what the process has counted.
START_TEST(test_a_trace_is_cut_between_two_chunks)
{
    struct outcome outcome = run("$HEAPSONDE run -q -o recorded -- perl -e 'my @a = map { \"x\" x $_ } 1 .. 5000'");
    ck_assert_int_eq(outcome.status, 0);
    free_outcome(&outcome);
    expect_report("recorded", NULL);
    outcome = run("head -c %ld recorded > cut; head -c 4096 recorded > none", last_events(text("%s/recorded", work)));
    ck_assert_int_eq(outcome.status, 0);
    free_outcome(&outcome);
    expect_report("cut", "events are in it");
    expect_report("none", "truncated or damaged: 0 of ");
    outcome = run("$HEAPSONDE strip -o stripped recorded && $HEAPSONDE strip -o stripped-cut cut");
    ck_assert_int_eq(outcome.status, 0);
    free_outcome(&outcome);
    expect_report("stripped", NULL);
    expect_report("stripped-cut", "events are in it");
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("cut");
    tcase_add_checked_fixture(cases, make_work, remove_work);
    tcase_add_test(cases, test_a_store_is_cut_while_it_is_exported);
    tcase_add_test(cases, test_who_is_ended_while_writing_leaves_nothing);
    tcase_add_test(cases, test_a_trace_is_cut_between_two_chunks);
    return run_cases("cut", cases);
}
