// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What is mistyped in the environment or an option is said: by `run` before the program starts, by the library when it
// is preloaded without it. The table of variables, the document and what the library reads are the same.
#include "command.h"

#include "host/cli/command.h"
#include "host/cli/variables.h"
#include "tests/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[4096]; // of this source

static void prepare(void)
{
    make_work();
    setenv("HEAPSONDE_LIBRARY", PATH_SHIM, 1);
}

// ---- one table -----------------------------------------------------------------------------------------------------

START_TEST(test_the_document_is_the_table)
{
    struct outcome outcome = run("$HEAPSONDE help variables");
    ck_assert_int_eq(outcome.status, 0);
    compare_with_file(text("%s/../../docs/variables.md", folder), outcome.output, outcome.output_length);
    free_outcome(&outcome);
}
END_TEST

static enum hs_variable_kind kind_of(const char *kind)
{
    static const struct {
        const char *name;
        enum hs_variable_kind kind;
    } kinds[] = {{"BOOLEAN", HS_VARIABLE_SWITCH},   {"NUMBER", HS_VARIABLE_NUMBER},    {"UID", HS_VARIABLE_NUMBER},
                 {"TEXT", HS_VARIABLE_TEXT},        {"EVENTS", HS_VARIABLE_LIST},      {"LEVEL", HS_VARIABLE_CHOICE},
                 {"WRITER", HS_VARIABLE_CHOICE},    {"MODE", HS_VARIABLE_CHOICE},      {"POLICY", HS_VARIABLE_CHOICE},
                 {"CPU_CLOCK", HS_VARIABLE_CHOICE}, {"UNWINDER", HS_VARIABLE_COUNTED}, {"STACKS", HS_VARIABLE_CHOICE}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].name, kind))
            return kinds[i].kind;
    ck_abort_msg("OPTION_%s is not known here", kind);
}

// The command looks closer at some values than the library's table of options tells.
static enum hs_variable_kind as_read(enum hs_variable_kind kind)
{
    switch (kind) {
    case HS_VARIABLE_ADDRESS:
    case HS_VARIABLE_LABELS:
        return HS_VARIABLE_TEXT;
    case HS_VARIABLE_PORT:
        return HS_VARIABLE_NUMBER;
    default:
        return kind;
    }
}

START_TEST(test_the_table_is_what_the_library_reads)
{
    size_t length, count = 0, in_table = 0;
    char *source = read_file(text("%s/../../runtime/config.c", folder), &length);
    char name[64], kind[64];
    for (char *at = source; (at = strstr(at, "\n    OPTION(")); at++) {
        ck_assert_int_eq(sscanf(at, " OPTION(%63[A-Z0-9_], %63[A-Z_]", name, kind), 2);
        const struct hs_variable *variable = hs_variable__find(name, strlen(name));
        ck_assert_msg(variable != NULL, "%s", name);
        ck_assert_msg(as_read(variable->kind) == kind_of(kind), "%s", name);
        ck_assert_int_eq(variable->reader, HS_READER_RECORDER);
        count++;
    }
    for (const struct hs_variable *variable = hs_variables; variable->name; variable++)
        in_table += variable->reader == HS_READER_RECORDER && variable->kind != HS_VARIABLE_NO_EFFECT;
    ck_assert_uint_eq(count, in_table);
    ck_assert_uint_gt(count, 40);
    free(source);
}
END_TEST

START_TEST(test_every_option_has_a_variable)
{
    for (const struct hs_option *option = hs_command__find("run")->options; option->name; option++)
        if (option->variable)
            ck_assert_msg(hs_variable__find(option->variable, strlen(option->variable)), "%s", option->variable);
}
END_TEST

// ---- refused by run ------------------------------------------------------------------------------------------------

static const struct {
    const char *before, *said;
} refused[] = {
    {"HEAPSONDE_MODE=agregate $HEAPSONDE run", "HEAPSONDE_MODE does not know 'agregate'; did you mean 'aggregate'?"},
    {"MEMORY_PROFILER_MODE=x $HEAPSONDE run",
     "MEMORY_PROFILER_MODE does not know 'x'; possible values: events aggregate"},
    {"HEAPSONDE_WRITER=inlined $HEAPSONDE run", "HEAPSONDE_WRITER does not know 'inlined'; did you mean 'inline'?"},
    {"HEAPSONDE_STREAM_POLICY=blok $HEAPSONDE run", "did you mean 'block'?"},
    {"HEAPSONDE_EVENTS=heap,cpus $HEAPSONDE run", "HEAPSONDE_EVENTS does not know 'cpus'; did you mean 'cpu'?"},
    {"HEAPSONDE_GRAB_BACKTRACES_ON_FREE=yes $HEAPSONDE run",
     "HEAPSONDE_GRAB_BACKTRACES_ON_FREE takes 1 or 0, not 'yes'"},
    {"HEAPSONDE_MAX_DEPTH=1k $HEAPSONDE run", "HEAPSONDE_MAX_DEPTH takes a whole number such as 10, not '1k'"},
    {"HEAPSONDE_CPU_FREQUENCY=20000 $HEAPSONDE run", "HEAPSONDE_CPU_FREQUENCY takes a number from 1 to 10000"},
    {"$HEAPSONDE run --aggregate 10 --aggregate-stacks 0",
     "--aggregate-stacks takes a number from 16 to 65536, not '0'"},
    {"$HEAPSONDE run --max-depth 8", "--max-depth takes a number from 16 to 65536, not '8'"},
    {"HEAPSONDE_UNWINDER=kernel:0 $HEAPSONDE run", "HEAPSONDE_UNWINDER does not know 'kernel:0'"},
    {"HEAPSONDE_OUTPTU=x $HEAPSONDE run", "variable HEAPSONDE_OUTPTU; did you mean HEAPSONDE_OUTPUT?"},
    {"MEMORY_PROFILER_ZERO_MEMROY=1 $HEAPSONDE run",
     "variable MEMORY_PROFILER_ZERO_MEMROY; did you mean MEMORY_PROFILER_ZERO_MEMORY?"},
    {"HEAPSONDE_UNHEARD_OF=1 $HEAPSONDE run", "'heapsonde help variables' lists them"},
    {"HEAPSONDE_BASE_SERVER_PORT=65536 $HEAPSONDE run",
     "HEAPSONDE_BASE_SERVER_PORT takes a port from 1 to 65535, not '65536'"},
    {"$HEAPSONDE run --listen --port 0", "--port takes a port from 1 to 65535, not '0'"},
    {"$HEAPSONDE run --listen --labels site=lab,rack", "--labels takes labels such as site=lab,rack=7, not"},
    {"$HEAPSONDE run --events rss", "--events does not know 'rss'; possible values: heap cpu faults off-cpu"},
    {"$HEAPSONDE run --events ''cpu,", "--events does not know ''"},
    {"$HEAPSONDE run --stacks foo", "--stacks does not know 'foo'; possible values: here deferred"},
    {"$HEAPSONDE run --stacks defered", "did you mean 'deferred'?"},
    {"$HEAPSONDE run --connect foo", "--connect takes ADDRESS:PORT in numbers, such as 192.0.2.7:8100"},
    {"$HEAPSONDE run --connect localhost:80", "in numbers"},
    {"$HEAPSONDE run --connect 127.0.0.1:0", "in numbers"},
    {"$HEAPSONDE run --connect 127.0.0.1:65536", "in numbers"},
    {"$HEAPSONDE run --connect ::1:80", "in numbers"},
    {"HEAPSONDE_CACHE_SIZE=x $HEAPSONDE run", "HEAPSONDE_CACHE_SIZE takes a size such as 4096, 64K or 2G, not 'x'"},
};

START_TEST(test_what_is_mistyped_is_refused)
{
    struct outcome outcome = run("%s -q -o t.dat -- touch ran", refused[_i].before);
    ck_assert_msg(outcome.status == 2, "%s: %d %s", refused[_i].before, outcome.status, outcome.errors);
    ck_assert_msg(strstr(outcome.errors, refused[_i].said) != NULL, "%s: %s", refused[_i].before, outcome.errors);
    const char *end = strchr(outcome.errors, '\n');
    ck_assert_msg(end && !end[1], "not one line: %s", outcome.errors);
    free_outcome(&outcome);
    shell("! test -e ran");
}
END_TEST

static const char *const taken[] = {
    "HEAPSONDE_MODE=events $HEAPSONDE run",
    "HEAPSONDE_MODE= HEAPSONDE_TEST_SEED=9 $HEAPSONDE run",
    "MEMORY_PROFILER_PRECISE_TIMESTAMPS=1 $HEAPSONDE run",
    "HEAPSONDE_GATHER_MAPS=true HEAPSONDE_TOKEN=x HEAPSONDE_ANNOUNCE_PORT=1 $HEAPSONDE run",
    "HEAPSONDE_WRITER=thread HEAPSONDE_CPU_CLOCK=time HEAPSONDE_UNWINDER=own $HEAPSONDE run",
    "HEAPSONDE_LOG=error $HEAPSONDE run --stacks here --events heap",
    "HEAPSONDE_CACHE_SIZE=1.5G HEAPSONDE_BOARD_PATIENCE=20 $HEAPSONDE run",
};

START_TEST(test_what_is_right_is_taken)
{
    struct outcome outcome = run("%s -q -o t.dat -- touch ran", taken[_i]);
    ck_assert_msg(outcome.status == 0, "%s: %s", taken[_i], outcome.errors);
    ck_assert_str_eq(outcome.errors, "");
    free_outcome(&outcome);
    shell("test -e ran && test -e t.dat");
}
END_TEST

START_TEST(test_keys_that_cannot_be_used_are_refused)
{
    static const char *const cases[][2] = {
        {"rm -f key", "cannot be read"},
        {"head -c 32 /dev/zero | tr '\\0' x >key && chmod 644 key",
         "other users have access to the key key; run 'chmod 600 key'"},
        {"rm -f key && printf short >key && chmod 600 key", "key"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome outcome =
            run("%s; $HEAPSONDE run -q -o t.dat --key-file key --listen -- touch ran", cases[i][0]);
        ck_assert_int_eq(outcome.status, 1);
        ck_assert_msg(strstr(outcome.errors, cases[i][1]) != NULL, "%s", outcome.errors);
        const char *end = strchr(outcome.errors, '\n');
        ck_assert_msg(end && !end[1], "not one line: %s", outcome.errors);
        free_outcome(&outcome);
    }
    shell("! test -e ran");
}
END_TEST

START_TEST(test_files_for_the_trace_that_are_missing_are_refused)
{
    static const char *const missing[] = {"none", "no*ne", "folder", "none/file", "f?le"};
    static const char *const there[] = {"file", "fi*", "$PWD/folder/*x", "./file", "/deep/file --sysroot root"};
    shell("mkdir -p folder/inner.x root/deep; touch file folder/name.x folder/.hidden root/deep/file");
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        struct outcome outcome = run("$HEAPSONDE run -q -o t.dat --include-file '%s' -- touch ran", missing[i]);
        ck_assert_int_eq(outcome.status, 1);
        ck_assert_str_eq(outcome.errors,
                         text("heapsonde run: --include-file %s: no file of that name can be read\n", missing[i]));
        free_outcome(&outcome);
    }
    shell("! MEMORY_PROFILER_INCLUDE_FILE=none \"$HEAPSONDE\" run -q -o t.dat -- touch ran");
    shell("! test -e ran");
    for (size_t i = 0; i < sizeof there / sizeof *there; i++) {
        struct outcome outcome = run("set -f; $HEAPSONDE run -q -o t.dat --include-file %s -- touch ran", there[i]);
        ck_assert_msg(outcome.status == 0, "%s: %s", there[i], outcome.errors);
        free_outcome(&outcome);
        shell("rm ran");
    }
}
END_TEST

// ---- of the command -------------------------------------------------------------------------------------------------

START_TEST(test_the_command_refuses_its_own_that_are_wrong)
{
    static const char *const wrong[][2] = {
        {"CACHE_SIZE=much", "HEAPSONDE_CACHE_SIZE takes a size such as 4096, 64K or 2G, not 'much'"},
        {"CACHE_SIZE=-1", "HEAPSONDE_CACHE_SIZE takes a size such as 4096, 64K or 2G, not '-1'"},
        {"BOARD_PATIENCE=15s", "HEAPSONDE_BOARD_PATIENCE takes a whole number such as 10, not '15s'"},
        {"BOARD_PATIENCE=0", "HEAPSONDE_BOARD_PATIENCE takes a number from 1 to 86400, not '0'"},
        {"ANNOUNCE_PORT=70000", "HEAPSONDE_ANNOUNCE_PORT takes a port from 1 to 65535, not '70000'"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct outcome outcome = run("HEAPSONDE_%s $HEAPSONDE shims", wrong[i][0]);
        ck_assert_int_eq(outcome.status, 2);
        ck_assert_str_eq(outcome.output, "");
        ck_assert_str_eq(outcome.errors, text("heapsonde shims: %s\n", wrong[i][1]));
        free_outcome(&outcome);
        outcome = run("HEAPSONDE_%s $HEAPSONDE doctor", wrong[i][0]);
        ck_assert_msg(strstr(outcome.output, wrong[i][1]) != NULL, "%s", outcome.output);
        free_outcome(&outcome);
        outcome = run("HEAPSONDE_%s $HEAPSONDE help variables", wrong[i][0]);
        ck_assert_int_eq(outcome.status, 0);
        free_outcome(&outcome);
    }
}
END_TEST

// The names are right here. Those of the recorder are no matter of these commands.
START_TEST(test_the_command_takes_its_own_that_are_right)
{
    static const char *const right[] = {
        "CACHE_SIZE=1G", "CACHE_SIZE=0", "CACHE_SIZE=", "MODE=agregate", "BOARD_PATIENCE=86400", "ANNOUNCE_PORT=65535"};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        struct outcome outcome = run("HEAPSONDE_%s $HEAPSONDE shims", right[i]);
        ck_assert_msg(outcome.status == 0, "%s: %s", right[i], outcome.errors);
        free_outcome(&outcome);
    }
}
END_TEST

// Where a file stands in the way, the store is made in the cache. With little room there, the next one removes the
// first.
START_TEST(test_the_size_of_the_cache_has_a_suffix)
{
    shell("mkdir cache readonly && for i in 1 2; do \"$HEAPSONDE\" run -q -o readonly/$i.dat -- true && "
          ": >readonly/$i.dat.store; done");
    shell("for i in 1 2; do XDG_CACHE_HOME=$PWD/cache HEAPSONDE_CACHE_SIZE=1K \"$HEAPSONDE\" report readonly/$i.dat; "
          "done");
    shell("test $(ls cache/heapsonde | wc -l) = 1");
    shell("for i in 1 2; do XDG_CACHE_HOME=$PWD/cache HEAPSONDE_CACHE_SIZE=1G \"$HEAPSONDE\" report readonly/$i.dat; "
          "done");
    shell("test $(ls cache/heapsonde | wc -l) = 2");
}
END_TEST

// ---- said by the library -------------------------------------------------------------------------------------------

static const struct {
    const char *variables, *said; // NULL: nothing
} alone[] = {
    {"HEAPSONDE_OUTPUT=t.dat", NULL},
    {"HEAPSONDE_OUTPUT=t.dat HEAPSONDE_MODE=agregate", "not understood and ignored: HEAPSONDE_MODE=agregate\n"},
    {"HEAPSONDE_OUTPUT=t.dat HEAPSONDE_EVENTS=heap,rss", "ignored: HEAPSONDE_EVENTS=heap,rss\n"},
    {"HEAPSONDE_OUTPUT=t.dat HEAPSONDE_MEMORY=18446744073709617152",
     "ignored: HEAPSONDE_MEMORY=18446744073709617152\n"},
    {"HEAPSONDE_OUTPTU=t.dat", "ignored: HEAPSONDE_OUTPTU=t.dat\n"},
    {"HEAPSONDE_OUTPUT=t.dat HEAPSONDE_LOG=wran", "ignored: HEAPSONDE_LOG=wran\n"},
    {"HEAPSONDE_OUTPUT=missing/t.dat", "nothing is recorded: cannot create "},
    {"HEAPSONDE_OUTPUT=missing/t.dat", "/missing/t.dat (no such file or folder)\n"},
    {"HEAPSONDE_OUTPUT=/proc/t.dat", "nothing is recorded: cannot create /proc/t.dat ("},
    {"HEAPSONDE_OUTPUT=.", " (it is a folder)\n"},
    {"HEAPSONDE_OUTPUT=t.dat HEAPSONDE_INCLUDE_FILE=none", "not embedded: none (no such file or folder)\n"},
    {"HEAPSONDE_OUTPUT=t.dat HEAPSONDE_INCLUDE_FILE='none/*'", "not embedded: none/* (no such file or folder)\n"},
    {"HEAPSONDE_OUTPUT=t.dat HEAPSONDE_INCLUDE_FILE=.", "not embedded: . (it is not a regular file)\n"},
    {"HEAPSONDE_OUTPUT=", "nothing is recorded: HEAPSONDE_OUTPUT is empty"},
    {"HEAPSONDE_OUTPUT=t.dat HEAPSONDE_CONNECT=foo", "nothing is streamed: HEAPSONDE_CONNECT takes ADDRESS:PORT"},
    {"HEAPSONDE_OUTPUT=t.dat HEAPSONDE_ENABLE_SERVER=1 HEAPSONDE_KEY_FILE=none",
     "nothing is streamed: the key cannot be used: none (no such file or folder)\n"},
    {"HEAPSONDE_OUTPUT=t.dat HEAPSONDE_CONNECT=192.0.2.1:9",
     "nothing is streamed: beyond loopback HEAPSONDE_KEY_FILE is needed"},
    {"HEAPSONDE_OUTPUT=missing/t.dat HEAPSONDE_LOG=off", NULL},
    {"HEAPSONDE_MODE=agregate HEAPSONDE_OUTPUT=t.dat HEAPSONDE_LOG=off", NULL},
};

START_TEST(test_the_library_says_what_it_does_not_do)
{
    struct outcome outcome = run("env LD_PRELOAD='%s' %s sh -c ':'", PATH_SHIM, alone[_i].variables);
    ck_assert_msg(outcome.status == 0, "%s: %d %s", alone[_i].variables, outcome.status, outcome.errors);
    ck_assert_str_eq(outcome.output, "");
    if (!alone[_i].said) {
        ck_assert_str_eq(outcome.errors, "");
    } else {
        ck_assert_msg(strstr(outcome.errors, alone[_i].said) != NULL, "%s: %s", alone[_i].variables, outcome.errors);
        const char *end = strchr(outcome.errors, '\n');
        ck_assert_msg(end && !end[1], "not one line: %s", outcome.errors);
    }
    free_outcome(&outcome);
}
END_TEST

// The trace names them, even where no message is wanted; of a long list the beginning. Values do not get into it.
START_TEST(test_the_trace_says_what_was_ignored)
{
    static const char *const recorded[][3] = {
        {"HEAPSONDE_OUTPTU=x HEAPSONDE_MODE=agregate", "\"ignored_variables\": \"HEAPSONDE_OUTPTU HEAPSONDE_MODE\"",
         "\nignored       HEAPSONDE_OUTPTU HEAPSONDE_MODE: unknown, or with values that"},
        {"HEAPSONDE_MAX_DEPTH=32 HEAPSONDE_TOKEN=x", "\"ignored_variables\": null", NULL},
        {"HEAPSONDE_$(printf %0999d 1)=x HEAPSONDE_B=x", "\"ignored_variables\": \"HEAPSONDE_00", NULL},
    };
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
        const char *variables = recorded[i][0];
        struct outcome outcome = run(
            "env -i LD_PRELOAD='%s' HEAPSONDE_LOG=off HEAPSONDE_OUTPUT=t.dat %s true && $HEAPSONDE report --json t.dat",
            PATH_SHIM, variables);
        ck_assert_msg(strstr(outcome.output, recorded[i][1]), "%s: %s %s", variables, outcome.output, outcome.errors);
        free_outcome(&outcome);
        outcome = run("$HEAPSONDE report t.dat");
        const char *row = strstr(outcome.output, "\nignored ");
        const char *said = recorded[i][2];
        ck_assert_msg(said ? row && !strncmp(row, said, strlen(said)) : i == 2 || !row, "%s: %s", variables,
                      outcome.output);
        ck_assert_ptr_null(strstr(outcome.output, "agregate"));
        free_outcome(&outcome);
    }
}
END_TEST

START_TEST(test_the_library_knows_every_variable)
{
    for (const struct hs_variable *variable = hs_variables; variable->name; variable++)
        if (strcmp(variable->name, "OUTPUT"))
            setenv(text("HEAPSONDE_%s", variable->name), "", 1);
    struct outcome outcome = run("env LD_PRELOAD='%s' HEAPSONDE_OUTPUT=t.dat sh -c ':'", PATH_SHIM);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_str_eq(outcome.errors, "");
    free_outcome(&outcome);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_variables");
    TCase *tests = tcase_create("cli_variables");
    if (!getcwd(folder, sizeof(folder)))
        return 1;
    tcase_add_checked_fixture(tests, prepare, remove_work);
    tcase_add_test(tests, test_the_document_is_the_table);
    tcase_add_test(tests, test_the_table_is_what_the_library_reads);
    tcase_add_test(tests, test_every_option_has_a_variable);
    tcase_add_loop_test(tests, test_what_is_mistyped_is_refused, 0, sizeof refused / sizeof *refused);
    tcase_add_loop_test(tests, test_what_is_right_is_taken, 0, sizeof taken / sizeof *taken);
    tcase_add_test(tests, test_keys_that_cannot_be_used_are_refused);
    tcase_add_test(tests, test_the_command_refuses_its_own_that_are_wrong);
    tcase_add_test(tests, test_the_command_takes_its_own_that_are_right);
    tcase_add_test(tests, test_the_size_of_the_cache_has_a_suffix);
    tcase_add_test(tests, test_files_for_the_trace_that_are_missing_are_refused);
    tcase_add_loop_test(tests, test_the_library_says_what_it_does_not_do, 0, sizeof alone / sizeof *alone);
    tcase_add_test(tests, test_the_trace_says_what_was_ignored);
    tcase_add_test(tests, test_the_library_knows_every_variable);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
