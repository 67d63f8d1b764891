// SPDX-License-Identifier: MIT OR Apache-2.0
#include "golden.h"

#include "tests/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char probe[4096]; // the script that uses the page

START_TEST(test_collapsed)
{
    expect_output("expected/peak.collapsed", "export --format collapsed --sysroot root golden.dat");
    expect_output("expected/live.collapsed", "export --format collapsed --cost live --sysroot root golden.dat");
    expect_output("expected/allocated.collapsed",
                  "export --format collapsed --cost allocated --sysroot root golden.dat -o -");
    expect_output("expected/temporary_count.collapsed",
                  "export --format collapsed --cost temporary --unit count --sysroot root golden.dat");
    expect_output("expected/worker.collapsed",
                  "export --format collapsed --cost allocated --thread worker --sysroot root golden.dat");
}
END_TEST

// Each line is frames, one space, a number; the numbers add up to the report's.
static unsigned long long sum_of(char *lines)
{
    unsigned long long sum = 0;
    for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n")) {
        const char *space = strrchr(line, ' ');
        char *end;
        ck_assert_msg(space && space > line, "%s", line);
        sum += strtoull(space + 1, &end, 10);
        ck_assert_msg(!*end, "%s", line);
    }
    return sum;
}

START_TEST(test_sums)
{
    json_t *report = output_as_json("report --json golden.dat");
    static const struct {
        const char *options;
        const char *key;
    } cases[] = {{"--cost live", "live_bytes"},
                 {"--cost live --unit count", "live_count"},
                 {"--cost peak", "peak_bytes"},
                 {"--cost allocated", "allocated_bytes"},
                 {"--cost allocated --unit count", "allocations"},
                 {"--cost temporary --unit count", "temporary_count"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct outcome outcome = run("$HEAPSONDE export --format collapsed %s golden.dat", cases[i].options);
        ck_assert_int_eq(outcome.status, 0);
        ck_assert_int_eq((long long)sum_of(outcome.output), integer(report, cases[i].key));
        free_outcome(&outcome);
    }
    json_decref(report);
}
END_TEST

START_TEST(test_json)
{
    json_t *export = output_as_json("export --format json --sysroot root golden.dat");
    json_t *report = output_as_json("report --json golden.dat");
    const json_t *frames = json_object_get(export, "frames");
    long long bytes = 0;
    size_t index;
    size_t place;
    json_t *stack;
    json_t *number;
    bool inlined = false;
    ck_assert_str_eq(json_string_value(json_object_get(export, "format")), "heapsonde-stacks");
    json_array_foreach(json_object_get(export, "stacks"), index, stack)
    {
        bytes += integer(stack, "allocated_bytes");
        json_array_foreach(json_object_get(stack, "frames"), place, number)
        {
            const json_t *frame = json_array_get(frames, (size_t)json_integer_value(number));
            ck_assert_ptr_nonnull(json_string_value(json_object_get(frame, "function")));
            inlined = inlined || json_is_true(json_object_get(frame, "inlined"));
        }
    }
    ck_assert(inlined);
    ck_assert_int_eq(bytes, integer(report, "allocated_bytes"));
    json_decref(export);
    json_decref(report);
}
END_TEST

START_TEST(test_callgrind)
{
    expect_output("expected/all.callgrind", "export --format callgrind --sysroot root golden.dat");
    expect_output("expected/worker.callgrind",
                  "export --format callgrind --cost live --thread worker --sysroot root golden.dat");
}
END_TEST

START_TEST(test_flamegraph)
{
    shell("$HEAPSONDE export --format flamegraph --sysroot root golden.dat -o graph.svg && xmllint --noout graph.svg");
    shell("$HEAPSONDE export --sysroot root golden.dat -o named.svg && cmp graph.svg named.svg");
    shell("$HEAPSONDE export golden.dat -o named.svg --format csv && head -n 1 named.svg | grep -q ^time_ns,");
    // Without the script, which is a file of its own.
    expect_output("expected/graph.svg", "export --format flamegraph --sysroot root golden.dat | sed '/^<script>/,$d'");
    // Nothing from outside; nothing that a name could smuggle in.
    struct outcome outcome = run("grep -oE '(href|src)=|url\\(|https?://[^\"]*' graph.svg | sort -u");
    ck_assert_str_eq(outcome.output, "http://www.w3.org/1999/xhtml\nhttp://www.w3.org/2000/svg\n");
    free_outcome(&outcome);
}
END_TEST

// As a heap dump: what it says is in use is what was live at the end.
START_TEST(test_profiles)
{
    json_t *report = output_as_json("report --json golden.dat");
    static const char *const formats[] = {"pprof", "symbolized"};
    for (size_t i = 0; i < 2; i++) {
        shell("$HEAPSONDE export --format %s --sysroot root golden.dat -o made", formats[i]);
        json_t *made = output_as_json("report --json made");
        ck_assert_int_eq(integer(made, "live_bytes"), integer(report, "live_bytes"));
        ck_assert_int_eq(integer(made, "allocated_bytes"), integer(report, "allocated_bytes"));
        ck_assert_int_eq(integer(made, "allocations"), integer(report, "allocations"));
        ck_assert_str_eq(json_string_value(json_object_get(made, "arch")),
                         json_string_value(json_object_get(report, "arch")));
        json_decref(made);
    }
    shell("$HEAPSONDE export --format collapsed --cost live --sysroot root golden.dat | sed 's/ [0-9]*$//' | sort >one "
          "&& "
          "$HEAPSONDE export --format collapsed made | sed 's/ [0-9]*$//' | sort >other && diff one other >&2");
    struct outcome outcome = run("$HEAPSONDE export --format heap_v2 golden.dat");
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_ptr_nonnull(strstr(outcome.errors, "write pprof or symbolized, which contain names"));
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE diff --sysroot root golden.dat golden.dat");
    ck_assert_ptr_nonnull(strstr(outcome.output, "\ndifference    none\n"));
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE diff --cost allocated --sysroot root golden.dat made");
    ck_assert_ptr_nonnull(strstr(outcome.output, "\ndifference    none\n"));
    free_outcome(&outcome);
    json_decref(report);
}
END_TEST

START_TEST(test_page)
{
    struct outcome outcome = run("command -v chromium");
    ck_assert_msg(outcome.status == 0, "chromium is missing; scripts/setup installs it");
    free_outcome(&outcome);
    shell("$HEAPSONDE export --format flamegraph --cost allocated --sysroot root golden.dat -o graph.svg && "
          "{ sed '/^<\\/svg>/d' graph.svg; echo '<script><![CDATA['; cat '%s'; echo ']]></script></svg>'; } >page.svg",
          probe);
    outcome = run("timeout 170 chromium --headless --no-sandbox --disable-gpu --user-data-dir=\"$PWD/profile\" "
                  "--virtual-time-budget=5000 --dump-dom \"file://$PWD/page.svg\" 2>/dev/null | "
                  "grep -o 'data-test=\"[^\"]*\"'");
    ck_assert_str_eq(outcome.output, "data-test=\"good\"\n");
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_output_file)
{
    struct stat status;
    struct outcome outcome = run("umask 027; $HEAPSONDE export --format collapsed golden.dat -o out 2>/dev/null");
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_int_eq(stat(text("%s/out", work), &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0640);
    free_outcome(&outcome);
    // A failure leaves the old file as it was, and nothing beside it.
    outcome = run(
        "cp out before; $HEAPSONDE export --format collapsed --thread nobody golden.dat -o out; cmp out before && ls "
        "out*");
    ck_assert_str_eq(outcome.output, "out\n");
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE export --format flamegraph golden.dat -o /dev/full");
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_ptr_nonnull(strstr(outcome.errors, "/dev/full"));
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE export --format json golden.dat -o - 2>&1 >/dev/full | wc -l");
    ck_assert_str_eq(outcome.output, "1\n");
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE export --format json golden.dat >/dev/full");
    ck_assert_ptr_nonnull(strstr(outcome.errors, "standard output could not be written"));
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE export --format json golden.dat -o /dev/stdout | head -c 1");
    ck_assert_str_eq(outcome.output, "{");
    free_outcome(&outcome);
}
END_TEST

int main(void)
{
    if (!getcwd(probe, sizeof(probe) - 16))
        return 1;
    strcat(probe, "/probe.js");
    Suite *suite = suite_create("export");
    TCase *tests = tcase_create("export");
    tcase_add_checked_fixture(tests, make_golden, remove_work);
    tcase_add_test(tests, test_collapsed);
    tcase_add_test(tests, test_sums);
    tcase_add_test(tests, test_json);
    tcase_add_test(tests, test_callgrind);
    tcase_add_test(tests, test_flamegraph);
    tcase_add_test(tests, test_profiles);
    tcase_add_test(tests, test_page);
    tcase_add_test(tests, test_output_file);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
