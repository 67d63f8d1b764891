// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /dynamic_constants and /dynamic_statics: what initialisers of global C++ objects allocated and is still there, by
// source line; as JSON and as text.
#include "host/base/path.h"
#include "host/rest/answers.h"
#include "host/rest/ascii.h"
#include "host/rest/write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct dynamic_line {
    const char *file;
    uint32_t line;
    uint64_t count, bytes;
};

struct dynamic_lines {
    struct dynamic_line *line; // by file, then by line
    size_t count;
};

static bool is_initialiser(const struct hs_frame *frame, bool constants)
{
    if (!frame->linked || !strstr(frame->linked, "__static_initialization_and_destruction_0"))
        return false;
    return (strstr(frame->linked, ".constprop") != NULL) == constants;
}

// The outermost such frame. NULL: none.
static const struct hs_frame *find_initialiser(const struct hs_question *question, uint32_t stack, bool constants)
{
    const struct hs_frame *found = NULL;
    for (uint32_t node = stack; node; node = hs_trace_symbols__parent(question->symbols, node)) {
        const struct hs_frames *frames = hs_trace_symbols__node(question->symbols, node);
        for (uint32_t i = 0; i < frames->count; i++)
            if (is_initialiser(&frames->frame[i], constants))
                found = &frames->frame[i];
    }
    return found;
}

static int compare(const void *left, const void *right)
{
    const struct dynamic_line *a = left, *b = right;
    int files = strcmp(a->file, b->file);
    return files ? files : (a->line > b->line) - (a->line < b->line);
}

static void merge(struct dynamic_lines *lines)
{
    size_t kept = 0;
    if (lines->count)
        qsort(lines->line, lines->count, sizeof(*lines->line), compare);
    for (size_t i = 0; i < lines->count; i++) {
        if (kept && !compare(&lines->line[kept - 1], &lines->line[i])) {
            lines->line[kept - 1].count += lines->line[i].count;
            lines->line[kept - 1].bytes += lines->line[i].bytes;
        } else {
            lines->line[kept++] = lines->line[i];
        }
    }
    lines->count = kept;
}

static void free_lines(void *work)
{
    struct dynamic_lines *lines = work;
    free(lines->line);
    free(lines);
}

static int prepare(struct hs_question *question, bool constants)
{
    const struct hs_totals *totals;
    struct hs_filter live;
    struct dynamic_lines *lines = calloc(1, sizeof(*lines));
    if (!lines)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = lines;
    question->free_work = free_lines;
    hs_filter__init(&live);
    live.never_freed_only = true;
    int result = hs_question__totals_of(question, question->state, &live, "live", &totals);
    if (result)
        return result;
    lines->line = calloc(totals->count + 1, sizeof(*lines->line));
    if (!lines->line)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    for (size_t i = 0; i < totals->count; i++) {
        const struct hs_total *total = &totals->total[i];
        const struct hs_frame *frame = find_initialiser(question, total->stack, constants);
        if (frame)
            lines->line[lines->count++] = (struct dynamic_line){frame->file ? frame->file : "", frame->line,
                                                                total->live_count, total->live_usable};
    }
    merge(lines);
    return 0;
}

int hs_prepare__dynamic_constants(struct hs_question *question)
{
    return prepare(question, true);
}

int hs_prepare__dynamic_statics(struct hs_question *question)
{
    return prepare(question, false);
}

static struct dynamic_line sum_of(const struct dynamic_lines *lines, size_t first, size_t *end)
{
    struct dynamic_line sum = {.file = lines->line[first].file};
    for (*end = first; *end < lines->count && !strcmp(lines->line[*end].file, sum.file); ++*end) {
        sum.count += lines->line[*end].count;
        sum.bytes += lines->line[*end].bytes;
    }
    return sum;
}

static void write_sum(struct hs_json *json, uint64_t count, uint64_t bytes)
{
    hs_json__number(json, "count", count);
    hs_json__number(json, "size", bytes);
}

int hs_answer__dynamic(struct hs_question *question, FILE *out)
{
    const struct dynamic_lines *lines = question->work;
    struct hs_json json;
    uint64_t count = 0, bytes = 0;
    for (size_t i = 0; i < lines->count; i++) {
        count += lines->line[i].count;
        bytes += lines->line[i].bytes;
    }
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    write_sum(&json, count, bytes);
    hs_json__open_object(&json, "per_file");
    for (size_t i = 0, end; i < lines->count; i = end) {
        struct dynamic_line sum = sum_of(lines, i, &end);
        hs_json__open_object(&json, sum.file);
        write_sum(&json, sum.count, sum.bytes);
        hs_json__open_object(&json, "per_line");
        for (size_t k = i; k < end; k++) {
            char number[16];
            snprintf(number, sizeof(number), "%u", lines->line[k].line);
            hs_json__open_object(&json, number);
            write_sum(&json, lines->line[k].count, lines->line[k].bytes);
            hs_json__close_object(&json);
        }
        hs_json__close_object(&json);
        hs_json__close_object(&json);
    }
    hs_json__close_object(&json);
    hs_json__close_object(&json);
    return 0;
}

// ---- as text --------------------------------------------------------------------------------------------------------

struct file {
    struct dynamic_line sum;
    size_t first, end;
};

static int compare_files(const void *left, const void *right)
{
    const struct file *a = left, *b = right;
    if (a->sum.bytes != b->sum.bytes)
        return a->sum.bytes > b->sum.bytes ? -1 : 1;
    return strcmp(a->sum.file, b->sum.file);
}

static int add_numbers(struct hs_ascii_table *table, uint64_t bytes, uint64_t count)
{
    char size[48];
    hs_ascii__size(size, sizeof(size), bytes);
    int failed = hs_ascii_table__add(table, "%s", size);
    return failed ? failed : hs_ascii_table__add(table, "%" PRIu64, count);
}

static int add_file(struct hs_ascii_table *table, const struct dynamic_lines *lines, const struct file *file,
                    bool is_last)
{
    const char *branch = is_last ? "└" : "├";
    const char *name = hs_path__name(file->sum.file);
    int failed = add_numbers(table, file->sum.bytes, file->sum.count);
    if (!failed && file->end == file->first + 1)
        return hs_ascii_table__add(table, "%s%s:%u [%s]", branch, name, lines->line[file->first].line, file->sum.file);
    if (!failed)
        failed = hs_ascii_table__add(table, "%s%s [%s]", branch, name, file->sum.file);
    for (size_t i = file->first; i < file->end && !failed; i++) {
        failed = add_numbers(table, lines->line[i].bytes, lines->line[i].count);
        if (!failed)
            failed = hs_ascii_table__add(table, "%s%s%u", is_last ? " " : "|", i + 1 < file->end ? "├" : "└",
                                         lines->line[i].line);
    }
    return failed;
}

static int add_files(struct hs_ascii_table *table, const struct dynamic_lines *lines)
{
    size_t count = 0;
    uint64_t bytes = 0, blocks = 0;
    struct file *file = calloc(lines->count + 1, sizeof(*file));
    if (!file)
        return -ENOMEM;
    for (size_t i = 0, end; i < lines->count; i = end, count++) {
        file[count] = (struct file){.sum = sum_of(lines, i, &end), .first = i};
        file[count].end = end;
        bytes += file[count].sum.bytes;
        blocks += file[count].sum.count;
    }
    qsort(file, count, sizeof(*file), compare_files);
    int failed = count ? add_numbers(table, bytes, blocks) : 0;
    if (!failed && count)
        failed = hs_ascii_table__add(table, "▒");
    for (size_t i = 0; i < count && !failed; i++)
        failed = add_file(table, lines, &file[i], i + 1 == count);
    free(file);
    return failed;
}

static int add_all(struct hs_ascii_table *table, const struct dynamic_lines *lines)
{
    static const char *const names[] = {"SIZE", "COUNT", "SOURCE"};
    int failed = 0;
    for (size_t i = 0; i < 3 && !failed; i++)
        failed = hs_ascii_table__add(table, "%s", names[i]);
    return failed ? failed : add_files(table, lines);
}

int hs_answer__dynamic_ascii(struct hs_question *question, FILE *out)
{
    struct hs_ascii_table table = {.columns = 3};
    int failed = add_all(&table, question->work);
    hs_ascii_table__print(&table, out);
    if (!failed)
        failed = add_all(&table, question->work);
    hs_ascii_table__end(&table);
    return failed;
}
