// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Readers that Debian has.
#include "readers.h"

#include <stdio.h>
#include <string.h>

static const char *const filters[] = {"", "--function keep_large", "--min-size 1000 --max-size 70000"};
#define FILTERS (sizeof(filters) / sizeof(filters[0]))

static void expect_python(const char *format, const char *options, int count)
{
    export_as(format, options);
    expect_totals(options, text("/usr/bin/python3 '%s/read.py' %s %s", source, format, format), count);
}

START_TEST(test_program)
{
    struct outcome outcome = run("$HEAPSONDE report --json --function '^(keep_|use_|take_|grow_)' program.dat");
    // 300 * 24 + 1000 * 1000 + 65536, and what came and went.
    ck_assert_ptr_nonnull(strstr(outcome.output, "\"live_bytes\": 1072736,"));
    ck_assert_ptr_nonnull(strstr(outcome.output, "\"live_count\": 1301,"));
    ck_assert_ptr_nonnull(strstr(outcome.output, "\"allocations\": 2333,"));
    ck_assert_ptr_nonnull(strstr(outcome.output, "\"peak_bytes\": 2007200,"));
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_heaptrack)
{
    need("heaptrack_print");
    for (size_t i = 0; i < FILTERS; i++)
        expect_python("heaptrack", filters[i], 3);
    export_as("heaptrack", "--function use_briefly");
    expect_totals("--function use_briefly", text("/usr/bin/python3 '%s/read.py' heaptrack heaptrack temporary", source),
                  4);
}
END_TEST

// A free stands where it happened: time never goes back.
START_TEST(test_heaptrack_times)
{
    export_as("heaptrack", "");
    shell("test $(grep -c '^-' heaptrack) -eq $($HEAPSONDE export --format csv program.dat | grep -c '^[0-9]*,[0-9]')");
    shell("grep '^c' heaptrack | cut -c3- | while read -r time; do echo $((0x$time)); done >times && "
          "sort -nc times && test $(wc -l <times) -gt 1");
}
END_TEST

START_TEST(test_massif)
{
    need("ms_print");
    for (size_t i = 0; i < FILTERS; i++)
        expect_python("massif", filters[i], 3);
}
END_TEST

START_TEST(test_lines)
{
    for (size_t i = 0; i < FILTERS; i++) {
        expect_python("csv", filters[i], 7);
        expect_python("jsonl", filters[i], 7);
    }
}
END_TEST

START_TEST(test_replay)
{
    for (size_t i = 0; i < FILTERS; i++)
        expect_python("replay", filters[i], 5);
}
END_TEST

START_TEST(test_dhat)
{
    need("node");
    export_as("dhat", "");
    expect_totals("", text("node '%s/read.mjs' dhat dhat", source), 6);
    // One stack alone; what is not its own peak is the heap's.
    export_as("dhat", "--function keep_large");
    expect_totals("--function keep_large", text("node '%s/read.mjs' dhat dhat | grep -v peak", source), 4);
}
END_TEST

START_TEST(test_pprof)
{
    static const struct {
        const char *key, *index, *unit;
    } values[] = {{"allocations", "alloc_objects", "count"},
                  {"allocated_bytes", "alloc_space", "B"},
                  {"live_count", "inuse_objects", "count"},
                  {"live_bytes", "inuse_space", "B"}};
    need("go");
    for (size_t i = 0; i < FILTERS; i++) {
        export_as("pprof", filters[i]);
        for (size_t k = 0; k < 4; k++)
            expect_totals(filters[i],
                          text("HOME=$PWD PPROF_TMPDIR=$PWD GOTOOLCHAIN=local PATH=/usr/lib/go/bin:$PATH go tool pprof "
                               "-top -symbolize=none -unit=%s -sample_index=%s pprof 2>errors | "
                               "sed -n 's/.*%% of \\([0-9]*\\).*/%s \\1/p'",
                               values[k].unit, values[k].index, values[k].key),
                          1);
    }
}
END_TEST

START_TEST(test_dumps)
{
    shell("$HEAPSONDE export --format pprof program.dat -o dump");
    static const char *const of_blocks[] = {"heaptrack", "firefox", "dhat",    "massif",
                                            "jsonl",     "csv",     "parquet", "replay"};
    for (size_t i = 0; i < sizeof(of_blocks) / sizeof(of_blocks[0]); i++) {
        struct outcome outcome = run("$HEAPSONDE export --format %s dump -o out", of_blocks[i]);
        ck_assert_int_eq(outcome.status, 1);
        ck_assert_ptr_nonnull(strstr(outcome.errors, "it is a heap dump, which says nothing of single blocks"));
        free_outcome(&outcome);
    }
    shell("$HEAPSONDE export --format speedscope dump -o out && grep -q '\"bytes in use' out && "
          "$HEAPSONDE export --format heapprofile -c allocated dump -o out && grep -q keep_large out");
}
END_TEST

int main(void)
{
    find_source();
    TCase *tests = tcase_create("readers_debian");
    tcase_set_timeout(tests, 240);
    tcase_add_checked_fixture(tests, make_trace, remove_work);
    tcase_add_test(tests, test_program);
    tcase_add_test(tests, test_heaptrack);
    tcase_add_test(tests, test_heaptrack_times);
    tcase_add_test(tests, test_massif);
    tcase_add_test(tests, test_lines);
    tcase_add_test(tests, test_replay);
    tcase_add_test(tests, test_dhat);
    tcase_add_test(tests, test_pprof);
    tcase_add_test(tests, test_dumps);
    return run_cases("readers_debian", tests);
}
