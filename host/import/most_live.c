// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/most_live.h"

#include "format/event.h"
#include "format/meta.h"
#include "host/import/step.h"

#include <errno.h>
#include <stdlib.h>

struct most_live_counting {
    uint64_t live, most;
    const int *cancel;
};

static bool is_cancelled(const int *cancel)
{
    return cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED);
}

static bool begins_one(const struct hs_step *step)
{
    return step->address && step->phase == HS_PHASE_END &&
           ((step->kind >= HS_EVENT_MALLOC && step->kind <= HS_EVENT_REALLOC) || step->kind == HS_EVENT_POOL_ALLOC);
}

static bool ends_one(const struct hs_step *step)
{
    return step->address &&
           (step->kind == HS_EVENT_FREE || step->kind == HS_EVENT_POOL_FREE || step->phase == HS_PHASE_BEGIN);
}

static int count_steps(void *context, struct hs_step *steps, size_t count)
{
    struct most_live_counting *counting = context;
    for (size_t i = 0; i < count; i++) {
        if (begins_one(&steps[i]))
            counting->live++;
        else if (ends_one(&steps[i]) && counting->live)
            counting->live--;
        counting->most = counting->live > counting->most ? counting->live : counting->most;
    }
    return is_cancelled(counting->cancel) ? -ECANCELED : 0;
}

uint64_t hs_trace__most_live(const struct hs_trace *trace, const int *cancel)
{
    struct most_live_counting counting = {.cancel = cancel};
    struct hs_replay_counts counts;
    return hs_trace__replay_steps(trace, count_steps, &counting, &counts) ? 0 : counting.most;
}

static uint32_t last_node(const void *records, size_t length)
{
    struct hs_meta_reader reader;
    struct hs_meta_record record;
    uint32_t last = 0;
    hs_meta_open(&reader, records, length);
    while (hs_meta_next(&reader, &record) > 0)
        if (record.tag == HS_META_NODE && record.id > last)
            last = record.id;
    return last;
}

uint64_t hs_trace__most_nodes(const struct hs_trace *trace, const int *cancel)
{
    size_t count, length;
    const struct hs_trace_chunk *chunks = hs_trace__chunks(trace, &count);
    uint32_t most = 0;
    for (size_t i = 0; i < count; i++) {
        uint8_t *payload;
        if (chunks[i].kind != HS_CHUNK_META || hs_trace__payload(trace, &chunks[i], &payload, &length))
            continue;
        const size_t skip = hs_trace_chunk__records(&chunks[i]);
        const uint32_t last = length > skip ? last_node(payload + skip, length - skip) : 0;
        most = last > most ? last : most;
        free(payload);
        if (is_cancelled(cancel))
            return 0;
    }
    return most;
}
