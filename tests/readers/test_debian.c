// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Readers that Debian has.
#include "readers.h"
#include "tests/suite.h"

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

START_TEST(test_callgrind)
{
    need("callgrind_annotate");
    // The peak of a file is the whole heap's, that of the report is the filter's.
    for (size_t i = 0; i < FILTERS; i++) {
        export_as("callgrind", filters[i]);
        expect_totals(filters[i],
                      text("/usr/bin/python3 '%s/read.py' callgrind callgrind %s", source, i ? "filtered" : ""),
                      i ? 6 : 8);
    }
    // Also where functions call themselves and each other.
    export_as("callgrind", "");
    shell("$HEAPSONDE ask program.dat totals by=function count=1000 >functions && "
          "/usr/bin/python3 '%s/read.py' callgrind_functions callgrind functions",
          source);
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
        ck_assert_ptr_nonnull(strstr(outcome.errors, "it is a heap dump, which does not contain single blocks"));
        free_outcome(&outcome);
    }
    shell("$HEAPSONDE export --format speedscope dump -o out && grep -q '\"bytes in use' out && "
          "$HEAPSONDE export --format heapprofile -c allocated dump -o out && grep -q keep_large out");
}
END_TEST

// ---- samples, and what was touched ---------------------------------------------------------------------------------

static const struct {
    const char *events;
    const char *filters[3];
    int sums; // of the formats with all of them
} events[] = {{"cpu", {"", "--thread worker", "--function '^f$'"}, 2},
              {"off_cpu", {"", "--from 30%", "--library program"}, 2},
              {"faults", {"", "--thread 9001", "--to 50%"}, 2},
              {"touched", {"", "--thread main", "--min-size 64"}, 5}};
#define EVENTS (sizeof(events) / sizeof(events[0]))

static void expect_python_events(const char *format, size_t which, const char *filter, int count)
{
    const char *name = events[which].events;
    export_as(format, text("--events %s --cost allocated %s", name, filter));
    expect_events(name, filter, text("/usr/bin/python3 '%s/read.py' %s_of_events %s %s", source, format, format, name),
                  count);
}

START_TEST(test_tables_of_events)
{
    for (size_t i = 0; i < EVENTS; i++) {
        expect_python_events("csv", i, "", events[i].sums);
        for (size_t k = 0; k < 3; k++) {
            expect_python_events("jsonl", i, events[i].filters[k], events[i].sums);
            expect_python_events("collapsed", i, events[i].filters[k], 1);
            expect_python_events("json", i, events[i].filters[k], events[i].sums + (events[i].sums > 2));
        }
    }
}
END_TEST

START_TEST(test_pprof_of_events)
{
    static const struct {
        const char *events, *key, *index, *unit;
    } values[] = {{"cpu", "ns", "cpu", "ns"},
                  {"cpu", "samples", "samples", "count"},
                  {"off_cpu", "ns", "off_cpu", "ns"},
                  {"faults", "faults", "page_faults", "count"},
                  {"touched", "touched_bytes", "touched_space", "B"},
                  {"touched", "live_touched_bytes", "resident_space", "B"},
                  {"touched", "allocations", "alloc_objects", "count"}};
    need("go");
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        export_as("pprof", text("--events %s --function '^[a-f]'", values[i].events));
        expect_events(values[i].events, "--function '^[a-f]'",
                      text("HOME=$PWD PPROF_TMPDIR=$PWD GOTOOLCHAIN=local PATH=/usr/lib/go/bin:$PATH go tool pprof "
                           "-top -symbolize=none -unit=%s -sample_index=%s pprof 2>errors | "
                           "sed -n 's/.*%% of \\([0-9]*\\)[a-zA-Z]* total.*/%s \\1/p'",
                           values[i].unit, values[i].index, values[i].key),
                      1);
    }
}
END_TEST

START_TEST(test_flamegraph_of_events)
{
    shell("$HEAPSONDE export --format flamegraph --events cpu program.dat -o graph && "
          "grep -q ': CPU time, .*s in [0-9]* samples' graph && /usr/bin/python3 -c "
          "'import sys, xml.dom.minidom; xml.dom.minidom.parse(\"graph\")'");
}
END_TEST

// Three lines of the same length, and the same as numbers.
START_TEST(test_report_over_time)
{
    shell("$HEAPSONDE report program.dat >report && sed -n '/^Over time/,/^$/p' report >lines && "
          "grep -cE '^  (CPU|heap|resident) +[|].{60}[|] at most [0-9]' lines | grep -qx 3 && "
          "grep -q '^  CPU .* processors$' lines");
    shell("$HEAPSONDE report --size-min 4 program.dat >report && sed -n '/^Over time/,/^$/p' report >lines && "
          "grep -cE '^  (CPU|heap|resident) ' lines | grep -qx 1");
    shell("$HEAPSONDE report --json program.dat >report && /usr/bin/python3 -c 'import json\n"
          "report = json.load(open(\"report\"))\n"
          "lines = report[\"over_time\"]\n"
          "assert sum(lines[\"cpu_ns\"]) == report[\"cpu\"][\"ns\"]\n"
          "assert max(lines[\"heap_bytes\"]) == report[\"peak_bytes\"]\n"
          "assert max(lines[\"resident_bytes\"]) <= report[\"touched\"][\"faulted_bytes\"]'");
    shell("$HEAPSONDE report --json --thread worker program.dat >report && /usr/bin/python3 -c 'import json\n"
          "report = json.load(open(\"report\"))\n"
          "assert sum(report[\"over_time\"][\"cpu_ns\"]) == report[\"cpu\"][\"ns\"]\n"
          "assert report[\"over_time\"][\"resident_bytes\"] is None'");
}
END_TEST

// One line says which formats hold it.
START_TEST(test_formats_without_events)
{
    static const char *const formats[] = {"heaptrack", "massif", "dhat", "replay", "symbolized", "heapprofile"};
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        struct outcome outcome = run("$HEAPSONDE export --format %s --events cpu program.dat -o out", formats[i]);
        ck_assert_int_eq(outcome.status, 1);
        ck_assert_ptr_nonnull(
            strstr(outcome.errors, text("CPU time cannot be written as %s; give one of: pprof "
                                        "collapsed flamegraph json speedscope firefox callgrind jsonl csv "
                                        "parquet perfetto\n",
                                        formats[i])));
        ck_assert_ptr_eq(strchr(outcome.errors, '\n'), strrchr(outcome.errors, '\n'));
        free_outcome(&outcome);
    }
    struct outcome outcome = run("$HEAPSONDE export --format csv --events cpu --size-min 4 program.dat");
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_ptr_nonnull(strstr(outcome.errors, "--size-min is a property of blocks, which samples do not have"));
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE export --format collapsed --events touched --cost peak program.dat");
    ck_assert_int_eq(outcome.status, 2);
    ck_assert_ptr_nonnull(
        strstr(outcome.errors, "'peak' is not known for touched memory; --cost takes allocated and "));
    free_outcome(&outcome);
    shell("$HEAPSONDE export --format pprof program.dat -o dump");
    outcome = run("$HEAPSONDE export --format collapsed --events cpu dump");
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_ptr_nonnull(strstr(outcome.errors, "dump is a heap dump, which has no CPU time"));
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE report --size-min 4 program.dat");
    ck_assert_ptr_nonnull(strstr(outcome.output, "Call sites by CPU time: left out, because --size-min is a property"));
    free_outcome(&outcome);
}
END_TEST

int main(void)
{
    find_source();
    TCase *tests = tcase_create("readers_debian");
    tcase_add_checked_fixture(tests, make_trace, remove_work);
    tcase_add_test(tests, test_program);
    tcase_add_test(tests, test_heaptrack);
    tcase_add_test(tests, test_heaptrack_times);
    tcase_add_test(tests, test_massif);
    tcase_add_test(tests, test_callgrind);
    tcase_add_test(tests, test_lines);
    tcase_add_test(tests, test_replay);
    tcase_add_test(tests, test_dhat);
    tcase_add_test(tests, test_pprof);
    tcase_add_test(tests, test_dumps);
    TCase *samples = tcase_create("samples");
    tcase_add_checked_fixture(samples, make_sampled_trace, remove_work);
    tcase_add_test(samples, test_tables_of_events);
    tcase_add_test(samples, test_pprof_of_events);
    tcase_add_test(samples, test_flamegraph_of_events);
    tcase_add_test(samples, test_report_over_time);
    tcase_add_test(samples, test_formats_without_events);
    Suite *suite = suite_create("readers_debian");
    suite_add_tcase(suite, tests);
    suite_add_tcase(suite, samples);
    return run_suite(suite);
}
