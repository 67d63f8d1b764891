// SPDX-License-Identifier: MIT OR Apache-2.0
//
// jemalloc's format:
//   heap_v2/PERIOD
//     t*: COUNT: BYTES [COUNT: BYTES]          the whole process
//     t0: COUNT: BYTES [COUNT: BYTES] NAME     a thread, its name only here
//   @ 0x... 0x...                              a stack, innermost first
//     t*: COUNT: BYTES [COUNT: BYTES]
//     t0: COUNT: BYTES [COUNT: BYTES]
//   MAPPED_LIBRARIES: and the process's maps
#include "host/dump/text.h"

struct read_heap_v2_reading {
    struct hs_dump_scan *scan;
    struct hs_dump_builder *builder;
    const char *stack; // the line of the current context; NULL: still in the head
    bool counted;      // that context has its t* line
};

static int read_head(struct read_heap_v2_reading *reading)
{
    struct hs_line line;
    uint64_t period;
    if (!hs_dump_scan__line(reading->scan, &line))
        return hs_dump_scan__wrong(reading->scan, reading->scan->at, "the file ends in its first line");
    if (!hs_line__take(&line, "heap_v2/") || !hs_line__number(&line, &period) || line.at < line.end)
        return hs_dump_scan__wrong(reading->scan, line.at, "the first line should read heap_v2/PERIOD");
    reading->builder->dump->period = period ? period : 1;
    return 0;
}

static int begin_context(struct read_heap_v2_reading *reading, struct hs_line *line)
{
    if (reading->stack && !reading->counted)
        return hs_dump_scan__wrong(reading->scan, reading->stack, "a stack without the line 't*:' with its counts");
    reading->stack = line->at;
    reading->counted = false;
    line->at++;
    int result = hs_line__stack(line, reading->builder, false);
    if (result == -EINVAL)
        return hs_dump_scan__wrong(reading->scan, reading->stack,
                                   "'@' should be followed by addresses such as 0x55d0c0ffee");
    return result ? hs_dump_scan__out_of_memory(reading->scan) : 0;
}

static int add_whole(struct read_heap_v2_reading *reading, const struct hs_dump_counts *counts)
{
    struct hs_dump *dump = reading->builder->dump;
    if (!reading->stack) {
        dump->total = *counts;
        dump->has_total = true;
        dump->has_all = counts->all_blocks || counts->all_bytes;
        return 0;
    }
    reading->counted = true;
    return hs_dump_builder__end_context(reading->builder, counts);
}

static int add_thread(struct read_heap_v2_reading *reading, struct hs_line *line, uint64_t uid,
                      const struct hs_dump_counts *counts)
{
    struct hs_dump *dump = reading->builder->dump;
    uint32_t thread = hs_dump_builder__thread(reading->builder, uid);
    if (thread == HS_DUMP_NONE)
        return -ENOMEM;
    if (reading->stack) {
        struct hs_dump_share share = {(uint32_t)dump->context_count - 1, thread, *counts};
        return hs_dump_builder__add_share(reading->builder, &share);
    }
    hs_line__skip_blanks(line);
    const char *name = hs_dump_builder__string(reading->builder, line->at, (size_t)(line->end - line->at));
    dump->thread[thread].counts = *counts;
    dump->thread[thread].name = name ? name : "";
    return name ? 0 : -ENOMEM;
}

static int read_counts(struct read_heap_v2_reading *reading, struct hs_line *line)
{
    struct hs_dump_counts counts;
    const char *start = line->at;
    uint64_t uid = 0;
    line->at++;
    bool whole = hs_line__take(line, "*");
    if ((!whole && !hs_line__number(line, &uid)) || !hs_line__take(line, ":") ||
        !hs_line__counts(line, reading->builder, &counts))
        return hs_dump_scan__wrong(reading->scan, start, "counts should read 't0: COUNT: BYTES [COUNT: BYTES]'");
    if (reading->stack && whole == reading->counted)
        return hs_dump_scan__wrong(reading->scan, start,
                                   whole ? "a second line 't*:' for one stack" : "the line 't*:' should come first");
    int result = whole ? add_whole(reading, &counts) : add_thread(reading, line, uid, &counts);
    return result ? hs_dump_scan__out_of_memory(reading->scan) : 0;
}

static int read_line(struct read_heap_v2_reading *reading, struct hs_line *line)
{
    if (line->at == line->end)
        return 0;
    switch (*line->at) {
    case '@':
        return begin_context(reading, line);
    case 't':
        return read_counts(reading, line);
    case '#':
        return hs_line__fact(line, reading->builder) ? hs_dump_scan__out_of_memory(reading->scan) : 0;
    default:
        return hs_dump_scan__wrong(reading->scan, line->at,
                                   "neither a stack ('@ 0x...') nor counts ('t0: ...') nor MAPPED_LIBRARIES:");
    }
}

static bool begins_mappings(const struct hs_line *line)
{
    return hs_line__begins(line, "MAPPED_LIBRARIES:") || hs_line__begins(line, "--- Memory map:");
}

static int end_of_contexts(struct read_heap_v2_reading *reading, bool has_mappings)
{
    bool cut = reading->stack && !reading->counted;
    if (cut && has_mappings)
        return hs_dump_scan__wrong(reading->scan, reading->stack, "a stack without the line 't*:' with its counts");
    if (cut && reading->scan->at >= reading->scan->end &&
        hs_dump_builder__warn(reading->builder, "the file ends within a stack, which is left out"))
        return hs_dump_scan__out_of_memory(reading->scan);
    if (!has_mappings &&
        hs_dump_builder__warn(reading->builder, "the file has no MAPPED_LIBRARIES: addresses cannot be named"))
        return hs_dump_scan__out_of_memory(reading->scan);
    return has_mappings                            ? hs_dump_scan__mappings(reading->scan)
           : hs_dump_scan__cut_line(reading->scan) ? hs_dump_scan__out_of_memory(reading->scan)
                                                   : 0;
}

int hs_dump_read__heap_v2(struct hs_dump_scan *scan)
{
    struct read_heap_v2_reading reading = {.scan = scan, .builder = scan->builder};
    struct hs_dump *dump = scan->builder->dump;
    dump->format = HS_DUMP_HEAP_V2;
    dump->sampling = HS_SAMPLING_POISSON;
    dump->has_blocks = true;
    dump->text = scan->at;
    dump->text_length = (size_t)(scan->end - scan->at);
    struct hs_line line;
    int result = read_head(&reading);
    bool mappings = false;
    while (!result && !mappings && hs_dump_scan__line(scan, &line)) {
        mappings = begins_mappings(&line);
        result = mappings ? 0 : read_line(&reading, &line);
    }
    return result ? result : end_of_contexts(&reading, mappings);
}
