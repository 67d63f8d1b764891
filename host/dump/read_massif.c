// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Valgrind's massif:
//   desc: OPTIONS
//   cmd: COMMAND
//   time_unit: i | ms | B
//   #-----------
//   snapshot=NUMBER
//   #-----------
//   time=TIME
//   mem_heap_B=BYTES
//   mem_heap_extra_B=BYTES
//   mem_stacks_B=BYTES
//   heap_tree=empty | detailed | peak
//   nCHILDREN: BYTES (heap allocation functions) ...      a tree: callers below what they call
//    nCHILDREN: BYTES 0xADDRESS: FUNCTION (FILE:LINE)
//     n0: BYTES in NUMBER places, all below massif's threshold (1.00%)
// Only snapshots with a tree are read. The part of a dump is the place of its snapshot in the text, from 1.
#include "host/dump/text.h"

#include <inttypes.h>

#define DEEPEST 512 // massif itself takes at most 200

struct massif_snapshot {
    const char *at; // its line "snapshot="; NULL: none
    uint64_t number, time, heap, extra, stacks;
    bool is_peak;
    const char *tree; // behind the line "heap_tree="
};

struct massif_level {
    uint64_t bytes, of_children;
    uint64_t missing; // children
    uint32_t location;
};

struct read_massif {
    struct hs_dump_scan *scan;
    struct hs_dump_builder *builder;
    uint64_t ns; // of a unit of time
    struct massif_level level[DEEPEST];
    size_t depth; // levels
    bool is_cut;  // children are missing
};

// ---- the head ------------------------------------------------------------------------------------------------------

bool hs_dump_recognise__massif(const char *text, size_t length)
{
    static const char first[] = "desc:", second[] = "\ncmd:";
    if (length < sizeof(first) - 1 || memcmp(text, first, sizeof(first) - 1) != 0)
        return false;
    const char *feed = memchr(text, '\n', length);
    const size_t left = feed ? length - (size_t)(feed - text) : 0;
    const size_t compared = left < sizeof(second) - 1 ? left : sizeof(second) - 1;
    return !feed || !memcmp(feed, second, compared);
}

static int read_head(struct read_massif *reading)
{
    struct hs_dump_scan *scan = reading->scan;
    struct hs_line line, command = {0};
    const char *unit = NULL;
    while (!unit && hs_dump_scan__line(scan, &line)) {
        if (hs_line__begins(&line, "#---"))
            break;
        if (!command.at && hs_line__take(&line, "cmd:"))
            command = line;
        else if (hs_line__take(&line, "time_unit:")) {
            hs_line__skip_blanks(&line);
            unit = hs_dump_builder__string(reading->builder, line.at, (size_t)(line.end - line.at));
            if (!unit)
                return hs_dump_scan__out_of_memory(scan);
        }
    }
    hs_line__skip_blanks(&command);
    if (!unit)
        return hs_dump_scan__wrong(scan, scan->at, "a massif file should begin with desc:, cmd: and time_unit:");
    const int failed = hs_dump_builder__valgrind_time(reading->builder, unit, &reading->ns);
    if (failed == -EINVAL)
        return hs_dump_scan__wrong(scan, line.at, "time_unit is '%.20s'; massif knows i, ms and B", unit);
    if (failed || hs_dump_builder__valgrind_run(reading->builder, command.at, (size_t)(command.end - command.at)))
        return hs_dump_scan__out_of_memory(scan);
    return 0;
}

// ---- snapshots -----------------------------------------------------------------------------------------------------

static int read_number(struct hs_dump_scan *scan, struct hs_line *line, uint64_t *number)
{
    if (hs_line__number(line, number) && line->at == line->end)
        return 0;
    return hs_dump_scan__wrong(scan, line->at, "a number of 64 bits should follow '='");
}

// A line of a snapshot's head. 1: it is the last one, of a snapshot with a tree.
static int read_field(struct hs_dump_scan *scan, struct hs_line *line, struct massif_snapshot *snapshot)
{
    const struct {
        const char *key;
        uint64_t *number;
    } fields[] = {{"time=", &snapshot->time},
                  {"mem_heap_B=", &snapshot->heap},
                  {"mem_heap_extra_B=", &snapshot->extra},
                  {"mem_stacks_B=", &snapshot->stacks}};
    if (hs_line__begins(line, "snapshot=")) {
        *snapshot = (struct massif_snapshot){.at = line->at};
        hs_line__take(line, "snapshot=");
        return read_number(scan, line, &snapshot->number);
    }
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (hs_line__take(line, fields[i].key))
            return read_number(scan, line, fields[i].number);
    if (!snapshot->at || !hs_line__take(line, "heap_tree="))
        return 0;
    snapshot->is_peak = hs_line__begins(line, "peak");
    snapshot->tree = scan->at;
    return snapshot->is_peak || hs_line__begins(line, "detailed");
}

// The next snapshot with a tree; `at` stays NULL if there is none.
static int next_snapshot(struct hs_dump_scan *scan, struct massif_snapshot *snapshot)
{
    struct hs_line line;
    int result = 0;
    *snapshot = (struct massif_snapshot){0};
    while (!result && hs_dump_scan__line(scan, &line))
        if (line.at < line.end && *line.at != '#' && *line.at != 'n')
            result = read_field(scan, &line, snapshot);
    if (!result)
        snapshot->at = NULL;
    return result < 0 ? result : 0;
}

// The snapshot that massif calls the peak may be smaller than a later one: it takes a new one only of a heap that is
// larger by more than --peak-inaccuracy.
static int choose_peak(struct hs_dump_scan *scan, struct massif_snapshot *chosen)
{
    struct massif_snapshot next;
    int result;
    *chosen = (struct massif_snapshot){0};
    while (!(result = next_snapshot(scan, &next)) && next.at) {
        const bool better = next.heap != chosen->heap ? next.heap > chosen->heap : next.is_peak && !chosen->is_peak;
        if (!chosen->at || better)
            *chosen = next;
    }
    return result;
}

static int choose(struct hs_dump_scan *scan, struct massif_snapshot *snapshot)
{
    const uint64_t part = scan->builder->dump->part;
    if (!part)
        return choose_peak(scan, snapshot);
    if (part > (uint64_t)(scan->at - scan->begin))
        scan->at = part < (uint64_t)(scan->end - scan->begin) ? scan->begin + part - 1 : scan->end;
    return next_snapshot(scan, snapshot);
}

// ---- the tree ------------------------------------------------------------------------------------------------------

// What the level's callers do not account for ends there.
static int end_level(struct read_massif *reading)
{
    const struct massif_level *level = &reading->level[--reading->depth];
    reading->is_cut = reading->is_cut || level->missing;
    if (level->bytes <= level->of_children)
        return 0;
    const struct hs_dump_counts counts = {.live_bytes = level->bytes - level->of_children};
    for (size_t i = 1; i <= reading->depth; i++)
        if (hs_dump_builder__add_frame(reading->builder, reading->level[i].location))
            return -ENOMEM;
    if (!reading->depth &&
        hs_dump_builder__add_frame(reading->builder, hs_dump_builder__named(reading->builder, "[unknown]", 9)))
        return -ENOMEM;
    return hs_dump_builder__end_context(reading->builder, &counts);
}

static int end_levels(struct read_massif *reading, size_t depth)
{
    int result = 0;
    while (!result && reading->depth > depth)
        result = end_level(reading);
    return result;
}

static uint32_t location_of(struct hs_dump_builder *builder, struct hs_line text)
{
    static const char below[] = "[below massif's threshold]";
    if (hs_line__begins(&text, "in "))
        return hs_dump_builder__named(builder, below, sizeof(below) - 1);
    return hs_dump_builder__valgrind_frame(builder, text.at, (size_t)(text.end - text.at));
}

static int read_node(struct read_massif *reading, struct hs_line *line, size_t depth)
{
    struct hs_dump_scan *scan = reading->scan;
    struct massif_level node = {0};
    const char *start = line->at;
    if (!hs_line__take(line, "n") || !hs_line__number(line, &node.missing) || !hs_line__take(line, ": ") ||
        !hs_line__number(line, &node.bytes) || !hs_line__take(line, " "))
        return hs_dump_scan__wrong(scan, start, "a line of a tree should read 'nCHILDREN: BYTES FRAME'");
    if (depth >= DEEPEST)
        return hs_dump_scan__wrong(scan, start, "the tree is deeper than %d", DEEPEST - 1);
    if (depth > reading->depth || (!depth && reading->depth))
        return hs_dump_scan__wrong(scan, start, "this line of a tree belongs to none before it");
    node.location = depth ? location_of(reading->builder, *line) : HS_DUMP_NONE;
    if (end_levels(reading, depth) || (depth && node.location == HS_DUMP_NONE))
        return hs_dump_scan__out_of_memory(scan);
    if (depth) {
        struct massif_level *of = &reading->level[depth - 1];
        of->missing -= of->missing > 0;
        if (__builtin_add_overflow(of->of_children, node.bytes, &of->of_children))
            of->of_children = UINT64_MAX;
    }
    reading->level[reading->depth++] = node;
    return 0;
}

static int read_tree(struct read_massif *reading)
{
    struct hs_dump_scan *scan = reading->scan;
    struct hs_line line;
    int result = 0;
    const char *start = scan->at;
    bool has_more = true, is_whole = false;
    while (!result && !is_whole && (has_more = hs_dump_scan__line(scan, &line))) {
        is_whole = hs_line__begins(&line, "#");
        if (!is_whole && line.at < line.end)
            result = read_node(reading, &line, (size_t)(line.at - start));
        start = scan->at;
    }
    reading->is_cut = reading->is_cut || !reading->depth;
    if (!result && (end_levels(reading, 0) || (!has_more && hs_dump_scan__cut_line(scan))))
        result = hs_dump_scan__out_of_memory(scan);
    if (!result && reading->is_cut &&
        hs_dump_builder__warn(reading->builder,
                              "the tree of this snapshot is not complete: the file may have been cut"))
        result = hs_dump_scan__out_of_memory(scan);
    return result;
}

// ---- a part --------------------------------------------------------------------------------------------------------

static int add_number(struct hs_dump_builder *builder, const char *key, uint64_t number)
{
    char text[32];
    const int length = snprintf(text, sizeof(text), "%" PRIu64, number);
    return hs_dump_builder__add_fact(builder, key, strlen(key), text, (size_t)length);
}

static int take_snapshot(struct read_massif *reading, const struct massif_snapshot *snapshot)
{
    struct hs_dump_builder *builder = reading->builder;
    struct hs_dump *dump = builder->dump;
    dump->part = (uint64_t)(snapshot->at - reading->scan->begin) + 1;
    if (__builtin_mul_overflow(snapshot->time, reading->ns, &dump->elapsed_ns))
        dump->elapsed_ns = UINT64_MAX;
    dump->is_peak = snapshot->is_peak;
    dump->total.live_bytes = snapshot->heap;
    dump->has_total = true;
    if (add_number(builder, "snapshot", snapshot->number) || add_number(builder, "mem_heap_extra_B", snapshot->extra) ||
        (snapshot->stacks && add_number(builder, "mem_stacks_B", snapshot->stacks)))
        return hs_dump_scan__out_of_memory(reading->scan);
    reading->scan->at = snapshot->tree;
    return read_tree(reading);
}

int hs_dump_read__massif(struct hs_dump_scan *scan)
{
    struct read_massif reading = {.scan = scan, .builder = scan->builder};
    struct massif_snapshot snapshot, next;
    scan->builder->dump->format = HS_DUMP_MASSIF;
    int result = read_head(&reading);
    if (!result)
        result = choose(scan, &snapshot);
    if (!result && !snapshot.at)
        return hs_error__set(scan->error, EINVAL,
                             "%s: no snapshot has a tree; record with 'valgrind --tool=massif --detailed-freq=1'",
                             scan->name);
    if (!result)
        result = take_snapshot(&reading, &snapshot);
    if (!result)
        result = next_snapshot(scan, &next);
    if (!result && next.at)
        scan->builder->dump->next_part = (uint64_t)(next.at - scan->begin) + 1;
    return result;
}
