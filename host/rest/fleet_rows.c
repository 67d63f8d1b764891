// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /fleet and the questions with rows: what `heapsonde fleet QUESTION --json` answers, in pages.
#include "host/fleet/asking.h"
#include "host/rest/answers.h"
#include "host/rest/fleet.h"
#include "host/rest/fleet_slice.h"
#include "host/rest/fleet_traces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_FRAMES = 12, LONG_FRAMES = 4096, ROWS = 100 };
enum { SESSION, DEVICE, PID = 4 }; // columns of sessions

struct fleet_page {
    const struct hs_fleet_question *question;
    struct hs_fleet_conditions conditions;
    struct hs_fleet_slice slice;
    struct hs_buffer answer;
    char *(*field)[HS_FLEET_FIELDS];
    size_t count;
    uint64_t most; // rows of the page
    bool has_stacks;
    size_t stack_column;
    struct hs_fleet_names *names;   // NULL: without frames
    struct hs_fleet_traces *traces; // NULL: these are not sessions
};

static void free_rows(void *work)
{
    struct fleet_page *rows = work;
    hs_fleet_conditions__free(&rows->conditions);
    hs_fleet_names__free(rows->names);
    hs_fleet_traces__destroy(rows->traces);
    hs_buffer__free(&rows->answer);
    free(rows->field);
    free(rows);
}

// ---- asking --------------------------------------------------------------------------------------------------------

static int take_rows(struct fleet_page *rows, struct hs_error *error)
{
    struct hs_tsv table = hs_tsv__begin(&rows->answer);
    rows->field = calloc(rows->slice.top, sizeof(*rows->field));
    if (!rows->field)
        return hs_error__set(error, ENOMEM, "out of memory");
    while (rows->count < rows->slice.top && hs_tsv__next(&table, rows->field[rows->count], HS_FLEET_FIELDS))
        rows->count++;
    return 0;
}

static int read_names(struct fleet_page *rows, struct hs_database *database, struct hs_error *error)
{
    size_t count = 0;
    uint64_t *keys = calloc(rows->count + 1, sizeof(*keys));
    if (!keys)
        return hs_error__set(error, ENOMEM, "out of memory");
    for (size_t i = 0; rows->has_stacks && i < rows->count; i++)
        keys[count++] = strtoull(rows->field[i][rows->stack_column], NULL, 10);
    if (rows->slice.stack)
        keys[count++] = rows->slice.stack;
    int failed = hs_fleet_names__read(database, keys, count, &rows->names, error);
    free(keys);
    return failed;
}

static int ask(struct hs_question *question, struct hs_database *database, void *context)
{
    struct fleet_page *rows = context;
    const char *frames = hs_question__text(question, "frames");
    int failed = hs_fleet__ask(database, rows->question, &rows->slice, false, &rows->answer, &question->error);
    if (!failed)
        failed = take_rows(rows, &question->error);
    if (failed || (!rows->has_stacks && !rows->slice.stack) || (frames && !strcmp(frames, "none")))
        return failed;
    return read_names(rows, database, &question->error);
}

static int read_stack(struct hs_question *question, uint64_t *stack)
{
    char *end;
    errno = 0;
    *stack = strtoull(question->value[0], &end, 10);
    if (errno || *end || !*stack || *question->value[0] == '-')
        return hs_error__set(&question->error, ENOENT,
                             "%s is not the number of a stack, such as /fleet/growth has them", question->value[0]);
    return 0;
}

// Of the path "/fleet/QUESTION".
static int prepare(struct hs_question *question, const char *name)
{
    struct fleet_page *rows = calloc(1, sizeof(*rows));
    if (!rows)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = rows;
    question->free_work = free_rows;
    rows->question = hs_fleet_question__find(name);
    rows->has_stacks = hs_fleet_question__has_stacks(rows->question, &rows->stack_column);
    int result = hs_question__slice(question, name, rows->question->reach, &rows->slice, &rows->conditions);
    if (!result && rows->question->of_stack)
        result = read_stack(question, &rows->slice.stack);
    rows->most = hs_question__number(question, "count", ROWS);
    rows->slice.skip = hs_question__number(question, "skip", 0);
    rows->slice.top = rows->most + 1; // to know whether there are more
    if (!result)
        result = hs_question__ask_fleet(question, ask, rows);
    if (!result && !strcmp(name, "sessions") && !(rows->traces = hs_fleet_traces__make(question->rest->traces)))
        result = hs_error__set(&question->error, ENOMEM, "out of memory");
    return result;
}

int hs_prepare__fleet_rows(struct hs_question *question)
{
    return prepare(question, question->endpoint->path + strlen("/fleet/"));
}

int hs_prepare__fleet_stack(struct hs_question *question)
{
    return prepare(question, "stack");
}

// ---- answering -----------------------------------------------------------------------------------------------------

static void write_row(struct hs_json *json, const struct fleet_page *rows, char *const *field)
{
    hs_json__open_object(json, NULL);
    hs_fleet_row__write(json, rows->question, field);
    if (rows->has_stacks && rows->names)
        hs_fleet_stack__write(json, "frames",
                              hs_fleet_names__stack(rows->names, strtoull(field[rows->stack_column], NULL, 10)),
                              SHORT_FRAMES);
    if (rows->traces)
        hs_json__string(json, "trace",
                        hs_fleet_traces__find(rows->traces, strtoull(field[SESSION], NULL, 10), field[DEVICE],
                                              (uint32_t)strtoul(field[PID], NULL, 10)));
    hs_json__close_object(json);
}

int hs_answer__fleet_rows(struct hs_question *question, FILE *out)
{
    const struct fleet_page *rows = question->work;
    struct hs_json json;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    if (rows->slice.stack)
        hs_fleet_stack__write(&json, "frames", hs_fleet_names__stack(rows->names, rows->slice.stack), LONG_FRAMES);
    hs_json__open_array(&json, "rows");
    for (size_t i = 0; i < rows->count && i < rows->most; i++)
        write_row(&json, rows, rows->field[i]);
    hs_json__close_array(&json);
    if (rows->count > rows->most)
        hs_json__number(&json, "next_skip", rows->slice.skip + rows->most);
    else
        hs_json__null(&json, "next_skip");
    hs_json__close_object(&json);
    putc('\n', out);
    return ferror(out) ? -EPIPE : 0;
}
