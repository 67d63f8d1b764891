// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Records how much of each chunk an import has read up to a time, so that a later import of the same trace, which has
// grown, can continue. A chunk is identified by its sequence number: a live slot keeps its number when it becomes a
// chunk.
#ifndef HEAPSONDE_IMPORT_CONSUMED_H
#define HEAPSONDE_IMPORT_CONSUMED_H

#include "host/base/array.h"
#include "host/import/import.h"

#define HS_ALL_STEPS UINT64_MAX // the whole chunk, which does not change any more

struct hs_consumed {
    uint64_t offset, sequence, first_time, last_time;
    uint32_t stored_length, plain_length, stream, count;
    uint64_t steps; // number of steps that were read, from the first
};

struct hs_consumed hs_consumed__of(const struct hs_trace_chunk *chunk, uint64_t steps);

// Sorts by sequence number. False if a number occurs twice, so that the chunks cannot be identified.
bool hs_consumed__sort(struct hs_consumed *consumed, size_t count);

// Removes chunks that were read completely from `order`, and sets for the others how many steps to skip. -ESTALE: this
// is another trace, or it was not complete up to `time`.
int hs_consumed__leave_out(const struct hs_consumed *consumed, size_t count, uint64_t time,
                           const struct hs_trace_chunk **order, size_t *chunks, uint64_t *steps);

#endif
