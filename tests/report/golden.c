// SPDX-License-Identifier: MIT OR Apache-2.0
#include "golden.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char source[4096]; // the folder that the suite was started in

void make_golden(void)
{
    ck_assert(*source || getcwd(source, sizeof(source)));
    make_work();
    shell("'%s' golden.dat && mkdir -p root/app/bin && cp '%s' root/app/bin/golden", PATH_GOLDEN_TRACE,
          PATH_GOLDEN_PROGRAM);
}

void expect_output(const char *file, const char *arguments)
{
    struct outcome outcome = run("$HEAPSONDE %s", arguments);
    ck_assert_msg(outcome.status == 0, "heapsonde %s: status %d\n%s", arguments, outcome.status, outcome.errors);
    compare_with_file(text("%s/%s", source, file), outcome.output, outcome.output_length);
    free_outcome(&outcome);
}

json_t *parse_json(const char *bytes, size_t length)
{
    json_error_t error;
    json_t *json = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(json != NULL, "line %d: %s", error.line, error.text);
    return json;
}

json_t *output_as_json(const char *arguments)
{
    struct outcome outcome = run("$HEAPSONDE %s", arguments);
    ck_assert_msg(outcome.status == 0, "heapsonde %s: status %d\n%s", arguments, outcome.status, outcome.errors);
    ck_assert_str_eq(outcome.errors, "");
    json_t *json = parse_json(outcome.output, outcome.output_length);
    free_outcome(&outcome);
    return json;
}

long long integer(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    ck_assert_msg(json_is_integer(value), "no number \"%s\"", key);
    return json_integer_value(value);
}
