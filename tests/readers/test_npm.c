// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Readers that npm has: those of package.json, which scripts/test installs. Without them the suite is skipped.
#include "readers.h"

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
START_TEST(test_firefox)
{
    export_as("firefox", "");
    shell("cli() { HOME=$PWD timeout 60 node '%s/node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js' "
          "\"$@\"; }\n"
          "cp firefox firefox.json\n"
          "cli load firefox.json >loaded 2>&1\n"
          "for try in $(seq 100); do cli status >status 2>&1 && break; done\n"
          "for strategy in native-allocations native-retained-allocations; do\n"
          "cli strategy $strategy >chosen && cli thread samples-top-down --json >firefox.$strategy || break\n"
          "done\n"
          "cli counter list --json >firefox.counters\n"
          "cli stop --all >stopped 2>&1\n",
          packages);
    expect_totals("", text("/usr/bin/python3 '%s/read.py' firefox firefox", source), 2);
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
    tcase_set_timeout(tests, 240);
    tcase_add_checked_fixture(tests, make_trace, remove_work);
    tcase_add_test(tests, test_speedscope);
    tcase_add_test(tests, test_heapprofile);
    tcase_add_test(tests, test_parquet);
    tcase_add_test(tests, test_perfetto);
    tcase_add_test(tests, test_firefox);
    return run_cases("readers_npm", tests);
}
