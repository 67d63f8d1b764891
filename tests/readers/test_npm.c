// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Readers that npm has: those of package.json, which scripts/test installs. Without them the suite is skipped.
#include "readers.h"
#include "tests/suite.h"

#include <stdio.h>
#include <stdlib.h>

static char packages[4096];

static void expect_node(const char *format, const char *cost, const char *options, const char *compared, int count)
{
    export_as(format, text("--cost %s %s", cost, options));
    expect_totals(options, text("node '%s/read.mjs' %s %s '%s' %s", source, format, format, packages, compared), count);
}

START_TEST(test_speedscope)
{
    expect_node("speedscope", "live", "", "", 8);
    // Of a restriction, the peak is not its own.
    expect_node("speedscope", "live", "--function keep_large", "| grep -v peak", 6);
}
END_TEST

START_TEST(test_heapprofile)
{
    expect_node("heapprofile", "allocated", "", "", 3);
    expect_node("heapprofile", "allocated", "--max-size 64", "", 3);
}
END_TEST

START_TEST(test_parquet)
{
    expect_node("parquet", "live", "", "", 6);
    expect_node("parquet", "live", "--min-size 1000", "", 6);
    // More than one group of rows.
    shell("$HEAPSONDE run -q -o program.dat -- ./program 140000");
    expect_node("parquet", "live", "", "", 6);
}
END_TEST

START_TEST(test_perfetto)
{
    expect_node("perfetto", "live", "", "", 6);
    expect_node("perfetto", "live", "--function keep_large", "| grep -v peak", 5);
    // A dump has no peak and no times.
    shell(
        "$HEAPSONDE export --format pprof program.dat -o dump && $HEAPSONDE export --format perfetto dump -o perfetto");
    expect_totals("", text("node '%s/read.mjs' perfetto perfetto '%s' | grep -vE 'peak|undefined'", source, packages),
                  4);
}
END_TEST

// profiler-cli reads the profile in a process of its own, which takes a while to be ready.
static void ask_profiler(const char *questions)
{
    shell("cli() { HOME=$PWD timeout 150 node '%s/node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js' "
          "\"$@\"; }\n"
          "cp firefox firefox.json\n"
          "cli load firefox.json >loaded 2>&1\n"
          "for try in $(seq 1000); do cli status >status 2>&1 && break; done\n"
          "%s\n"
          "cli stop --all >stopped 2>&1\n",
          packages, questions);
}

START_TEST(test_firefox)
{
    export_as("firefox", "");
    ask_profiler("for strategy in native-allocations native-retained-allocations; do\n"
                 "cli strategy $strategy >chosen && cli thread samples-top-down --json >firefox.$strategy || break\n"
                 "done\n"
                 "cli counter list --json >firefox.counters");
    expect_totals("", text("/usr/bin/python3 '%s/read.py' firefox firefox", source), 2);
}
END_TEST

// ---- samples, and what was touched ---------------------------------------------------------------------------------

static void expect_node_events(const char *format, const char *events, const char *filter, int count)
{
    export_as(format, text("--events %s --cost allocated %s", events, filter));
    expect_events(events, filter,
                  text("node '%s/read.mjs' %sOfEvents %s '%s' %s", source, format, format, packages, events), count);
}

START_TEST(test_events)
{
    static const char *const events[] = {"cpu", "off_cpu", "faults"};
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        expect_node_events("speedscope", events[i], "--thread worker", 2);
        expect_node_events("parquet", events[i], "--from 10%", 2);
        expect_node_events("perfetto", events[i], "", 1 + (i == 0));
    }
    expect_node_events("speedscope", "touched", "", 4);
    expect_node_events("parquet", "touched", "--min-size 64", 4);
    expect_node_events("perfetto", "touched", "", 3);
    expect_node_events("heapprofile", "touched", "", 1);
}
END_TEST

START_TEST(test_firefox_of_events)
{
    export_as("firefox", "--events cpu");
    ask_profiler("cli thread list --json >firefox.threads\n"
                 "for thread in $(sed -n 's/.*\"threadHandle\": \"\\(.*\\)\".*/\\1/p' firefox.threads); do\n"
                 "cli thread select $thread >chosen && cli thread samples-top-down --json >firefox.$thread || break\n"
                 "done");
    expect_events("cpu", "", text("/usr/bin/python3 '%s/read.py' firefox_of_events firefox", source), 1);
    export_as("firefox", "--events touched");
    ask_profiler("for strategy in native-allocations native-retained-allocations; do\n"
                 "cli strategy $strategy >chosen && cli thread samples-top-down --json >firefox.$strategy || break\n"
                 "done");
    expect_events("touched", "", text("/usr/bin/python3 '%s/read.py' firefox_of_touched firefox", source), 2);
}
END_TEST

int main(void)
{
    find_source();
    snprintf(packages, sizeof(packages), "%s", PATH_PACKAGES);
    if (system("command -v node >/dev/null && test -d '" PATH_PACKAGES "/node_modules/speedscope'")) {
        puts("skipped: the readers of tests/readers/package.json are not installed (scripts/test installs them with "
             "npm, which needs its registry)");
        return 77;
    }
    TCase *tests = tcase_create("readers_npm");
    tcase_add_checked_fixture(tests, make_trace, remove_work);
    tcase_add_test(tests, test_speedscope);
    tcase_add_test(tests, test_heapprofile);
    tcase_add_test(tests, test_parquet);
    tcase_add_test(tests, test_perfetto);
    tcase_add_test(tests, test_firefox);
    TCase *samples = tcase_create("samples");
    tcase_add_checked_fixture(samples, make_sampled_trace, remove_work);
    tcase_add_test(samples, test_events);
    tcase_add_test(samples, test_firefox_of_events);
    Suite *suite = suite_create("readers_npm");
    suite_add_tcase(suite, tests);
    suite_add_tcase(suite, samples);
    return run_suite(suite);
}
