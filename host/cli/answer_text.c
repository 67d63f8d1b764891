// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/answer_text.h"

#include "host/base/text_stream.h"
#include "host/cli/answer_value.h"
#include "host/report/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 64, WIDEST = 70, FRAMES = 4 };

static _Thread_local const char *times_count; // in the answer that is written

// ---- values ---------------------------------------------------------------------------------------------------------

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), wanted = strlen(end);
    return length >= wanted && !strcmp(text + length - wanted, end);
}

static bool is_of_bytes(const char *name)
{
    return ends_with(name, "size") || ends_with(name, "bytes") || ends_with(name, "bytes_in") ||
           ends_with(name, "bytes_out");
}

static void write_word(FILE *out, const char *name, const char *text)
{
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    if (!strcmp(text, "null"))
        fputc('-', out);
    else if (*end || errno || *text == '-')
        hs_text__print(out, text, strlen(text));
    else if (is_of_bytes(name))
        fputs(hs_text__bytes(number).text, out);
    else if (ends_with(name, "_ns") && !ends_with(name, "realtime_ns"))
        fputs(hs_text__time_of(number, times_count).text, out);
    else
        fprintf(out, "%llu", number);
}

static bool is_time(const struct hs_answer_value *value)
{
    return hs_answer_value__member(value, "fract_nsecs") && hs_answer_value__member(value, "secs");
}

static void write_time(FILE *out, const struct hs_answer_value *value)
{
    const char *seconds = hs_answer_value__member(value, "secs")->text;
    const unsigned long rest = strtoul(hs_answer_value__member(value, "fract_nsecs")->text, NULL, 10);
    if (times_count && *times_count)
        fputs(hs_text__time_of(strtoull(seconds, NULL, 10) * 1000000000u + rest, times_count).text, out);
    else
        fprintf(out, "%s.%09lu s", seconds, rest);
}

// Stacks begin with the outermost frame; people look at the innermost ones.
static void write_frames(FILE *out, const struct hs_answer_value *frames)
{
    size_t skip = frames->count > FRAMES ? frames->count - FRAMES : 0;
    if (skip)
        fputs("... > ", out);
    for (const struct hs_answer_value *frame = frames->first; frame; frame = frame->next) {
        if (skip) {
            skip--;
            continue;
        }
        const struct hs_answer_value *name = hs_answer_value__member(frame, "function");
        name = name ? name : hs_answer_value__member(frame, "address_s");
        if (name && name->text)
            hs_text__print(out, name->text, strlen(name->text));
        fputs(frame->next ? " > " : "", out);
    }
}

static bool is_plain(const struct hs_answer_value *value)
{
    return value->kind == HS_ANSWER_WORD || value->kind == HS_ANSWER_STRING || is_time(value);
}

// Bytes and a number of blocks.
static bool is_pair(const struct hs_answer_value *value)
{
    return value->kind == HS_ANSWER_ARRAY && value->count == 2 && value->first->kind == HS_ANSWER_WORD &&
           value->first->next->kind == HS_ANSWER_WORD;
}

static void write_cell(FILE *out, const char *name, const struct hs_answer_value *value)
{
    const struct hs_answer_value *frames = value->kind == HS_ANSWER_ARRAY ? value->first : NULL;
    if (value->kind == HS_ANSWER_STRING)
        hs_text__print(out, value->text, strlen(value->text));
    else if (value->kind == HS_ANSWER_WORD)
        write_word(out, name, value->text);
    else if (is_time(value))
        write_time(out, value);
    else if (is_pair(value))
        fprintf(out, "%s in %s", hs_text__bytes(strtoull(value->first->text, NULL, 10)).text, value->first->next->text);
    else if (frames && frames->kind == HS_ANSWER_OBJECT &&
             (hs_answer_value__member(frames, "function") || hs_answer_value__member(frames, "address_s")))
        write_frames(out, value);
    else
        fprintf(out, "(%zu)", value->count);
}

// ---- tables ---------------------------------------------------------------------------------------------------------

struct answer_table {
    char *name[MOST_COLUMNS];
    size_t columns;
    char **cell; // row after row
    size_t rows, room;
    int failed;
};

static size_t column_of(struct answer_table *table, const char *name)
{
    size_t i = 0;
    while (i < table->columns && strcmp(table->name[i], name) != 0)
        i++;
    if (i == table->columns && i < MOST_COLUMNS) {
        table->name[i] = strdup(name);
        table->failed |= !table->name[i];
        table->columns += !table->failed;
    }
    return table->failed ? MOST_COLUMNS : i;
}

static void add_cell(struct answer_table *table, const char *name, const struct hs_answer_value *value)
{
    const size_t column = column_of(table, name);
    if (column >= MOST_COLUMNS)
        return;
    char **cell = &table->cell[(table->rows - 1) * MOST_COLUMNS + column];
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    if (out)
        write_cell(out, name, value);
    free(*cell);
    *cell = hs_text_stream__close(&stream);
    table->failed |= !*cell;
}

static bool has_other(const struct hs_answer_value *value, const char *name, const char *end)
{
    char other[128];
    snprintf(other, sizeof(other), "%s%s", name, end);
    return hs_answer_value__member(value, other) != NULL;
}

// Of a value that an answer has in several forms, one is enough.
static bool is_shown_elsewhere(const struct hs_answer_value *value, const char *name)
{
    return ends_with(name, "_relative_p") || has_other(value, name, "_relative") || has_other(value, name, "_s") ||
           !strcmp(name, "raw_function");
}

// Members of members have both names.
static void add_members(struct answer_table *table, const char *prefix, const struct hs_answer_value *value)
{
    for (const struct hs_answer_value *member = value->first; member && !table->failed; member = member->next) {
        char *name = NULL;
        if (is_shown_elsewhere(value, member->name))
            continue;
        if (asprintf(&name, "%s%s%s", prefix, *prefix ? "." : "", member->name) < 0) {
            table->failed = 1;
            return;
        }
        if (member->kind == HS_ANSWER_OBJECT && !is_time(member))
            add_members(table, name, member);
        else
            add_cell(table, name, member);
        free(name);
    }
}

static void add_row(struct answer_table *table)
{
    if (table->rows == table->room) {
        const size_t room = 2 * table->room + 64;
        char **cell = reallocarray(table->cell, room * MOST_COLUMNS, sizeof(*cell));
        if (!cell) {
            table->failed = 1;
            return;
        }
        memset(cell + table->room * MOST_COLUMNS, 0, (room - table->room) * MOST_COLUMNS * sizeof(*cell));
        table->cell = cell;
        table->room = room;
    }
    table->rows++;
}

// Characters that take a place on a terminal, nearly.
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; text && *text; text++)
        width += (*text & 0xc0) != 0x80;
    return width;
}

static void write_padded(FILE *out, const char *text, size_t width, bool is_last)
{
    fputs(text ? text : "", out);
    const size_t used = width_of(text);
    if (!is_last)
        fprintf(out, "%*s", (int)(used < width ? width - used : 0) + 2, "");
}

static void write_table(FILE *out, const struct answer_table *table)
{
    size_t width[MOST_COLUMNS];
    for (size_t column = 0; column < table->columns; column++) {
        width[column] = width_of(table->name[column]);
        for (size_t row = 0; row < table->rows; row++) {
            const size_t needed = width_of(table->cell[row * MOST_COLUMNS + column]);
            width[column] = needed > width[column] ? needed : width[column];
        }
        width[column] = width[column] > WIDEST ? WIDEST : width[column];
    }
    for (size_t column = 0; column < table->columns; column++)
        write_padded(out, table->name[column], width[column], column + 1 == table->columns);
    fputc('\n', out);
    for (size_t row = 0; row < table->rows; row++) {
        for (size_t column = 0; column < table->columns; column++)
            write_padded(out, table->cell[row * MOST_COLUMNS + column], width[column], column + 1 == table->columns);
        fputc('\n', out);
    }
}

static int end_table(FILE *out, struct answer_table *table)
{
    if (!table->failed)
        write_table(out, table);
    for (size_t i = 0; i < table->room * MOST_COLUMNS; i++)
        free(table->cell[i]);
    for (size_t i = 0; i < table->columns; i++)
        free(table->name[i]);
    free(table->cell);
    return table->failed ? -ENOMEM : 0;
}

static int write_rows(FILE *out, const struct hs_answer_value *rows)
{
    struct answer_table table = {0};
    for (const struct hs_answer_value *row = rows->first; row && !table.failed; row = row->next) {
        add_row(&table);
        if (!table.failed && row->kind == HS_ANSWER_OBJECT)
            add_members(&table, "", row);
        else if (!table.failed)
            add_cell(&table, "value", row);
    }
    return end_table(out, &table);
}

// ---- trees ----------------------------------------------------------------------------------------------------------

static bool is_tree(const struct hs_answer_value *value)
{
    const struct hs_answer_value *children = hs_answer_value__member(value, "children");
    return children && children->kind == HS_ANSWER_ARRAY && hs_answer_value__member(value, "size");
}

static const char *name_of_node(const struct hs_answer_value *node)
{
    static const char *const names[] = {"function", "address_s", "raw_function"};
    const struct hs_answer_value *value = hs_answer_value__member(node, "value");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct hs_answer_value *name = hs_answer_value__member(value ? value : node, names[i]);
        if (name && name->text)
            return name->text;
    }
    return "everything";
}

static void write_node(FILE *out, const struct hs_answer_value *node, unsigned depth)
{
    const struct hs_answer_value *size = hs_answer_value__member(node, "size");
    const struct hs_answer_value *count = hs_answer_value__member(node, "count");
    const char *name = name_of_node(node);
    fprintf(out, "%10s %12s  %*s", hs_text__bytes(strtoull(size->text, NULL, 10)).text, count ? count->text : "",
            (int)(2 * depth), "");
    hs_text__print(out, name, strlen(name));
    fputc('\n', out);
    for (const struct hs_answer_value *child = hs_answer_value__member(node, "children")->first; child;
         child = child->next)
        if (is_tree(child))
            write_node(out, child, depth + 1);
}

// ---- answers --------------------------------------------------------------------------------------------------------

static bool is_series(const struct hs_answer_value *value)
{
    return value->kind == HS_ANSWER_ARRAY && value->first && is_plain(value->first);
}

static size_t longest_series(const struct hs_answer_value *value)
{
    size_t longest = 0;
    for (const struct hs_answer_value *member = value->first; member; member = member->next)
        if (is_series(member) && member->count > longest)
            longest = member->count;
    return longest;
}

// Arrays of one length are columns.
static int write_series(FILE *out, const struct hs_answer_value *value, size_t length)
{
    struct answer_table table = {0};
    const struct hs_answer_value *at[MOST_COLUMNS] = {0};
    const char *name[MOST_COLUMNS];
    size_t count = 0;
    for (const struct hs_answer_value *member = value->first; member && count < MOST_COLUMNS; member = member->next)
        if (is_series(member) && member->count == length) {
            name[count] = member->name;
            at[count++] = member->first;
        }
    for (size_t row = 0; row < length && !table.failed; row++) {
        add_row(&table);
        for (size_t i = 0; i < count && !table.failed; i++) {
            add_cell(&table, name[i], at[i]);
            at[i] = at[i]->next;
        }
    }
    return end_table(out, &table);
}

static int write_value(FILE *out, const struct hs_answer_value *value);

static int write_part(FILE *out, const struct hs_answer_value *member)
{
    fputc('\n', out);
    hs_text__print(out, member->name, strlen(member->name));
    fputc('\n', out);
    return write_value(out, member);
}

static bool is_line(const struct hs_answer_value *value, const struct hs_answer_value *member)
{
    return (is_plain(member) || is_pair(member)) && !is_shown_elsewhere(value, member->name);
}

static int write_object(FILE *out, const struct hs_answer_value *value)
{
    size_t widest = 0;
    for (const struct hs_answer_value *member = value->first; member; member = member->next)
        if (is_line(value, member) && strlen(member->name) > widest)
            widest = strlen(member->name);
    for (const struct hs_answer_value *member = value->first; member; member = member->next)
        if (is_line(value, member)) {
            fprintf(out, "%-*s  ", (int)widest, member->name);
            write_cell(out, member->name, member);
            fputc('\n', out);
        }
    const size_t length = longest_series(value);
    int failed = length > 2 ? write_series(out, value, length) : 0;
    for (const struct hs_answer_value *member = value->first; member && !failed; member = member->next)
        if (!is_plain(member) && !is_pair(member) && !(is_series(member) && member->count == length && length > 2) &&
            member->count)
            failed = write_part(out, member);
    return failed;
}

static int write_value(FILE *out, const struct hs_answer_value *value)
{
    if (is_tree(value)) {
        write_node(out, value, 0);
        return 0;
    }
    if (value->kind == HS_ANSWER_OBJECT && !is_time(value))
        return write_object(out, value);
    if (value->kind == HS_ANSWER_ARRAY)
        return write_rows(out, value);
    write_cell(out, "", value);
    fputc('\n', out);
    return 0;
}

int hs_answer_text__write(const char *answer, size_t length, const char *clock, FILE *out)
{
    struct hs_answer_values *values = NULL;
    struct hs_answer_value *value;
    char *text = malloc(length + 1);
    if (!text)
        return -ENOMEM;
    memcpy(text, answer, length);
    text[length] = 0;
    times_count = clock;
    const bool may_be_json = *text == '{' || *text == '[';
    int failed = may_be_json ? hs_answer_values__read(&values, text, &value) : -EINVAL;
    if (failed == -EINVAL)
        failed = fwrite(answer, 1, length, out) == length ? 0 : -EIO;
    else if (!failed)
        failed = write_value(out, value);
    hs_answer_values__free(values);
    free(text);
    return failed;
}
