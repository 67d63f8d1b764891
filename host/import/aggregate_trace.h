// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Traces with sums per stack in place of events (docs/format.md, section 5.1): the sums of each stack, what was live at
// each tick, and the state at the highest tick.
#ifndef HEAPSONDE_IMPORT_AGGREGATE_TRACE_H
#define HEAPSONDE_IMPORT_AGGREGATE_TRACE_H

#include "host/import/builder.h"
#include "host/import/import.h"
#include "host/import/tables.h"

// Whether the trace is of this kind.
bool hs_aggregate_trace__is_one(const struct hs_trace *trace, const struct hs_import_tables *tables);

// Adds up the sums: into the builder's summary and timeline, and per stack into tables->culled. Events that are still
// in slots are counted as untold_events. Only ticks before `until` count (0: all). `counts` receives numbers of events
// and damage.
int hs_aggregate_trace__import(const struct hs_trace *trace, struct hs_builder *builder,
                               struct hs_import_tables *tables, uint64_t until, struct hs_replay_counts *counts);

#endif
