// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The registers and copies of stacks of a trace (HEAPSONDE_STACKS=deferred), as they were recorded.
#ifndef HEAPSONDE_IMPORT_SNAPSHOT_RECORDS_H
#define HEAPSONDE_IMPORT_SNAPSHOT_RECORDS_H

#include "format/meta.h"
#include "host/base/array.h"
#include "host/import/clock_map.h"

struct hs_snapshot_record {
    uint64_t time; // recorded time until hs_snapshot_records__convert
    size_t at;     // in hs_snapshot_records.bytes
    uint32_t length, number;
};

struct hs_snapshot_records {
    struct hs_array record; // struct hs_snapshot_record
    struct hs_array bytes;
};

// Returns 0 or -ENOMEM.
int hs_snapshot_records__add(struct hs_snapshot_records *records, const struct hs_meta_record *record);
// Converts recorded times to ns.
void hs_snapshot_records__convert(struct hs_snapshot_records *records, struct hs_clock_map *clock);
void hs_snapshot_records__free(struct hs_snapshot_records *records);

#endif
