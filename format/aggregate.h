// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The payload of a SUMS chunk (trace_format.h, docs/format.md, section 5.1): the changes per stack since the previous
// chunk, for traces with sums in place of events. Writer and bounded reader.
#ifndef HEAPSONDE_FORMAT_AGGREGATE_H
#define HEAPSONDE_FORMAT_AGGREGATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Usable bytes are stored as slack: usable - requested.
enum hs_sum {
    HS_SUM_ALLOCATED_COUNT = 0,
    HS_SUM_ALLOCATED_BYTES = 1,
    HS_SUM_ALLOCATED_SLACK = 2,
    HS_SUM_FREED_COUNT = 3,
    HS_SUM_FREED_BYTES = 4,
    HS_SUM_FREED_SLACK = 5,
    HS_SUM_TEMPORARY_COUNT = 6,
    HS_SUM_TEMPORARY_BYTES = 7,
    HS_SUM_COUNT = 8
};

enum { HS_AGGREGATE_HEAP = 0, HS_AGGREGATE_POOLS = 1 };

struct hs_aggregate_head {
    uint8_t domain;         // HS_AGGREGATE_*
    uint64_t unknown_frees; // since the start of the trace, as are the next
    uint64_t reallocations;
    uint64_t folded; // stacks whose sums are part of stack 0
};

struct hs_aggregate_record {
    uint32_t stack;                // 0: all stacks that are folded together
    uint64_t change[HS_SUM_COUNT]; // modulo 2^64: may go down
};

#define HS_AGGREGATE_RECORD_MAX (10 + 1 + 10 * HS_SUM_COUNT)

struct hs_aggregate_writer {
    uint8_t *at, *end;
    uint32_t last_stack;
};

// `length` is at least 64.
void hs_aggregate_begin(struct hs_aggregate_writer *writer, void *memory, size_t length,
                        const struct hs_aggregate_head *head);
// False: it does not fit. A record without any change is not written.
bool hs_aggregate_put(struct hs_aggregate_writer *writer, const struct hs_aggregate_record *record);

struct hs_aggregate_reader {
    const uint8_t *at, *end;
    uint32_t last_stack;
};

// False: not a payload of a known version.
bool hs_aggregate_open(struct hs_aggregate_reader *reader, const void *data, size_t length,
                       struct hs_aggregate_head *head);
// 1 with the next record, 0 at the end, -1 at an invalid record.
int hs_aggregate_next(struct hs_aggregate_reader *reader, struct hs_aggregate_record *record);

#endif
