// SPDX-License-Identifier: MIT OR Apache-2.0
#include "golden.h"

#include "tests/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

START_TEST(test_text)
{
    expect_output("expected/report.txt", "report --sysroot root golden.dat");
    expect_output("expected/sorted.txt", "report --sysroot root --sort allocated --top 3 golden.dat");
    expect_output("expected/full.txt", "report --sysroot root --sort peak --full-stacks golden.dat");
    expect_output("expected/tree.txt", "report --sysroot root --tree --min-percent 0 golden.dat");
    expect_output("expected/bottom_up.txt", "report --sysroot root --bottom-up --sort allocated golden.dat");
    expect_output("expected/threads.txt", "report --threads golden.dat");
    expect_output("expected/without_symbols.txt", "report --sort live golden.dat");
}
END_TEST

START_TEST(test_filters)
{
    expect_output("expected/worker.txt", "report --sysroot root --thread worker --sort allocated golden.dat");
    expect_output("expected/function.txt", "report --sysroot root --function '^copy_' --sort allocated golden.dat");
    expect_output("expected/sizes.txt",
                  "report --sysroot root --min-size 300 --max-size 1000 --sort allocated golden.dat");
    expect_output("expected/times.txt", "report --sysroot root --from 100ms --to 0.11s --sort allocated golden.dat");
}
END_TEST

START_TEST(test_json_text)
{
    expect_output("expected/report.json", "report --sysroot root --json --top 20 golden.dat");
}
END_TEST

// Of each thread, and together those of the report.
START_TEST(test_threads)
{
    static const char *const sums[] = {"peak_bytes", "live_bytes", "live_count", "allocated_bytes", "temporary_count"};
    json_t *report = output_as_json("report --json golden.dat");
    json_t *said = output_as_json("report --threads --json --sort live golden.dat");
    const json_t *threads = json_object_get(said, "threads"), *others = json_object_get(said, "not_known_by_thread");
    const json_t *first = json_array_get(threads, 0), *second = json_array_get(threads, 1);
    ck_assert_uint_eq(json_array_size(threads), 2);
    ck_assert_str_eq(json_string_value(json_object_get(first, "name")), "worker");
    ck_assert_int_eq(integer(first, "tid"), 4243);
    ck_assert_int_eq(integer(first, "live_bytes"), 2 * 1000);
    ck_assert_int_eq(integer(first, "allocated_count"), 22);
    for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
        ck_assert_int_eq(integer(first, sums[i]) + integer(second, sums[i]), integer(report, sums[i]));
        ck_assert_int_eq(integer(others, sums[i]), 0);
    }
    json_decref(said);
    said = output_as_json("report --threads --json --min-size 1000 golden.dat");
    first = json_array_get(json_object_get(said, "threads"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(first, "name")), "golden");
    ck_assert_int_eq(integer(first, "allocated_bytes"), 10 * 4096);
    json_decref(said);
    json_decref(report);
}
END_TEST

// The numbers that follow from golden_trace.c by hand.
START_TEST(test_numbers)
{
    json_t *report = output_as_json("report --sysroot root --json --top 100 golden.dat");
    ck_assert_str_eq(json_string_value(json_object_get(report, "program")), "/app/bin/golden");
    ck_assert_str_eq(json_string_value(json_object_get(report, "arch")), "x86_64");
    ck_assert_int_eq(integer(report, "duration_ns"), 2000000000);
    // 50 tokens, 10 lists, 3 of the growing block, 4 single ones; 20 + 2 of the worker.
    ck_assert_int_eq(integer(report, "allocations"), 50 + 10 + 3 + 4 + 22);
    ck_assert_int_eq(integer(report, "deallocations"), 45 + 10 + 3 + 20);
    ck_assert_int_eq(integer(report, "reallocations"), 2);
    ck_assert_int_eq(integer(report, "allocated_bytes"),
                     50 * 100 + 10 * 4096 + 100 + 200 + 400 + 333 + 7 + 50 + 60 + 20 * 64 + 2 * 1000);
    ck_assert_int_eq(integer(report, "live_count"), 5 + 4 + 2);
    ck_assert_int_eq(integer(report, "live_bytes"), 5 * 100 + 333 + 7 + 50 + 60 + 2 * 1000);
    ck_assert_int_eq(integer(report, "peak_bytes"), 50 * 100 + 10 * 4096);
    ck_assert_int_eq(integer(report, "peak_time_ns"), 60000000);
    ck_assert_int_eq(integer(report, "threads"), 2);
    ck_assert_int_eq(integer(report, "stacks"), 10);
    ck_assert_int_eq(integer(json_object_get(report, "truncated"), "no_rule"), 1);
    ck_assert_int_eq(json_object_size(json_object_get(report, "truncated")), 1);
    const json_t *cut = json_object_get(report, "cut_stacks");
    ck_assert_int_eq(json_array_size(cut), 1);
    cut = json_array_get(cut, 0);
    ck_assert_str_eq(json_string_value(json_object_get(cut, "reason")), "no_rule");
    ck_assert_int_eq(integer(cut, "stacks"), 1);
    ck_assert_int_eq(integer(cut, "allocations"), 1);
    ck_assert_int_eq(integer(cut, "allocated_bytes"), 333);
    ck_assert_int_eq(integer(json_object_get(report, "dropped"), "buffer"), 3);
    ck_assert_int_eq(json_object_size(json_object_get(report, "dropped")), 1);
    long long live = 0;
    size_t index;
    json_t *entry;
    json_array_foreach(json_object_get(report, "top"), index, entry)
    {
        live += integer(entry, "live_bytes");
    }
    ck_assert_int_eq(live, integer(report, "live_bytes"));
    json_decref(report);
}
END_TEST

START_TEST(test_no_colour)
{
    // Not a terminal: no escape sequences. On one, NO_COLOR is honoured.
    struct outcome outcome = run("$HEAPSONDE report --sysroot root golden.dat");
    ck_assert_ptr_null(strchr(outcome.output, '\033'));
    free_outcome(&outcome);
    outcome = run("command -v script >/dev/null || exit 9; "
                  "TERM=xterm script -qec \"$HEAPSONDE report --sysroot root golden.dat\" /dev/null </dev/null");
    if (outcome.status != 9)
        ck_assert_ptr_nonnull(strchr(outcome.output, '\033'));
    free_outcome(&outcome);
    outcome =
        run("command -v script >/dev/null || exit 9; "
            "TERM=xterm NO_COLOR=1 script -qec \"$HEAPSONDE report --sysroot root golden.dat\" /dev/null </dev/null");
    ck_assert_ptr_null(strchr(outcome.output, '\033'));
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_problems_are_told)
{
    expect_output("expected/modules.txt", "report --modules --sysroot root golden.dat");
    struct outcome outcome = run("$HEAPSONDE report golden.dat");
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_str_eq(outcome.errors, "");
    ck_assert_ptr_nonnull(strstr(outcome.output, "wanted: DIR/app/bin/golden with --sysroot DIR or /usr/lib/debug/"));
    free_outcome(&outcome);
    // A file of another build is not used, and that is said.
    shell("cp /bin/true root/app/bin/golden");
    outcome = run("$HEAPSONDE report --sysroot root golden.dat");
    ck_assert_ptr_nonnull(strstr(outcome.output, "root/app/bin/golden has another build id"));
    ck_assert_ptr_nonnull(strstr(outcome.output, "golden+0x401"));
    free_outcome(&outcome);
    // Where the report is for other programs, or a picture, people are told beside it.
    outcome = run("$HEAPSONDE report --tree --sysroot root golden.dat");
    ck_assert_ptr_nonnull(strstr(outcome.errors, "/app/bin/golden: root/app/bin/golden has another build id"));
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE export --format flamegraph -o picture.svg golden.dat");
    ck_assert_ptr_nonnull(strstr(outcome.errors, "/app/bin/golden: no file found; wanted: DIR/app/bin/golden"));
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_source_map)
{
    struct outcome outcome =
        run("$HEAPSONDE report --sysroot root --source-map /build=/elsewhere "
            "--source-map /build/golden/=/home/me/golden/ --source-map /build/gold=/wrong golden.dat");
    ck_assert_ptr_nonnull(strstr(outcome.output, "copy_token (/home/me/golden/src/token.h:12)"));
    ck_assert_ptr_nonnull(strstr(outcome.output, "parse_line (/home/me/golden/src/parser.c:57)"));
    ck_assert_ptr_null(strstr(outcome.output, "/build/golden"));
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE export --format json --sysroot root --source-map /build=/elsewhere golden.dat");
    ck_assert_ptr_nonnull(strstr(outcome.output, "\"/elsewhere/golden/src/parser.c\""));
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_wrong_filters)
{
    struct outcome outcome = run("$HEAPSONDE report --thread nobody golden.dat");
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_ptr_nonnull(strstr(outcome.errors, "'nobody'"));
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE report --function '(' golden.dat");
    ck_assert_int_eq(outcome.status, 2);
    ck_assert_ptr_nonnull(strstr(outcome.errors, "position 1"));
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE report --from 2s --to 1s golden.dat");
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_ptr_nonnull(strstr(outcome.errors, "swap them"));
    free_outcome(&outcome);
}
END_TEST

// Cut or changed anywhere: read as far as it goes, or one line that names the file.
START_TEST(test_damaged_traces)
{
    size_t length = 0;
    char *bytes = read_file(text("%s/golden.dat", work), &length);
    unsigned seed = 1;
    for (int round = 0; round < 60; round++) {
        char *copy = malloc(length);
        memcpy(copy, bytes, length);
        size_t kept = length;
        if (round % 2)
            kept = length * (size_t)round / 60;
        else
            for (int i = 0; i < 1 + round / 4; i++) {
                seed = seed * 1103515245 + 12345;
                copy[(seed >> 8) % length] ^= (char)(1 + seed % 255);
            }
        write_file(text("%s/damaged.dat", work), copy, kept);
        free(copy);
        struct outcome outcome = run("rm -rf damaged.dat.*; $HEAPSONDE report --json --sysroot root damaged.dat");
        ck_assert_msg(outcome.status == 0 || outcome.status == 1, "round %d: status %d", round, outcome.status);
        if (outcome.status == 0)
            json_decref(parse_json(outcome.output, outcome.output_length));
        else
            ck_assert_msg(strstr(outcome.errors, "damaged.dat") && strchr(outcome.errors, '\n')[1] == 0, "%s",
                          outcome.errors);
        free_outcome(&outcome);
    }
    free(bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("report");
    TCase *tests = tcase_create("report");
    tcase_add_checked_fixture(tests, make_golden, remove_work);
    tcase_add_test(tests, test_text);
    tcase_add_test(tests, test_filters);
    tcase_add_test(tests, test_json_text);
    tcase_add_test(tests, test_threads);
    tcase_add_test(tests, test_numbers);
    tcase_add_test(tests, test_no_colour);
    tcase_add_test(tests, test_problems_are_told);
    tcase_add_test(tests, test_source_map);
    tcase_add_test(tests, test_wrong_filters);
    tcase_add_test(tests, test_damaged_traces);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
