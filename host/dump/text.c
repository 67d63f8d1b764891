// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/dump/text.h"

#include <stdarg.h>
#include <stdio.h>

#define NO      -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1
#define LETTERS -1, 10, 11, 12, 13, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1

const signed char hs_hex_digits[256] = {NO, NO, NO, 0,       1,  2,       3,  4,  5,  6,  7,  8,  9,  -1, -1, -1,
                                        -1, -1, -1, LETTERS, NO, LETTERS, NO, NO, NO, NO, NO, NO, NO, NO, NO};

// ---- messages ------------------------------------------------------------------------------------------------------

static unsigned long long line_number(const struct hs_dump_scan *scan, const char *at)
{
    unsigned long long number = scan->lines_before + 1;
    for (const char *from = scan->begin; from < at; from++)
        number += *from == '\n';
    return number;
}

int hs_dump_scan__wrong(struct hs_dump_scan *scan, const char *at, const char *format, ...)
{
    char text[256];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    return hs_error__set(scan->error, EINVAL, "%s:%llu: %s", scan->name, line_number(scan, at), text);
}

int hs_dump_scan__out_of_memory(struct hs_dump_scan *scan)
{
    return hs_error__set(scan->error, ENOMEM, "%s: out of memory", scan->name);
}

int hs_dump_scan__cut_line(struct hs_dump_scan *scan)
{
    if (scan->at >= scan->end)
        return 0;
    return hs_dump_builder__warn(scan->builder, "the file ends within line %llu, which is left out",
                                 line_number(scan, scan->at));
}

// ---- parts of lines ------------------------------------------------------------------------------------------------

bool hs_line__count(struct hs_line *line, struct hs_dump_builder *builder, uint64_t *number)
{
    hs_line__skip_blanks(line);
    bool negative = hs_line__take(line, "-");
    if (!hs_line__number(line, number))
        return false;
    if (negative && *number) {
        builder->negative++;
        *number = 0;
    }
    return true;
}

static bool pair(struct hs_line *line, struct hs_dump_builder *builder, uint64_t *blocks, uint64_t *bytes)
{
    return hs_line__count(line, builder, blocks) && hs_line__take(line, ":") && hs_line__count(line, builder, bytes);
}

bool hs_line__counts(struct hs_line *line, struct hs_dump_builder *builder, struct hs_dump_counts *counts)
{
    if (!pair(line, builder, &counts->live_blocks, &counts->live_bytes))
        return false;
    hs_line__skip_blanks(line);
    if (!hs_line__take(line, "[") || !pair(line, builder, &counts->all_blocks, &counts->all_bytes))
        return false;
    hs_line__skip_blanks(line);
    return hs_line__take(line, "]");
}

int hs_line__stack(struct hs_line *line, struct hs_dump_builder *builder, bool innermost_returns)
{
    bool innermost = !innermost_returns;
    for (hs_line__skip_blanks(line); line->at < line->end; hs_line__skip_blanks(line)) {
        uint64_t address;
        hs_line__take(line, "0x");
        if (!hs_line__hex(line, &address) || (line->at < line->end && !hs_is_blank(*line->at)))
            return -EINVAL;
        address -= !innermost && address;
        innermost = false;
        if (hs_dump_builder__add_frame(builder, hs_dump_builder__at(builder, address)))
            return -ENOMEM;
    }
    return 0;
}

int hs_line__fact(struct hs_line *line, struct hs_dump_builder *builder)
{
    hs_line__take(line, "#");
    hs_line__skip_blanks(line);
    const char *colon = memchr(line->at, ':', (size_t)(line->end - line->at));
    if (!colon)
        return 0;
    const char *value = colon + 1;
    while (value < line->end && hs_is_blank(*value))
        value++;
    return hs_dump_builder__add_fact(builder, line->at, (size_t)(colon - line->at), value, (size_t)(line->end - value));
}

// ---- mappings ------------------------------------------------------------------------------------------------------

static void skip_word(struct hs_line *line)
{
    while (line->at < line->end && !hs_is_blank(*line->at))
        line->at++;
    hs_line__skip_blanks(line);
}

static size_t path_length(const struct hs_line *line)
{
    static const char deleted[] = " (deleted)";
    size_t length = (size_t)(line->end - line->at);
    size_t suffix = sizeof(deleted) - 1;
    return length > suffix && !memcmp(line->end - suffix, deleted, suffix) ? length - suffix : length;
}

// "start-end perms offset device inode path" of the kernel, or "start-end: path". False when it is neither.
static bool parse_mapping(struct hs_line *line, struct hs_dump_mapping *mapping)
{
    *mapping = (struct hs_dump_mapping){0};
    if (!hs_line__hex(line, &mapping->start) || !hs_line__take(line, "-") || !hs_line__hex(line, &mapping->end))
        return false;
    if (hs_line__take(line, ":")) {
        hs_line__skip_blanks(line);
        mapping->executable = true;
        return true;
    }
    hs_line__skip_blanks(line);
    const char *permissions = line->at;
    skip_word(line);
    mapping->executable = line->at - permissions > 2 && permissions[2] == 'x';
    if (!hs_line__hex(line, &mapping->offset))
        return false;
    hs_line__skip_blanks(line);
    skip_word(line);
    skip_word(line);
    return true;
}

static bool is_wanted(const struct hs_line *line, const struct hs_dump_mapping *mapping)
{
    bool code_without_file = hs_line__begins(line, "[vdso]") || hs_line__begins(line, "linux-vdso");
    bool file = line->at < line->end && *line->at != '[';
    return mapping->start < mapping->end && (file || code_without_file);
}

int hs_dump_scan__mappings(struct hs_dump_scan *scan)
{
    struct hs_line line;
    while (hs_dump_scan__line(scan, &line)) {
        struct hs_dump_mapping mapping;
        if (hs_line__begins(&line, "#") && hs_line__fact(&line, scan->builder))
            return hs_dump_scan__out_of_memory(scan);
        if (line.at == line.end || hs_line__begins(&line, "#") || !parse_mapping(&line, &mapping) ||
            !is_wanted(&line, &mapping))
            continue;
        mapping.path = hs_dump_builder__string(scan->builder, line.at, path_length(&line));
        if (!mapping.path || hs_dump_builder__add_mapping(scan->builder, &mapping))
            return hs_dump_scan__out_of_memory(scan);
    }
    return hs_dump_scan__cut_line(scan) ? hs_dump_scan__out_of_memory(scan) : 0;
}
