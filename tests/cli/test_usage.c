// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What is said to a wrong command line: one line, what is wrong, with what, and what to do; status 2, or 1 for what
// only turned out later.
#include "command.h"

#include "host/cli/values.h"
#include "tests/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void expect_complaint(int status, const char *arguments, const char *word, const char *advice)
{
    struct outcome outcome = run("$HEAPSONDE %s", arguments);
    ck_assert_msg(outcome.status == status, "heapsonde %s: status %d\n%s", arguments, outcome.status, outcome.errors);
    ck_assert_str_eq(outcome.output, "");
    ck_assert_msg(!strncmp(outcome.errors, "heapsonde", 9), "%s", outcome.errors);
    ck_assert_msg(strstr(outcome.errors, word), "heapsonde %s: '%s' is not in: %s", arguments, word, outcome.errors);
    ck_assert_msg(strstr(outcome.errors, advice), "heapsonde %s: '%s' is not in: %s", arguments, advice,
                  outcome.errors);
    const char *end = strchr(outcome.errors, '\n');
    ck_assert_msg(end && !end[1], "not one line: %s", outcome.errors);
    free_outcome(&outcome);
}

START_TEST(test_usage)
{
    expect_complaint(2, "frobnicate", "'frobnicate'", "--help");
    expect_complaint(2, "help frobnicate", "'frobnicate'", "heapsonde help");
    expect_complaint(2, "report", "trace file", "heapsonde report [OPTIONS] FILE");
    expect_complaint(2, "report one two", "'two'", "usage");
    expect_complaint(2, "diff one", "needs two files", "heapsonde diff [OPTIONS] BEFORE AFTER");
    expect_complaint(2, "report --nonsense x", "--nonsense is not an option of this command; ",
                     "heapsonde report --help");
    expect_complaint(2, "report --size x", "--size could be several options; ", "heapsonde report --help");
    expect_complaint(2, "report --size_m=1 x", "--size_m=1 could be several options; ", "heapsonde report --help");
    expect_complaint(2, "report -Z x", "-Z", "heapsonde report --help");
    expect_complaint(2, "report --sort", "--sort needs a value", "--help");
    expect_complaint(2, "report -n", "-n needs a value", "--help");
    expect_complaint(2, "report --json=yes x", "takes no value", "--help");
    expect_complaint(2, "report --sort size x", "'size'", "live peak allocated temporary");
    expect_complaint(2, "report --top many x", "'many'", "whole number");
    expect_complaint(2, "report --min-size big x", "'big'", "64K");
    expect_complaint(2, "report --from soon x", "'soon'", "300ms");
    expect_complaint(2, "report --min-percent 101 x", "'101'", "0 to 100");
    expect_complaint(2, "report --sysroot missing x", "--sysroot", "a folder that exists");
    expect_complaint(2, "report --sysroot /dev/null x", "'/dev/null'", "a folder that exists");
    expect_complaint(2, "report --debug-dir '' x", "--debug-dir", "a folder that exists");
    expect_complaint(2, "export --format json --sysroot missing x", "'missing'", "a folder that exists");
    expect_complaint(2, "report --perf-map missing x", "--perf-map", "a file that exists");
    expect_complaint(2, "report --perf-map / x", "'/'", "a file that exists");
    expect_complaint(2, "report --source-map /build x", "'/build'", "'='");
    expect_complaint(2, "report --source-map =/home x", "'=/home'", "such as /build/src=/home/me/src");
    expect_complaint(2, "export x", "--format", "give one of: collapsed ");
    expect_complaint(2, "export --format gif x", "'gif'", "give one of: collapsed ");
    expect_complaint(2, "fleet growth", "needs an action and a database", "heapsonde fleet [OPTIONS] ACTION");
    expect_complaint(2, "run", "program", "heapsonde run [OPTIONS] [--] PROGRAM");
    expect_complaint(2, "run --follow-children -o one.dat -- true", "one.dat", "%p");
    expect_complaint(2, "run --follow-children=all -- true", "'all'", "give one of: trace");
    expect_complaint(2, "run --cull 1s -- true", "'1s'", "whole number");
}
END_TEST

// An option that would do nothing is refused.
START_TEST(test_options_that_need_another)
{
    expect_complaint(2, "gather --topic a", "--topic is for --mqtt", "which was not given");
    expect_complaint(2, "gather --mqtt-client a", "--mqtt-client is for --mqtt", "which was not given");
    expect_complaint(2, "gather --patience 1s", "--patience is for --once", "which was not given");
    expect_complaint(2, "gather --store-only", "--store-only is for --store", "which was not given");
    expect_complaint(2, "gather --firmware_label a", "--firmware-label is for --store or --metrics", "not given");
    expect_complaint(2, "gather --token a", "--token is for --metrics", "which was not given");
    expect_complaint(2, "push --otlp http://localhost:1 --follow x", "--follow is for --mqtt", "which was not given");
    expect_complaint(2, "push --mqtt tcp://localhost:1 --now x", "--now is for --pyroscope or --otlp", "not given");
    expect_complaint(2, "push --mqtt tcp://localhost:1 --mqtt-password-file a x", "is for --mqtt-user", "not given");
    expect_complaint(2, "push --mqtt tcp://localhost:1 --from 1s x", "filters are for --pyroscope", "whole traces");
    expect_complaint(2, "server --fleet-timeout 5 x", "--fleet-timeout is for --fleet", "which was not given");
    expect_complaint(2, "attach --board-folder /tmp 1", "--board-folder is for --on", "which was not given");
    expect_complaint(2, "detach --board-folder /tmp 1", "--board-folder is for --on", "which was not given");
    expect_complaint(2, "run --fetch-binaries x -- true", "--fetch-binaries is for --on", "which was not given");
}
END_TEST

START_TEST(test_near_misses)
{
    expect_complaint(2, "rnu", "there is no command 'rnu'", "did you mean 'run'?");
    expect_complaint(2, "reprot x", "'reprot'", "did you mean 'report'?");
    expect_complaint(2, "help exprot", "'exprot'", "did you mean 'export'?");
    expect_complaint(2, "frobnicate", "'frobnicate'", "'frobnicate'; 'heapsonde --help' lists them");
    expect_complaint(2, "record -- true", "no command 'record'", "did you mean 'run'?");
    expect_complaint(2, "flamegraph x", "'flamegraph'", "did you mean 'export --format flamegraph'?");
    expect_complaint(2, "help version", "'version'", "did you mean '--version'?");
    write_file(text("%s/old.dat", work), "x", 1);
    expect_complaint(2, "old.dat", "'old.dat' is not a command", "'heapsonde report FILE'");
    expect_complaint(2, "attach --for 0 1", "--for cannot use '0'", "a time above 0");
    expect_complaint(2, "attach sensord", "'sensord' is not the number of a process", "pidof");
    expect_complaint(255, "run --on root@board -- true", "unknown kind of connection",
                     "did you mean ssh://root@board?");
    expect_complaint(255, "run --on ssh:board -- true", "unknown kind of connection", "give ssh://USER@HOST");
    expect_complaint(2, "xx", "'xx'", "'xx'; 'heapsonde --help' lists them");
    expect_complaint(2, "run --ouput x -- true", "--ouput is not an option of this command", "did you mean --output?");
    expect_complaint(2, "report --fnction-regex=x y", "--fnction-regex=x", "did you mean --function-regex?");
    expect_complaint(2, "report --size_mni 1 y", "--size_mni", "did you mean --size-min?");
    expect_complaint(2, "report --nonsense y", "--nonsense", "command; see 'heapsonde report --help'");
}
END_TEST

START_TEST(test_failures)
{
    write_file(text("%s/noise", work), "this is no trace\n", 17);
    write_file(text("%s/empty", work), "", 0);
    expect_complaint(1, "report missing.dat", "missing.dat", ":");
    expect_complaint(1, "report noise", "noise", ":");
    expect_complaint(1, "report empty", "empty", ":");
    expect_complaint(1, "report --json noise", "noise", ":");
    expect_complaint(1, "gather --listen 127.0.0.1:0 --key-file none", "the key none cannot be read", "makes one");
    expect_complaint(1, "report .", "is a directory", "heapsonde server");
    expect_complaint(1, "report $HEAPSONDE", "a program, not a trace", "heapsonde run");
    expect_complaint(1, "export --format collapsed noise -o out", "noise", ":");
    expect_complaint(2, "export --format collapsed noise -o noise", "noise", "-o");
    struct outcome outcome = run("ls out*");
    ck_assert_int_ne(outcome.status, 0);
    free_outcome(&outcome);
}
END_TEST

// A library that cannot be loaded is in the way of those commands only that need it.
START_TEST(test_loaded_library)
{
    shell("mkdir '%s/libraries' '%s/served' && : > '%s/libraries/libmicrohttpd.so.12'", work, work, work);
    struct outcome outcome = run("LD_LIBRARY_PATH=libraries $HEAPSONDE --version");
    ck_assert_msg(!outcome.status, "%s", outcome.errors);
    free_outcome(&outcome);
    outcome = run("LD_LIBRARY_PATH=libraries $HEAPSONDE server --port 0 served");
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_msg(strstr(outcome.errors, "Debian's package is libmicrohttpd12"), "%s", outcome.errors);
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_no_command)
{
    struct outcome outcome = run("$HEAPSONDE");
    ck_assert_int_eq(outcome.status, 2);
    ck_assert_ptr_nonnull(strstr(outcome.errors, "Usage: heapsonde COMMAND"));
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE --version");
    ck_assert_int_eq(outcome.status, 0);
    ck_assert(!strncmp(outcome.output, "heapsonde 0.", 12));
    free_outcome(&outcome);
    // Output that cannot be written is a failure.
    outcome = run("$HEAPSONDE help --man >/dev/full");
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_ptr_nonnull(strstr(outcome.errors, "standard output"));
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_values)
{
    uint64_t value = 0;
    double percent = 0;
    ck_assert(hs_value__number("18446744073709551615", &value) && value == UINT64_MAX);
    ck_assert(!hs_value__number("18446744073709551616", &value) && !hs_value__number("-1", &value));
    ck_assert(!hs_value__number("", &value) && !hs_value__number("1x", &value) && !hs_value__number(" 1", &value));
    ck_assert(hs_value__size("4096", &value) && value == 4096);
    ck_assert(hs_value__size("64k", &value) && value == 65536);
    ck_assert(hs_value__size("1.5MiB", &value) && value == 1572864);
    ck_assert(hs_value__size("100MB", &value) && value == 104857600);
    ck_assert(hs_value__size("100 M", &value) && value == 104857600);
    ck_assert(hs_value__size("2 kb", &value) && value == 2048 && !hs_value__size("2 kb ", &value));
    ck_assert(hs_value__size("9007199254740993", &value) && value == 9007199254740993);
    ck_assert(!hs_value__size("1Q", &value) && !hs_value__size("0x10", &value) && !hs_value__size("1e30G", &value));
    ck_assert(hs_value__duration("2", &value) && value == 2000000000);
    ck_assert(hs_value__duration("300ms", &value) && value == 300000000);
    ck_assert(hs_value__duration("1.5min", &value) && value == 90000000000);
    ck_assert(!hs_value__duration("soon", &value) && !hs_value__duration("1 s", &value));
    ck_assert(hs_value__percent("2.5%", &percent) && percent == 2.5);
    ck_assert(!hs_value__percent("101", &percent) && !hs_value__percent("-1", &percent));
    ck_assert(hs_value__directory("/") && !hs_value__directory("/dev/null") && !hs_value__directory("/missing"));
    ck_assert(hs_value__choice("b", "a b c") && !hs_value__choice("", "a b") && !hs_value__choice("a b", "a b"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_usage");
    TCase *tests = tcase_create("cli_usage");
    tcase_add_checked_fixture(tests, make_work, remove_work);
    tcase_add_test(tests, test_usage);
    tcase_add_test(tests, test_options_that_need_another);
    tcase_add_test(tests, test_failures);
    tcase_add_test(tests, test_near_misses);
    tcase_add_test(tests, test_loaded_library);
    tcase_add_test(tests, test_no_command);
    tcase_add_test(tests, test_values);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
