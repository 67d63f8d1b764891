// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/trace_clock.h"

#include "format/meta.h"
#include "host/base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RATE "ticks-per-second"

struct trace_clock {
    struct hs_array points; // struct hs_clock_point
    char rate[64];
    uint64_t rate_sequence; // of the chunk with the rate: the first one counts
};

static void note_rate(struct trace_clock *clock, uint64_t sequence, struct hs_bytes value)
{
    if (clock->rate_sequence <= sequence || value.length >= sizeof clock->rate)
        return;
    memcpy(clock->rate, value.data, value.length);
    clock->rate[value.length] = 0;
    clock->rate_sequence = sequence;
}

static int read_records(struct trace_clock *clock, uint64_t sequence, struct hs_meta_reader *reader)
{
    struct hs_meta_record record;
    int failed = 0;
    while (!failed && hs_meta_next(reader, &record) > 0) {
        if (record.tag == HS_META_CLOCK)
            failed = hs_clock_map__add_point(&clock->points, &record);
        else if (record.tag == HS_META_INFO && record.key.length == strlen(RATE) &&
                 !memcmp(record.key.data, RATE, record.key.length))
            note_rate(clock, sequence, record.text);
    }
    return failed;
}

static int read_chunk(struct trace_clock *clock, const struct hs_trace *trace, const struct hs_trace_chunk *chunk)
{
    uint8_t *payload;
    size_t length, skip = hs_trace_chunk__records(chunk);
    int failed = hs_trace__payload(trace, chunk, &payload, &length);
    if (failed)
        return failed == -ENOMEM ? failed : 0;
    struct hs_meta_reader reader;
    hs_meta_open(&reader, payload + skip, length > skip ? length - skip : 0);
    failed = read_records(clock, chunk->sequence, &reader);
    free(payload);
    return failed;
}

int hs_trace_clock__create(struct hs_clock_map *map, const struct hs_trace *trace)
{
    struct trace_clock clock = {.rate_sequence = UINT64_MAX};
    size_t count;
    const struct hs_trace_chunk *chunks = hs_trace__chunks(trace, &count);
    int failed = 0;
    for (size_t i = 0; i < count && !failed; i++)
        if (chunks[i].kind == HS_CHUNK_META)
            failed = read_chunk(&clock, trace, &chunks[i]);
    if (!failed)
        failed = hs_clock_map__create(map, &hs_trace__info(trace)->header, clock.rate, clock.points.data,
                                      clock.points.count);
    free(clock.points.data);
    return failed;
}
