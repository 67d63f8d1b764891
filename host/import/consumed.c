// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/consumed.h"

#include <errno.h>

struct hs_consumed hs_consumed__of(const struct hs_trace_chunk *chunk, uint64_t steps)
{
    return (struct hs_consumed){.offset = chunk->offset,
                                .sequence = chunk->sequence,
                                .first_time = chunk->first_time,
                                .last_time = chunk->last_time,
                                .stored_length = chunk->stored_length,
                                .plain_length = chunk->plain_length,
                                .stream = chunk->stream,
                                .count = chunk->count,
                                .steps = steps};
}

static int compare_sequences(const void *left, const void *right)
{
    const struct hs_consumed *a = left, *b = right;
    return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

bool hs_consumed__sort(struct hs_consumed *consumed, size_t count)
{
    if (count)
        qsort(consumed, count, sizeof *consumed, compare_sequences);
    for (size_t i = 1; i < count; i++)
        if (consumed[i].sequence == consumed[i - 1].sequence)
            return false;
    return true;
}

static bool is_same(const struct hs_consumed *a, const struct hs_consumed *b)
{
    return a->offset == b->offset && a->first_time == b->first_time && a->last_time == b->last_time &&
           a->stored_length == b->stored_length && a->plain_length == b->plain_length && a->stream == b->stream &&
           a->count == b->count;
}

int hs_consumed__leave_out(const struct hs_consumed *consumed, size_t count, uint64_t time,
                           const struct hs_trace_chunk **order, size_t *chunks, uint64_t *steps)
{
    size_t kept = 0, found = 0;
    for (size_t i = 0; i < *chunks; i++) {
        const struct hs_consumed now = hs_consumed__of(order[i], 0);
        const struct hs_consumed *before = count ? bsearch(&now, consumed, count, sizeof now, compare_sequences) : NULL;
        found += before != NULL;
        if (before && before->steps == HS_ALL_STEPS) {
            if (!is_same(&now, before))
                return -ESTALE;
            continue;
        }
        if (before ? now.stream != before->stream : now.first_time <= time)
            return -ESTALE;
        steps[kept] = before ? before->steps : 0;
        order[kept++] = order[i];
    }
    *chunks = kept;
    return found == count ? 0 : -ESTALE;
}
