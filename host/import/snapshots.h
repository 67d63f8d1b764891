// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Stacks that the target did not unwind (HEAPSONDE_STACKS=deferred). The import unwinds them with the files that it
// finds. They become nodes after those of the trace.
#ifndef HEAPSONDE_IMPORT_SNAPSHOTS_H
#define HEAPSONDE_IMPORT_SNAPSHOTS_H

#include "format/meta.h"
#include "host/import/tables.h"

struct hs_snapshot_record {
    uint64_t time; // recorded time until hs_snapshots__convert
    size_t at;     // in tables.snapshot_bytes
    uint32_t length, number;
};

int hs_snapshots__add(struct hs_import_tables *tables, const struct hs_meta_record *record);
void hs_snapshots__convert(struct hs_import_tables *tables, struct hs_clock_map *clock);

// Makes nodes of the stacks of samples. `symbols` may be NULL. Sets head->unwound_with and fields of the summary.
int hs_snapshots__unwind(const struct hs_trace *trace, const struct hs_symbols_options *symbols,
                         struct hs_import_tables *tables, struct hs_array *samples, struct hs_store_head *head);

// The current value of hs_store_head.unwound_with for the store in `directory`; 0: it cannot be read.
uint64_t hs_snapshots__found_files(const char *directory, const struct hs_symbols_options *symbols);

#endif
