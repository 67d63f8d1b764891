// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Names of code that a program makes while it runs: `heapsonde run` puts what the program writes for perf into the
// trace, and every reader of the trace shows them. With the recorder itself.
#include "command.h"

#include "tests/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void prepare(void)
{
    make_work();
    setenv("HEAPSONDE_LIBRARY", PATH_SHIM, 1);
    shell("gcc -O0 -D_GNU_SOURCE -o program '%s'", PATH_PROGRAM);
}

// Nothing but the frame pointer says who called code that was made at run time.
#define GUESS "[guessed caller];"

static void expect(const char *where, const char *word)
{
    ck_assert_msg(strstr(where, word) != NULL, "no '%s' in: %s", word, where);
}

static void expect_none(const char *where, const char *word)
{
    ck_assert_msg(!strstr(where, word), "'%s' in: %s", word, where);
}

// What the program left in /tmp is removed: the trace has it.
static struct outcome record(const char *options, const char *mode)
{
    struct outcome outcome = run("$HEAPSONDE run %s -o t.dat -- ./program %s", options, mode);
    const int pid = atoi(outcome.output);
    ck_assert_msg(pid > 1, "%s", outcome.errors);
    shell("rm -f /tmp/perf-%d.map /tmp/perf-%d.map.target /tmp/jit-%d.dump", pid, pid, pid);
    return outcome;
}

static struct outcome stacks(const char *trace)
{
    return run("$HEAPSONDE export --format collapsed --cost allocated %s", trace);
}

START_TEST(test_map)
{
    struct outcome outcome = record("", "map");
    expect_none(outcome.errors, "run-time code");
    free_outcome(&outcome);
    shell("mkdir elsewhere && mv t.dat elsewhere");
    outcome = stacks("elsewhere/t.dat");
    expect(outcome.output, ";begin;call;" GUESS "work on it;allocate_first");
    expect(outcome.output, ";call;" GUESS "more;allocate_second");
    expect_none(outcome.output, "before");
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE report --full-stacks elsewhere/t.dat");
    expect(outcome.output, "work on it (/src/my app.js:12)");
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE extract -o files elsewhere/t.dat");
    expect(outcome.output, ": /tmp/perf-");
    free_outcome(&outcome);
    // A trace that was made smaller has them, too.
    shell("$HEAPSONDE strip -o small.dat elsewhere/t.dat");
    outcome = stacks("small.dat");
    expect(outcome.output, "work on it");
    free_outcome(&outcome);
}
END_TEST

// A line that has no end may be half of one: its name is not used, and that is said.
START_TEST(test_half_a_map)
{
    struct outcome outcome = record("", "half kill");
    free_outcome(&outcome);
    outcome = stacks("t.dat");
    expect(outcome.output, GUESS "work on it;allocate_first");
    expect_none(outcome.output, "more;");
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE report t.dat");
    expect(outcome.output, "names of run-time code: 1 line or record could not be read");
    free_outcome(&outcome);
}
END_TEST

// What is at an address depends on the time.
START_TEST(test_dump)
{
    struct outcome outcome = record("", "dump");
    free_outcome(&outcome);
    outcome = stacks("t.dat");
    expect(outcome.output, ";begin;call;" GUESS "first;allocate_first");
    expect(outcome.output, ";go_on;call;" GUESS "second;allocate_second");
    expect(outcome.output, ";call;" GUESS "first;allocate_first");
    expect_none(outcome.output, ";go_on;call;" GUESS "first");
    expect_none(outcome.output, ";begin;call;" GUESS "second");
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE report --full-stacks t.dat");
    expect(outcome.output, "first (/src/first.js:7)");
    expect(outcome.output, "second (/src/second.js:8)");
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_what_is_not_of_the_process)
{
    static const char *const modes[] = {"link", "old"};
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        struct outcome outcome = record("--jit", modes[i]);
        expect(outcome.errors, "1 file with names of run-time code was not used");
        free_outcome(&outcome);
        outcome = stacks("t.dat");
        expect_none(outcome.output, "work on it");
        expect(outcome.output, ";begin;call;" GUESS "0x");
        free_outcome(&outcome);
    }
}
END_TEST

// Nor does such a file hide one that is of the process.
START_TEST(test_dump_in_the_current_folder)
{
    struct outcome outcome = record("", "here");
    free_outcome(&outcome);
    outcome = stacks("t.dat");
    expect(outcome.output, ";begin;call;" GUESS "first;allocate_first");
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_limit_of_file_sizes)
{
    struct outcome outcome = run("ulimit -f 8192; $HEAPSONDE run -q -o t.dat -- ./program full");
    shell("rm -f /tmp/perf-%d.map", atoi(outcome.output));
    ck_assert_int_eq(outcome.status, 0);
    expect(outcome.errors, "could not be put into the trace: File too large");
    free_outcome(&outcome);
    outcome = stacks("t.dat");
    ck_assert_str_eq(outcome.errors, "");
    expect(outcome.output, ";begin;call;" GUESS "0x");
    free_outcome(&outcome);
}
END_TEST

// Both runs find the trace.
START_TEST(test_run_within_a_run)
{
    struct outcome outcome =
        run("$HEAPSONDE run -q -o t-%%p.dat -- sh -c '$HEAPSONDE run -q -o t-%%p.dat -- ./program map; :'");
    const int pid = atoi(outcome.output);
    shell("rm -f /tmp/perf-%d.map", pid);
    free_outcome(&outcome);
    outcome = run("grep -a -c '^[0-9a-f]* [0-9a-f]* JS:[*]work on it' t-%d.dat", pid);
    ck_assert_str_eq(outcome.output, "1\n");
    free_outcome(&outcome);
}
END_TEST

// A trace that is newer than the run is that of an earlier run if its process is older.
START_TEST(test_trace_of_an_earlier_run)
{
    struct outcome outcome = run("$HEAPSONDE run -q -o t-%%p.dat -- ./program old");
    const int pid = atoi(outcome.output);
    free_outcome(&outcome);
    shell("touch /tmp/perf-%d.map; touch -d '1 hour' t-%d.dat; ln -s t-%d.dat t-link.dat", pid, pid, pid);
    outcome = run("$HEAPSONDE run -q -o t-%%p.dat -- true");
    shell("rm -f /tmp/perf-%d.map", pid);
    ck_assert_str_eq(outcome.errors, "");
    free_outcome(&outcome);
    outcome = stacks(text("t-%d.dat", pid));
    expect(outcome.output, ";begin;call;" GUESS "0x");
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_child)
{
    struct outcome outcome = record("", "fork");
    free_outcome(&outcome);
    outcome = stacks("$(ls -d t.dat.* | grep -v store)");
    expect(outcome.output, ";go_on;call;" GUESS "work on it;allocate_second");
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_given_map)
{
    struct outcome outcome = run("$HEAPSONDE run -o t.dat -- ./program map");
    const int pid = atoi(outcome.output);
    free_outcome(&outcome);
    shell("sed 's/work on it/given/' /tmp/perf-%d.map > given.map; rm /tmp/perf-%d.map", pid, pid);
    outcome = run("$HEAPSONDE export --format collapsed --cost allocated --perf-map given.map t.dat");
    expect(outcome.output, ";begin;call;" GUESS "given;allocate_first");
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE report --perf-map missing t.dat");
    ck_assert_int_eq(outcome.status, 2);
    expect(outcome.errors, "a file that exists");
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_variables)
{
    setenv("NODE_OPTIONS", "--no-warnings", 1);
    setenv("JAVA_TOOL_OPTIONS", "-Xmx1g", 1);
    setenv("MONO_DEBUG", "casts", 1);
    struct outcome outcome = run("$HEAPSONDE run --jit -q -o t.dat -- env");
    ck_assert_int_eq(outcome.status, 0);
    expect(outcome.output, "NODE_OPTIONS=--no-warnings --perf-basic-prof --interpreted-frames-native-stack\n");
    expect(outcome.output, "JAVA_TOOL_OPTIONS=-Xmx1g -XX:+IgnoreUnrecognizedVMOptions");
    expect(outcome.output, "PYTHONPERFSUPPORT=1\n");
    expect(outcome.output, "DOTNET_PerfMapEnabled=1\n");
    expect(outcome.output, "COMPlus_PerfMapEnabled=1\n");
    expect(outcome.output, "MONO_ENV_OPTIONS=--jitmap\n");
    expect(outcome.output, "MONO_DEBUG=casts,disable_omit_fp\n");
    expect(outcome.output, "ENABLE_JITPROFILING=1\n");
    expect(outcome.output, "LUA_INIT=if jit then pcall(function() ");
    expect(outcome.errors, "no program wrote names");
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE run -q -o t.dat -- env");
    expect(outcome.output, "NODE_OPTIONS=--no-warnings\n");
    expect_none(outcome.output, "PYTHONPERFSUPPORT");
    ck_assert_str_eq(outcome.errors, "");
    free_outcome(&outcome);
    // With the values that the other machine has.
    outcome = run("$HEAPSONDE run --jit -q --on 'exec:env NODE_OPTIONS=--no-deprecation PYTHONPERFSUPPORT=0 sh -c {}' "
                  "-o t.dat -- env");
    ck_assert_int_eq(outcome.status, 0);
    expect(outcome.output, "NODE_OPTIONS=--no-deprecation --perf-basic-prof --interpreted-frames-native-stack\n");
    expect(outcome.output, "PYTHONPERFSUPPORT=0\n");
    expect(outcome.output, "MONO_DEBUG=casts,disable_omit_fp\n");
    expect(outcome.output, "DOTNET_PerfMapEnabled=1\n");
    // As it is without another shell between.
    expect(outcome.output, "LUA_INIT=if jit then pcall(function() local info, where = require'jit.util', '?' ");
    expect(outcome.output, "map:write(('%x %x TRACE_%d::%s\\n'):format(address, #code, trace, where)) ");
    expect(outcome.errors, "no program wrote names");
    free_outcome(&outcome);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("run");
    tcase_add_checked_fixture(cases, prepare, remove_work);
    tcase_add_test(cases, test_map);
    tcase_add_test(cases, test_half_a_map);
    tcase_add_test(cases, test_dump);
    tcase_add_test(cases, test_what_is_not_of_the_process);
    tcase_add_test(cases, test_dump_in_the_current_folder);
    tcase_add_test(cases, test_limit_of_file_sizes);
    tcase_add_test(cases, test_run_within_a_run);
    tcase_add_test(cases, test_trace_of_an_earlier_run);
    tcase_add_test(cases, test_child);
    tcase_add_test(cases, test_given_map);
    tcase_add_test(cases, test_variables);
    return run_cases("cli_jit", cases);
}
