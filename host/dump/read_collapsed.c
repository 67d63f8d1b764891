// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One line per stack: "outermost;...;innermost COUNT". The counts are taken for bytes in use.
#include "host/dump/text.h"

#define FIRST_LINES 16

// Takes the number off the end of the line.
static bool split(struct hs_line *line, struct hs_dump_builder *builder, uint64_t *count)
{
    const char *space = memrchr(line->at, ' ', (size_t)(line->end - line->at));
    if (!space || space == line->at)
        return false;
    struct hs_line number = {space + 1, line->end};
    if (!hs_line__count(&number, builder, count) || number.at < number.end)
        return false;
    line->end = space;
    return true;
}

static int add_frames(struct hs_dump_scan *scan, const struct hs_line *line)
{
    for (const char *end = line->end;;) {
        const char *semicolon = memrchr(line->at, ';', (size_t)(end - line->at));
        const char *name = semicolon ? semicolon + 1 : line->at;
        uint32_t location = hs_dump_builder__named(scan->builder, name, (size_t)(end - name));
        if (hs_dump_builder__add_frame(scan->builder, location))
            return -ENOMEM;
        if (!semicolon)
            return 0;
        end = semicolon;
    }
}

int hs_dump_read__collapsed(struct hs_dump_scan *scan)
{
    struct hs_line line;
    scan->builder->dump->format = HS_DUMP_COLLAPSED;
    while (hs_dump_scan__line(scan, &line)) {
        struct hs_dump_counts counts = {0};
        if (line.at == line.end || *line.at == '#')
            continue;
        if (!split(&line, scan->builder, &counts.live_bytes))
            return hs_dump_scan__wrong(scan, line.at, "a stack should read 'outermost;...;innermost COUNT'");
        if (add_frames(scan, &line) || hs_dump_builder__end_context(scan->builder, &counts))
            return hs_dump_scan__out_of_memory(scan);
    }
    return hs_dump_scan__cut_line(scan) ? hs_dump_scan__out_of_memory(scan) : 0;
}

bool hs_dump_recognise__collapsed(const char *text, size_t length)
{
    struct hs_dump_scan scan = {.begin = text, .at = text, .end = text + length};
    struct hs_dump_builder builder = {0};
    struct hs_line line;
    unsigned lines = 0;
    while (lines < FIRST_LINES && hs_dump_scan__line(&scan, &line)) {
        uint64_t count;
        if (line.at == line.end || *line.at == '#')
            continue;
        for (const char *at = line.at; at < line.end; at++) {
            if ((unsigned char)*at < 0x20)
                return false;
        }
        if (!split(&line, &builder, &count))
            return false;
        lines++;
    }
    return lines > 0;
}
