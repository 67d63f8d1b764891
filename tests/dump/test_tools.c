// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Dumps of a program under jemalloc, read by the tools that people have: they and heapsonde must say the same. And
// names for jeprof where there is no program, of every kind of machine.
#include "command.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char source[4096];

static void need(const char *tool)
{
    struct outcome outcome = run("command -v %s", tool);
    ck_assert_msg(outcome.status == 0, "%s is missing; scripts/setup installs it", tool);
    free_outcome(&outcome);
}

// Debian's Go; the tool looks for a home.
static const char go[] = "HOME=$PWD PPROF_TMPDIR=$PWD GOTOOLCHAIN=local PATH=/usr/lib/go/bin:$PATH go tool pprof";

static void make_dumps(void)
{
    make_work();
    shell("gcc -g -O1 -fno-pie -no-pie -x c '%s/program.c' -pthread -o fixed && gcc -g -O1 '%s/program.c' -pthread -o "
          "program",
          source, source);
}

// $1: name of the dump, $2: options of jemalloc, $3: the program and its arguments
static void record(const char *name, const char *options, const char *command)
{
    shell("library=$(ldconfig -p | sed -n 's/.*libjemalloc.so.2.* => //p' | head -n 1) && test -n \"$library\" && "
          "LD_PRELOAD=$library MALLOC_CONF=prof:true,prof_final:true,prof_prefix:raw,%s ./%s && mv raw.*.f.heap '%s'",
          options, command, name);
}

// The first number behind `before` in the output.
static double number_in(const char *command, const char *before)
{
    struct outcome outcome = run("%s", command);
    const char *at = strstr(outcome.output, before);
    ck_assert_msg(outcome.status == 0 && at, "%s: status %d, no '%s' in:\n%s%s", command, outcome.status, before,
                  outcome.output, outcome.errors);
    double number = strtod(at + strlen(before), NULL);
    free_outcome(&outcome);
    return number;
}

static double ours(const char *file, const char *key)
{
    return number_in(text("$HEAPSONDE report --json %s", file), text("\"%s\": ", key));
}

// They round each stack down, or all of them once.
static void expect_close(double number, double expected, const char *who)
{
    ck_assert_msg(fabs(number - expected) <= 16, "%s says %.0f, heapsonde %.0f", who, number, expected);
}

static const struct {
    const char *key;
    const char *jeprof;
    const char *pprof;
} costs[] = {{"live_bytes", "--inuse_space --show_bytes", "inuse_space"},
             {"live_count", "--inuse_objects", "inuse_objects"},
             {"allocated_bytes", "--alloc_space --show_bytes", "alloc_space"},
             {"allocations", "--alloc_objects", "alloc_objects"}};

START_TEST(test_totals)
{
    need("jeprof");
    need("google-pprof");
    record("dump.heap", "prof_accum:true,lg_prof_sample:12", "program");
    shell("for format in heap_v2 heap_profile symbolized pprof; do "
          "$HEAPSONDE export --format $format dump.heap -o $format 2>errors || exit 1; done");
    for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++) {
        double expected = ours("dump.heap", costs[i].key);
        ck_assert_double_gt(expected, 1000);
        static const char *const files[] = {"dump.heap", "heap_v2", "heap_profile"};
        for (size_t k = 0; k < 3; k++)
            expect_close(number_in(text("jeprof --text %s program %s", costs[i].jeprof, files[k]), "Total: "), expected,
                         "jeprof");
        expect_close(number_in(text("jeprof --text %s symbolized", costs[i].jeprof), "Total: "), expected, "jeprof");
        expect_close(number_in(text("google-pprof --text %s program heap_profile", costs[i].jeprof), "Total: "),
                     expected, "google-pprof");
        static const char *const profiles[] = {"pprof", "heap_profile"};
        for (size_t k = 0; k < 2; k++)
            expect_close(
                number_in(text("%s -top -symbolize=none -unit=B -sample_index=%s %s", go, costs[i].pprof, profiles[k]),
                          "% of "),
                expected, "go tool pprof");
    }
}
END_TEST

// Go's text is scaled as its own tool does it.
START_TEST(test_go_text)
{
    shell("cp '%s/data/go.heap' .", source);
    for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++)
        expect_close(
            number_in(text("%s -top -symbolize=none -unit=B -sample_index=%s go.heap", go, costs[i].pprof), "% of "),
            ours("go.heap", costs[i].key), "go tool pprof");
}
END_TEST

// Names, too: the call sites of pprof's own format are those of the program.
START_TEST(test_pprof_names)
{
    record("dump.heap", "lg_prof_sample:0", "program 300");
    shell("$HEAPSONDE export --format pprof dump.heap -o profile 2>errors");
    struct outcome outcome = run("%s -top -lines profile 2>errors", go);
    ck_assert_msg(strstr(outcome.output, "take_large") && strstr(outcome.output, "program.c:13"), "%s", outcome.output);
    ck_assert_msg(strstr(outcome.output, "take_small") && strstr(outcome.output, "program.c:20"), "%s", outcome.output);
    ck_assert_ptr_null(strstr(outcome.output, "malloc"));
    free_outcome(&outcome);
}
END_TEST

static void expect_line(const char *output, const char *part)
{
    ck_assert_msg(strstr(output, part), "'%s' is not in:\n%s", part, output);
}

START_TEST(test_symbolize)
{
    static const char *const programs[] = {"program", "fixed"};
    for (size_t i = 0; i < 2; i++) {
        record("dump.heap", "lg_prof_sample:0", text("%s 1000", programs[i]));
        shell("jeprof --text %s dump.heap 2>/dev/null | head -n 3 >expected", programs[i]);
        // Nothing but the file is left.
        shell("$HEAPSONDE symbolize dump.heap -o named 2>errors && mkdir -p bare && mv named bare/ && mv %s away",
              programs[i]);
        struct outcome outcome = run("cd bare && jeprof --text named 2>errors");
        expect_line(outcome.output, " take_large\n");
        expect_line(outcome.output, " take_small\n");
        expect_line(outcome.output, " main\n");
        free_outcome(&outcome);
        outcome = run("cd bare && jeprof --text named 2>errors | head -n 3 | diff - ../expected");
        ck_assert_msg(outcome.status == 0, "%s", outcome.output);
        free_outcome(&outcome);
        outcome = run("cd bare && $HEAPSONDE report named");
        expect_line(outcome.output, " take_large (");
        free_outcome(&outcome);
        outcome = run("cd bare && jeprof --text --base=named named 2>errors");
        ck_assert_str_eq(outcome.output, "");
        free_outcome(&outcome);
    }
}
END_TEST

// The same program twice: its addresses differ, what it did does not.
START_TEST(test_runs)
{
    record("first.heap", "prof_accum:true,lg_prof_sample:0", "program 1000");
    record("second.heap", "prof_accum:true,lg_prof_sample:0", "program 1000");
    record("third.heap", "prof_accum:true,lg_prof_sample:0", "program 1100");
    shell("! cmp -s first.heap second.heap");
    struct outcome outcome = run("$HEAPSONDE diff first.heap second.heap 2>errors");
    expect_line(outcome.output, "\ndifference    none\n");
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE diff first.heap third.heap 2>errors");
    expect_line(outcome.output, "in +100 blocks in use\n\nCall sites that grew");
    expect_line(outcome.output, "        take_large (");
    ck_assert_ptr_null(strstr(outcome.output, "take_small"));
    ck_assert_ptr_null(strstr(outcome.output, "shrank"));
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE export --format pprof third.heap -o third.pb.gz 2>errors && "
                  "$HEAPSONDE diff --cost allocated first.heap third.pb.gz 2>errors");
    expect_line(outcome.output, "in +100 blocks allocated\n");
    free_outcome(&outcome);
}
END_TEST

// ---- other machines ------------------------------------------------------------------------------------------------

// A dump as the shim would write it on that machine: write_foreign makes it of the linker's addresses.
static void expect_foreign(const char *machine, const char *options, const char *base)
{
    shell("rm -rf sysroot bare; mkdir -p sysroot/opt bare");
    shell("%s-gcc -g -O1 %s '%s/foreign.c' -o sysroot/opt/foreign", machine, options, source);
    shell("'%s/write_foreign' sysroot/opt/foreign %s >foreign.heap", source, base);
    shell("$HEAPSONDE symbolize --sysroot sysroot foreign.heap -o bare/named 2>errors && test ! -s errors");
    struct outcome outcome = run("cd bare && jeprof --text named 2>errors");
    ck_assert_msg(strstr(outcome.output, " read_all\n") && strstr(outcome.output, " main\n") &&
                      strstr(outcome.output, " read_sensor\n"),
                  "%s %s:\n%s", machine, options, outcome.output);
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE report --sysroot sysroot foreign.heap");
    expect_line(outcome.output, "foreign.c:");
    free_outcome(&outcome);
}

START_TEST(test_other_machines)
{
    static const char *const machines[] = {"aarch64-linux-gnu", "arm-linux-gnueabihf", "arm-linux-gnueabi",
                                           "mips64el-linux-gnuabi64", "mips64-linux-gnuabi64"};
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        expect_foreign(machines[i], "-no-pie", "0");
        expect_foreign(machines[i], "-pie -fpie", "0x50000000");
    }
}
END_TEST

int main(void)
{
    if (!getcwd(source, sizeof(source)))
        return 1;
    setenv("DEBUGINFOD_URLS", "", 1);
    TCase *tests = tcase_create("dump_tools");
    tcase_add_checked_fixture(tests, make_dumps, remove_work);
    tcase_add_test(tests, test_totals);
    tcase_add_test(tests, test_go_text);
    tcase_add_test(tests, test_pprof_names);
    tcase_add_test(tests, test_symbolize);
    tcase_add_test(tests, test_runs);
    tcase_add_test(tests, test_other_machines);
    return run_cases("dump_tools", tests);
}
