// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The table of names that may stand in front of a dump:
//   --- symbol
//   binary=/path/of/program
//   0x55d0c0ffee function--inlined      addresses as they are looked up: those of the calls
//   ---
//   --- heap
#include "host/dump/text.h"

// The beginning of the last name.
static const char *last_name(const char *at, const char *end)
{
    for (const char *from = end - 2; from >= at; from--) {
        if (from[0] == '-' && from[1] == '-')
            return from + 2;
    }
    return at;
}

// Callers stand before what they call.
static int add_names(struct hs_dump_scan *scan, uint32_t location, struct hs_line *line)
{
    for (const char *end = line->end; end > line->at;) {
        const char *start = last_name(line->at, end);
        struct hs_dump_line name = {.function = hs_dump_builder__string(scan->builder, start, (size_t)(end - start))};
        if (!name.function || (start < end && hs_dump_builder__add_line(scan->builder, location, &name)))
            return -ENOMEM;
        end = start > line->at ? start - 2 : line->at;
    }
    return 0;
}

static int read_symbol(struct hs_dump_scan *scan, struct hs_line *line)
{
    uint64_t address;
    const char *start = line->at;
    if (!hs_line__take(line, "0x") || !hs_line__hex(line, &address) || line->at == line->end || !hs_is_blank(*line->at))
        return hs_dump_scan__wrong(scan, start, "a symbol should read '0xADDRESS NAME'");
    hs_line__skip_blanks(line);
    uint32_t location = hs_dump_builder__at(scan->builder, address);
    // The first of two lines for one address counts.
    bool known = location != HS_DUMP_NONE && scan->builder->dump->location[location].line_count;
    // An address for its own name says nothing.
    if (known || hs_line__begins(line, "0x"))
        return 0;
    return location == HS_DUMP_NONE || add_names(scan, location, line) ? hs_dump_scan__out_of_memory(scan) : 0;
}

static int read_setting(struct hs_dump_scan *scan, struct hs_line *line)
{
    if (!hs_line__take(line, "binary="))
        return 0;
    const char *path = hs_dump_builder__string(scan->builder, line->at, (size_t)(line->end - line->at));
    scan->builder->dump->executable = path ? path : "";
    return path ? 0 : hs_dump_scan__out_of_memory(scan);
}

int hs_dump_read__symbols(struct hs_dump_scan *scan)
{
    struct hs_line line;
    bool in_table = false;
    int result = 0;
    while (!result && hs_dump_scan__line(scan, &line)) {
        if (hs_line__begins(&line, "--- heap"))
            return 0;
        if (hs_line__begins(&line, "---"))
            in_table = hs_line__begins(&line, "--- symbol");
        else if (in_table && hs_line__begins(&line, "0x"))
            result = read_symbol(scan, &line);
        else if (in_table)
            result = read_setting(scan, &line);
    }
    return result ? result
                  : hs_dump_scan__wrong(scan, scan->at, "the file ends before '--- heap': it has no heap profile");
}
