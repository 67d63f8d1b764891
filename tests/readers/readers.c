// SPDX-License-Identifier: MIT OR Apache-2.0
#include "readers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char source[4096];

void find_source(void)
{
    if (!getcwd(source, sizeof(source)))
        abort();
    setenv("DEBUGINFOD_URLS", "", 1);
}

void need(const char *tool)
{
    struct outcome outcome = run("command -v %s", tool);
    ck_assert_msg(outcome.status == 0, "%s is missing; scripts/setup installs it", tool);
    free_outcome(&outcome);
}

void make_trace(void)
{
    make_work();
    shell(
        "gcc -g -O1 '%s/program.c' -pthread -o program && $HEAPSONDE run -q --free-stacks -o program.dat -- ./program",
        source);
}

void make_sampled_trace(void)
{
    make_work();
    shell("'%s' random program.dat '%s' 7 3000 1", PATH_MAKE_TRACE, PATH_SAMPLED_PROGRAM);
}

void export_as(const char *format, const char *options)
{
    shell("rm -f %s && $HEAPSONDE export --format %s %s program.dat -o %s", format, format, options, format);
}

static unsigned long long reported(const char *json, const char *object, const char *key)
{
    const char *start = object ? strstr(json, text("\n  \"%s\": {", object)) : json;
    ck_assert_msg(start != NULL, "the report has no '%s'", object);
    const char *at = strstr(start, text(object ? "\n    \"%s\": " : "\n  \"%s\": ", key));
    ck_assert_msg(at != NULL, "the report has no '%s'", key);
    return strtoull(strchr(at, ':') + 1, NULL, 10);
}

static void expect(const char *object, const char *options, const char *command, int count)
{
    char *reader = strdup(command); // a text of text() does not last
    struct outcome report = run("$HEAPSONDE report --json %s program.dat", options);
    struct outcome outcome = run("%s", reader);
    ck_assert_int_eq(report.status, 0);
    // Check ends a test without a message if its message is too long.
    ck_assert_msg(outcome.status == 0, "%s: status %d\n%.2000s%.2000s", reader, outcome.status, outcome.output,
                  outcome.errors);
    int lines = 0;
    for (char *line = strtok(outcome.output, "\n"); line; line = strtok(NULL, "\n"), lines++) {
        char key[64];
        unsigned long long value;
        ck_assert_msg(sscanf(line, "%63s %llu", key, &value) == 2, "%s: %s", reader, line);
        unsigned long long wanted = reported(report.output, object, key);
        ck_assert_msg(value == wanted, "%s: %s %llu, but the report of '%s' says %llu", reader, key, value, options,
                      wanted);
    }
    ck_assert_msg(lines == count, "%s: %d lines", reader, lines);
    free_outcome(&report);
    free_outcome(&outcome);
    free(reader);
}

void expect_totals(const char *options, const char *reader, int count)
{
    expect(NULL, options, reader, count);
}

void expect_events(const char *events, const char *options, const char *reader, int count)
{
    expect(events, options, reader, count);
}
