// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The older format, of gperftools, which google-pprof and pprof read too:
//   heap profile: COUNT: BYTES [COUNT: BYTES] @ heap_v2/PERIOD
//   COUNT: BYTES [COUNT: BYTES] @ 0x... 0x...
//   MAPPED_LIBRARIES: and the process's maps
//
// Go writes it, too, with "heap" and twice its period, as the first gperftools did, and with names in comments:
//   #	0x...	FUNCTION+0x...	FILE:LINE
// Its samples are those of a Poisson process, and all its addresses are return addresses.
#include "host/dump/text.h"

// The default sampling rate of "heap" and "growth" profiles.
#define USUAL_PERIOD (128u << 10)

struct read_heap_profile_reading {
    struct hs_dump_scan *scan;
    bool of_go;
};

// "heap_v2/524288", "heap/1048576", "heapprofile", "growthz/1", ...
static int read_kind(struct read_heap_profile_reading *reading, struct hs_line *line)
{
    struct hs_dump_scan *scan = reading->scan;
    struct hs_dump *dump = scan->builder->dump;
    hs_line__skip_blanks(line);
    if (!hs_line__take(line, "@"))
        return 0;
    hs_line__skip_blanks(line);
    const char *slash = memchr(line->at, '/', (size_t)(line->end - line->at));
    struct hs_line kind = {line->at, slash ? slash : line->end};
    struct hs_line number = {slash ? slash + 1 : line->end, line->end};
    if (slash && (!hs_line__number(&number, &dump->period) || number.at < number.end))
        return hs_dump_scan__wrong(scan, line->at,
                                   "'@' should be followed by a kind and a period, such as heap_v2/524288");
    reading->of_go = (size_t)(kind.end - kind.at) == 4 && hs_line__begins(&kind, "heap");
    bool exact = hs_line__begins(&kind, "heapprofile") || !memmem(kind.at, (size_t)(kind.end - kind.at), "heap", 4);
    bool newer = memmem(kind.at, (size_t)(kind.end - kind.at), "_v2", 3) != NULL;
    dump->sampling = exact ? HS_SAMPLING_NONE : HS_SAMPLING_POISSON;
    if (slash && !dump->period)
        dump->period = 1;
    else if (!slash && !exact)
        dump->period = USUAL_PERIOD;
    else if (!exact && !newer)
        dump->period = dump->period > 1 ? dump->period / 2 : 1;
    return 0;
}

static int read_head(struct read_heap_profile_reading *reading)
{
    struct hs_dump_scan *scan = reading->scan;
    struct hs_dump *dump = scan->builder->dump;
    struct hs_line line;
    if (!hs_dump_scan__line(scan, &line))
        return hs_dump_scan__wrong(scan, scan->at, "the file ends in its first line");
    if (!hs_line__take(&line, "heap profile:") || !hs_line__counts(&line, scan->builder, &dump->total))
        return hs_dump_scan__wrong(scan, line.at,
                                   "the first line should read 'heap profile: COUNT: BYTES [COUNT: BYTES]'");
    dump->has_total = true;
    dump->has_all = dump->total.all_blocks || dump->total.all_bytes;
    return read_kind(reading, &line);
}

// The name of an address of the stack above. One that was met before has its names.
static int read_name(struct hs_dump_builder *builder, struct hs_line line)
{
    uint64_t address, number = 0;
    struct hs_dump_line name = {.function = ""};
    line.at++;
    hs_line__skip_blanks(&line);
    if (!hs_line__take(&line, "0x") || !hs_line__hex(&line, &address))
        return 0;
    hs_line__skip_blanks(&line);
    const char *start = line.at, *plus = NULL;
    for (; line.at < line.end && !hs_is_blank(*line.at); line.at++)
        plus = *line.at == '+' ? line.at : plus;
    name.function = hs_dump_builder__string(builder, start, (size_t)((plus ? plus : line.at) - start));
    hs_line__skip_blanks(&line);
    const char *colon = memrchr(line.at, ':', (size_t)(line.end - line.at));
    struct hs_line digits = {colon ? colon + 1 : line.end, line.end};
    if (hs_line__number(&digits, &number) && digits.at == digits.end)
        name.line = (uint32_t)number;
    if (colon)
        name.file = hs_dump_builder__string(builder, line.at, (size_t)(colon - line.at));
    uint32_t location = hs_dump_builder__at(builder, address);
    if (!name.function || location == HS_DUMP_NONE)
        return -ENOMEM;
    const struct hs_dump_location *of = &builder->dump->location[location];
    for (uint32_t i = 0; i < of->line_count; i++) {
        const struct hs_dump_line *known = &builder->dump->line[of->first_line + i];
        if (known->function == name.function && known->line == name.line)
            return 0;
    }
    return hs_dump_builder__add_line(builder, location, &name);
}

static int read_comment(struct hs_dump_builder *builder, struct hs_line *line)
{
    struct hs_line rest = {line->at + 1, line->end};
    hs_line__skip_blanks(&rest);
    return hs_line__begins(&rest, "0x") ? read_name(builder, *line) : hs_line__fact(line, builder);
}

static int read_context(const struct read_heap_profile_reading *reading, struct hs_line *line)
{
    struct hs_dump_scan *scan = reading->scan;
    struct hs_dump_counts counts;
    const char *start = line->at;
    bool good = hs_line__counts(line, scan->builder, &counts);
    hs_line__skip_blanks(line);
    if (!good || !hs_line__take(line, "@"))
        return hs_dump_scan__wrong(scan, start, "a stack should read 'COUNT: BYTES [COUNT: BYTES] @ 0x... 0x...'");
    int result = hs_line__stack(line, scan->builder, reading->of_go);
    if (result == -EINVAL)
        return hs_dump_scan__wrong(scan, start, "'@' should be followed by addresses such as 0x55d0c0ffee");
    if (!result)
        result = hs_dump_builder__end_context(scan->builder, &counts);
    return result ? hs_dump_scan__out_of_memory(scan) : 0;
}

int hs_dump_read__heap_profile(struct hs_dump_scan *scan)
{
    scan->builder->dump->format = HS_DUMP_HEAP_PROFILE;
    scan->builder->dump->has_blocks = true;
    struct read_heap_profile_reading reading = {.scan = scan};
    struct hs_line line;
    int result = read_head(&reading);
    while (!result && hs_dump_scan__line(scan, &line)) {
        if (hs_line__begins(&line, "MAPPED_LIBRARIES:") || hs_line__begins(&line, "--- Memory map:"))
            return hs_dump_scan__mappings(scan);
        if (hs_line__begins(&line, "#"))
            result = read_comment(scan->builder, &line) ? hs_dump_scan__out_of_memory(scan) : 0;
        else if (line.at < line.end)
            result = read_context(&reading, &line);
    }
    bool named = scan->builder->dump->line_count;
    if (!result && !named &&
        hs_dump_builder__warn(scan->builder, "the file has no MAPPED_LIBRARIES: addresses cannot be named"))
        result = hs_dump_scan__out_of_memory(scan);
    if (!result && hs_dump_scan__cut_line(scan))
        result = hs_dump_scan__out_of_memory(scan);
    return result;
}
