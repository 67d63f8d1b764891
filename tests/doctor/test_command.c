// SPDX-License-Identifier: MIT OR Apache-2.0
//
// heapsonde doctor on this machine: what it says of recording is what then happens.
#include "command.h"

#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *examine(const char *arguments, int status)
{
    struct outcome outcome = run("$HEAPSONDE doctor --json %s", arguments);
    ck_assert_msg(outcome.status == status, "status %d\n%s%s", outcome.status, outcome.output, outcome.errors);
    json_error_t error;
    json_t *answer = json_loads(outcome.output, 0, &error);
    ck_assert_msg(answer != NULL, "no JSON: %s\n%s", error.text, outcome.output);
    ck_assert_int_eq(json_is_true(json_object_get(answer, "recording")), status == 0);
    free_outcome(&outcome);
    return answer;
}

static const char *state_of(const json_t *answer, const char *name)
{
    size_t i;
    json_t *check;
    json_array_foreach(json_object_get(answer, "checks"), i, check)
    {
        if (!strcmp(json_string_value(json_object_get(check, "name")), name))
            return json_string_value(json_object_get(check, "state"));
    }
    ck_abort_msg("nothing is said of %s", name);
    return NULL;
}

START_TEST(test_this_machine)
{
    json_t *answer = examine("", 0);
    ck_assert_str_eq(state_of(answer, "library"), "works");
    ck_assert_str_eq(state_of(answer, "recording"), "works");
    ck_assert_str_eq(state_of(answer, "program"), "unasked");
    json_decref(answer);
    struct outcome outcome = run("ls -A | grep heapsonde");
    ck_assert_str_eq(outcome.output, ""); // the trial leaves nothing
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_text)
{
    struct outcome outcome = run("$HEAPSONDE doctor");
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_ptr_nonnull(strstr(outcome.output, "\nRecording works.\n"));
    ck_assert_str_eq(outcome.errors, "");
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_programs)
{
    json_t *answer = examine("-- " PATH_PROGRAMS "/plain", 0);
    ck_assert_str_eq(state_of(answer, "program"), "works");
    ck_assert_str_eq(state_of(answer, "symbols"), "works");
    json_decref(answer);
#ifdef __x86_64__ // the library is put into its memory
    answer = examine("-- " PATH_PROGRAMS "/plain_static", 0);
    ck_assert_str_eq(state_of(answer, "program"), "works");
#else
    answer = examine("-- " PATH_PROGRAMS "/plain_static", 1);
    ck_assert_str_eq(state_of(answer, "program"), "fails");
#endif
    ck_assert_str_eq(state_of(answer, "recording"), "works");
    json_decref(answer);
    answer = examine("-- /nonexistent/program", 1);
    ck_assert_str_eq(state_of(answer, "program"), "fails");
    json_decref(answer);
}
END_TEST

START_TEST(test_bad_surroundings)
{
    json_t *answer = examine("--folder /proc", 1);
    ck_assert_str_eq(state_of(answer, "recording"), "fails");
    ck_assert_str_eq(state_of(answer, "mapping"), "fails");
    json_decref(answer);
    setenv("HEAPSONDE_LIBRARY", "/nonexistent.so", 1);
    answer = examine("", 1);
    ck_assert_str_eq(state_of(answer, "library"), "fails");
    json_decref(answer);
    write_file(text("%s/noise.so", work), "no library\n", 11);
    setenv("HEAPSONDE_LIBRARY", text("%s/noise.so", work), 1);
    answer = examine("", 1);
    ck_assert_str_eq(state_of(answer, "recording"), "fails"); // it is there, but nothing loads it
    json_decref(answer);
    unsetenv("HEAPSONDE_LIBRARY");
}
END_TEST

START_TEST(test_variables)
{
    setenv("HEAPSONDE_OUTPTU", "t.dat", 1);
    struct outcome outcome = run("$HEAPSONDE doctor");
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_ptr_nonnull(
        strstr(outcome.output, "unknown variable HEAPSONDE_OUTPTU; did you mean HEAPSONDE_OUTPUT?\n"));
    free_outcome(&outcome);
    unsetenv("HEAPSONDE_OUTPTU");
    setenv("HEAPSONDE_MODE", "agregate", 1);
    json_t *answer = examine("", 1);
    ck_assert_str_eq(state_of(answer, "variables"), "fails");
    json_decref(answer);
    unsetenv("HEAPSONDE_MODE");
    answer = examine("", 0);
    ck_assert_str_eq(state_of(answer, "variables"), "works");
    json_decref(answer);
}
END_TEST

START_TEST(test_key_file)
{
    write_file(text("%s/key", work), "0123456789abcdef0123456789abcdef\n", 33);
    shell("chmod 644 %s/key", work);
    setenv("HEAPSONDE_KEY_FILE", text("%s/key", work), 1);
    json_t *answer = examine("", 0);
    ck_assert_str_eq(state_of(answer, "key-file"), "fails");
    json_decref(answer);
    shell("chmod 600 %s/key", work);
    answer = examine("", 0);
    ck_assert_str_eq(state_of(answer, "key-file"), "works");
    json_decref(answer);
    unsetenv("HEAPSONDE_KEY_FILE");
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("doctor command");
    tcase_add_checked_fixture(cases, make_work, remove_work);
    tcase_add_test(cases, test_this_machine);
    tcase_add_test(cases, test_text);
    tcase_add_test(cases, test_programs);
    tcase_add_test(cases, test_bad_surroundings);
    tcase_add_test(cases, test_variables);
    tcase_add_test(cases, test_key_file);
    return run_cases("doctor command", cases);
}
