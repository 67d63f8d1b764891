// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The older format, of gperftools, which google-pprof and pprof read too:
//   heap profile: COUNT: BYTES [COUNT: BYTES] @ heap_v2/PERIOD
//   COUNT: BYTES [COUNT: BYTES] @ 0x... 0x...
//   MAPPED_LIBRARIES: and the process's maps
#include "host/dump/text.h"

// What "heap" and "growth" profiles are sampled with when they do not say.
#define USUAL_PERIOD (128u << 10)

// "heap_v2/524288", "heap/524288", "heapprofile", "growthz/1", ...
static int read_kind(struct hs_scan *scan, struct hs_line *line)
{
    struct hs_dump *dump = scan->builder->dump;
    hs_line__skip_blanks(line);
    if (!hs_line__take(line, "@"))
        return 0;
    hs_line__skip_blanks(line);
    const char *slash = memchr(line->at, '/', (size_t)(line->end - line->at));
    struct hs_line kind = {line->at, slash ? slash : line->end};
    struct hs_line number = {slash ? slash + 1 : line->end, line->end};
    if (slash && (!hs_line__number(&number, &dump->period) || number.at < number.end))
        return hs_scan__wrong(scan, line->at, "behind '@' there should be a kind and a period, such as heap_v2/524288");
    bool exact = hs_line__begins(&kind, "heapprofile") || !memmem(kind.at, (size_t)(kind.end - kind.at), "heap", 4);
    bool newer = memmem(kind.at, (size_t)(kind.end - kind.at), "_v2", 3) != NULL;
    dump->sampling = exact ? HS_SAMPLING_NONE : newer ? HS_SAMPLING_POISSON : HS_SAMPLING_OLDEST;
    if (!dump->period && !exact)
        dump->period = USUAL_PERIOD;
    else if (dump->sampling == HS_SAMPLING_OLDEST)
        dump->period = dump->period > 1 ? dump->period / 2 : 1;
    return 0;
}

static int read_head(struct hs_scan *scan)
{
    struct hs_dump *dump = scan->builder->dump;
    struct hs_line line;
    if (!hs_scan__line(scan, &line))
        return hs_scan__wrong(scan, scan->at, "the file ends in its first line");
    if (!hs_line__take(&line, "heap profile:") || !hs_line__counts(&line, &dump->total))
        return hs_scan__wrong(scan, line.at, "the first line should read 'heap profile: COUNT: BYTES [COUNT: BYTES]'");
    dump->has_total = true;
    dump->has_all = dump->total.all_blocks || dump->total.all_bytes;
    return read_kind(scan, &line);
}

static int read_context(struct hs_scan *scan, struct hs_line *line)
{
    struct hs_dump_counts counts;
    const char *start = line->at;
    bool good = hs_line__counts(line, &counts);
    hs_line__skip_blanks(line);
    if (!good || !hs_line__take(line, "@"))
        return hs_scan__wrong(scan, start, "a stack should read 'COUNT: BYTES [COUNT: BYTES] @ 0x... 0x...'");
    int result = hs_line__stack(line, scan->builder);
    if (result == -EINVAL)
        return hs_scan__wrong(scan, start, "'@' should be followed by addresses such as 0x55d0c0ffee");
    if (!result)
        result = hs_dump_builder__end_context(scan->builder, &counts);
    return result ? hs_scan__out_of_memory(scan) : 0;
}

int hs_dump_read__heap_profile(struct hs_scan *scan)
{
    scan->builder->dump->format = HS_DUMP_HEAP_PROFILE;
    scan->builder->dump->has_blocks = true;
    struct hs_line line;
    int result = read_head(scan);
    while (!result && hs_scan__line(scan, &line)) {
        if (hs_line__begins(&line, "MAPPED_LIBRARIES:") || hs_line__begins(&line, "--- Memory map:"))
            return hs_scan__mappings(scan);
        if (hs_line__begins(&line, "#"))
            result = hs_line__fact(&line, scan->builder) ? hs_scan__out_of_memory(scan) : 0;
        else if (line.at < line.end)
            result = read_context(scan, &line);
    }
    if (!result && hs_dump_builder__warn(scan->builder, "the file has no MAPPED_LIBRARIES: addresses cannot be named"))
        result = hs_scan__out_of_memory(scan);
    if (!result && hs_scan__cut_line(scan))
        result = hs_scan__out_of_memory(scan);
    return result;
}
