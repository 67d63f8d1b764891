// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What an import took of each chunk up to a time, so that a later one of the same trace, which has grown since, goes on
// from there. Chunks are known by their sequence numbers: a live slot keeps its own when it becomes a chunk.
#ifndef HEAPSONDE_IMPORT_CONSUMED_H
#define HEAPSONDE_IMPORT_CONSUMED_H

#include "host/import/array.h"
#include "host/import/import.h"

#define HS_ALL_STEPS UINT64_MAX // and it stays as it is

struct hs_consumed {
    uint64_t offset, sequence, first_time, last_time;
    uint32_t stored_length, plain_length, stream, count;
    uint64_t steps; // that were taken: the first ones
};

struct hs_consumed hs_consumed__of(const struct hs_trace_chunk *chunk, uint64_t steps);

// Sorts by sequence number. False where two have the same: they cannot be told apart.
bool hs_consumed__sort(struct hs_consumed *consumed, size_t count);

// Removes what was taken as a whole from `order`, and says of the rest how many steps are to be left out of each.
// -ESTALE: the trace is another one, or was not known as a whole up to `time`.
int hs_consumed__leave_out(const struct hs_consumed *consumed, size_t count, uint64_t time,
                           const struct hs_trace_chunk **order, size_t *chunks, uint64_t *steps);

#endif
