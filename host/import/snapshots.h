// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Stacks that the target did not unwind (HEAPSONDE_STACKS=deferred). The import unwinds them with the files that it
// finds. They become nodes after those of the trace.
#ifndef HEAPSONDE_IMPORT_SNAPSHOTS_H
#define HEAPSONDE_IMPORT_SNAPSHOTS_H

#include "host/import/tables.h"

// Makes nodes of the stacks of samples. `symbols` may be NULL. Sets head->unwound_with and fields of the summary.
int hs_snapshots__unwind(const struct hs_trace *trace, const struct hs_symbols_options *symbols,
                         struct hs_import_tables *tables, struct hs_array *samples, struct hs_store_head *head);

// The current value of hs_store_head.unwound_with for the store in `directory`; 0: it cannot be read.
uint64_t hs_snapshots__found_files(const char *directory, const struct hs_symbols_options *symbols);

#endif
