// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /source: the lines of a source file, with what was allocated on each of them.
#include "host/rest/answers.h"
#include "host/rest/paging.h"
#include "host/rest/source_text.h"
#include "host/rest/sum_rows.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OF_LINE 1000 // bytes of a line in the answer

const struct hs_rest_parameter hs_source_parameters[] = {
    {.name = "file",
     .kind = HS_REST_TEXT,
     .required = true,
     .help = "the source file, as debug information names it and the field source contains it"},
    {.name = "lines",
     .kind = HS_REST_CHOICE,
     .choices = "all costly",
     .default_value = "all",
     .help = "all lines, or only those with costs (costly); without the text of the file, only these are known"},
    {.name = "contains", .kind = HS_REST_TEXT, .help = "only lines whose text contains this, in upper or lower case"},
    HS_SUM_COST_PARAMETER,
    {.name = "sort_by",
     .kind = HS_REST_CHOICE,
     .choices = "line " HS_SUM_KEYS("self") " " HS_SUM_KEYS("total"),
     .default_value = "line",
     .help = "the order of the lines"},
    {0},
};

struct source_line {
    uint64_t number;              // from 1; 0: what has no line
    const struct hs_sum_row *row; // NULL: nothing was allocated there
    const char *text;             // NULL: unknown
    size_t length;
};

struct source_view {
    const struct hs_sum_rows *rows; // held in the cache
    struct hs_source_text text;
    const char *absence; // why there is no text; NULL: there is
    struct source_line *line;
    size_t count;
    bool by_line, descending;
    struct hs_sum_key key;
    struct hs_value costliest[HS_COST_COUNT]; // positions in `line`, of bytes and of blocks
};

static void free_source(void *work)
{
    struct source_view *source = work;
    hs_source_text__free(&source->text);
    free(source->line);
    free(source);
}

// ---- files that the trace names -------------------------------------------------------------------------------------

// Sets of such files are small, and their names are equal if they are the same pointer.
struct source_names {
    const char **name;
    size_t count, room;
};

static void free_names(void *value)
{
    struct source_names *names = value;
    free(names->name);
    free(names);
}

static const char **place_of(const struct source_names *names, const char *name)
{
    size_t at = (size_t)(((uint64_t)(uintptr_t)name * 0x9e3779b97f4a7c15u) >> 32) & (names->room - 1);
    while (names->name[at] && names->name[at] != name)
        at = (at + 1) & (names->room - 1);
    return &names->name[at];
}

static int add_name(struct source_names *names, const char *name)
{
    if (2 * names->count >= names->room) {
        struct source_names grown = {.room = names->room ? 2 * names->room : 256};
        grown.name = calloc(grown.room, sizeof(*grown.name));
        if (!grown.name)
            return -ENOMEM;
        for (size_t i = 0; i < names->room; i++)
            if (names->name[i])
                *place_of(&grown, names->name[i]) = names->name[i];
        free(names->name);
        names->name = grown.name;
        names->room = grown.room;
    }
    const char **place = place_of(names, name);
    names->count += !*place;
    *place = name;
    return 0;
}

static int add_names(struct source_names *names, struct hs_question *question)
{
    size_t count;
    hs_store__nodes(question->store, &count);
    for (size_t node = 1; node < count; node++) {
        const struct hs_frames *frames = hs_trace_symbols__node(question->symbols, (uint32_t)node);
        for (uint32_t i = 0; i < frames->count; i++)
            if (frames->frame[i].file && add_name(names, frames->frame[i].file))
                return -ENOMEM;
        if (!(node & 0xffff) && question->control.cancel && __atomic_load_n(question->control.cancel, __ATOMIC_RELAXED))
            return -ECANCELED;
    }
    return 0;
}

static int make_names(void *context, void **value, size_t *bytes, struct hs_error *error)
{
    struct source_names *names = calloc(1, sizeof(*names));
    const int result = names ? add_names(names, context) : -ENOMEM;
    if (result) {
        if (names)
            free_names(names);
        return hs_error__set(error, -result, "%s", result == -ENOMEM ? "out of memory" : "cancelled");
    }
    *value = names;
    *bytes = sizeof(*names) + names->room * sizeof(*names->name);
    return 0;
}

// Whether the trace names the file. Whoever asks may not name any other.
static int look_up(struct hs_question *question, const char *file, bool *is_named)
{
    void *value = NULL;
    const struct hs_cache_maker maker = {make_names, question, free_names};
    int result = hs_question__cached(question, question->state, "sources", &maker, &value);
    const struct source_names *names = value;
    for (size_t i = 0; !result && i < names->room && !*is_named; i++)
        *is_named = names->name[i] && !strcmp(names->name[i], file);
    return result;
}

// ---- lines ----------------------------------------------------------------------------------------------------------

static void take_lines(struct source_view *source)
{
    char *at = source->text.text, *end = at + source->text.length;
    while (at && at < end) {
        char *next = memchr(at, '\n', (size_t)(end - at));
        char *stop = next ? next : end;
        *stop = '\0'; // there is room for one after the last line
        size_t length = (size_t)(stop - at);
        if (length && at[length - 1] == '\r')
            length--;
        source->line[source->count] = (struct source_line){.number = source->count + 1, .text = at, .length = length};
        source->count++;
        at = next ? next + 1 : end;
    }
}

// The lines of the file are in order and come first; lines that it does not have follow.
static void take_rows(struct source_view *source, const char *file)
{
    const size_t known = source->count;
    for (size_t i = 0; i < source->rows->count; i++) {
        const struct hs_sum_row *row = &source->rows->row[i];
        if (strcmp(row->frame->file, file))
            continue;
        if (row->number && row->number <= known)
            source->line[row->number - 1].row = row;
        else
            source->line[source->count++] = (struct source_line){.number = row->number, .row = row};
    }
}

static void select_lines(struct source_view *source, bool costly, const char *contains)
{
    size_t count = 0;
    for (size_t i = 0; i < source->count; i++) {
        const struct source_line *line = &source->line[i];
        if ((line->row || !costly) && (!contains || (line->text && strcasestr(line->text, contains))))
            source->line[count++] = *line;
    }
    source->count = count;
}

static int compare(const void *left, const void *right, void *context)
{
    const struct source_view *source = context;
    const struct source_line *a = left, *b = right;
    const uint64_t first = source->by_line || !a->row ? 0 : hs_sum_key__value(&source->key, a->row);
    const uint64_t second = source->by_line || !b->row ? 0 : hs_sum_key__value(&source->key, b->row);
    const int values = (first > second) - (first < second), numbers = (a->number > b->number) - (a->number < b->number);
    if (values)
        return source->descending ? -values : values;
    return source->by_line && source->descending ? -numbers : numbers;
}

// Ordered by this: what the line allocated itself, then what its callees did, then the first line.
static bool is_costlier(struct hs_sum_key key, const struct source_line *line, const struct source_line *most)
{
    uint64_t values[2][2];
    for (unsigned i = 0; i < 2; i++) {
        key.of_self = !i;
        values[i][0] = line->row ? hs_sum_key__value(&key, line->row) : 0;
        values[i][1] = most->row ? hs_sum_key__value(&key, most->row) : 0;
    }
    if (values[0][0] != values[0][1])
        return values[0][0] > values[0][1];
    if (values[1][0] != values[1][1])
        return values[1][0] > values[1][1];
    return line->number < most->number;
}

static uint64_t find_costliest(const struct source_view *source, enum hs_cost cost, bool by_count)
{
    const struct hs_sum_key key = {.by_count = by_count, .cost = cost};
    size_t most = 0;
    for (size_t i = 1; i < source->count; i++)
        if (is_costlier(key, &source->line[i], &source->line[most]))
            most = i;
    return most;
}

static void find_all_costliest(struct source_view *source)
{
    for (unsigned cost = 0; cost < HS_COST_COUNT; cost++)
        source->costliest[cost] = (struct hs_value){.bytes = find_costliest(source, (enum hs_cost)cost, false),
                                                    .count = find_costliest(source, (enum hs_cost)cost, true)};
}

int hs_prepare__source(struct hs_question *question)
{
    const char *file = hs_question__text(question, "file"), *word = hs_question__text(question, "sort_by");
    struct source_view *source = calloc(1, sizeof(*source));
    if (!source)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = source;
    question->free_work = free_source;
    source->by_line = !hs_sum_key__read(&source->key, word);
    source->descending = !strcmp(hs_question__text(question, "order"), "dsc");
    bool is_named = false;
    int result = look_up(question, file, &is_named);
    if (!result)
        result = hs_sum_rows__find(question, HS_SUM_BY_LINE, &source->rows);
    if (result)
        return result;
    source->absence =
        is_named ? hs_source_text__read(question->rest->sources, question->rest->source_count, file, &source->text)
                 : "no code of this trace is from this file";
    source->line = calloc(source->text.lines + source->rows->count + 1, sizeof(*source->line));
    if (!source->line)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    take_lines(source);
    take_rows(source, file);
    select_lines(source, !strcmp(hs_question__text(question, "lines"), "costly"),
                 hs_question__text(question, "contains"));
    qsort_r(source->line, source->count, sizeof(*source->line), compare, source);
    find_all_costliest(source);
    return 0;
}

// ---- writing --------------------------------------------------------------------------------------------------------

static void write_line(struct hs_json *json, const struct source_view *source, const struct source_line *line)
{
    static const struct hs_value nothing[HS_COST_COUNT];
    hs_json__open_object(json, NULL);
    hs_json__number(json, "line", line->number);
    if (line->text)
        hs_json__bytes(json, "text", line->text, line->length < MOST_OF_LINE ? line->length : MOST_OF_LINE);
    else
        hs_json__null(json, "text");
    hs_json__boolean(json, "cut", line->length > MOST_OF_LINE);
    hs_sum_rows__write(json, "self", source->rows, line->row ? line->row->self : nothing);
    hs_sum_rows__write(json, "total", source->rows, line->row ? line->row->total : nothing);
    hs_json__close_object(json);
}

int hs_answer__source(struct hs_question *question, FILE *out)
{
    const struct source_view *source = question->work;
    struct hs_json json;
    struct hs_paging paging = hs_paging__start(question, out, source->count);
    uint64_t i;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__string(&json, "file", hs_question__text(question, "file"));
    hs_json__string(&json, "absence", source->absence);
    if (source->absence)
        hs_json__null(&json, "modified_ns");
    else
        hs_json__number(&json, "modified_ns", source->text.modified_ns);
    hs_json__number(&json, "total_count", source->count);
    hs_sum_rows__write(&json, "sum", source->rows, source->rows->sum);
    hs_sum_rows__write(&json, "costliest", source->rows, source->costliest);
    hs_json__open_array(&json, "rows");
    while (hs_paging__next(&paging, &i))
        write_line(&json, source, &source->line[i]);
    hs_json__close_array(&json);
    hs_paging__end(&paging, &json);
    hs_json__close_object(&json);
    return 0;
}
