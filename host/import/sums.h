// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Traces that hold sums per stack in place of events (docs/format.md, section 5.1): the sums of each stack, what was
// live at each tick, and how it stood at the highest one.
#ifndef HEAPSONDE_IMPORT_SUMS_H
#define HEAPSONDE_IMPORT_SUMS_H

#include "host/import/builder.h"
#include "host/import/import.h"
#include "host/import/tables.h"

// Whether the trace is one.
bool sums__are_in(const struct hs_trace *trace, const struct tables *tables);

// Adds them up: into the builder's summary and timeline, and per stack into tables->culled. What the slots of the trace
// still hold is counted as untold. `counts` gets events and damage.
int sums__import(const struct hs_trace *trace, struct builder *builder, struct tables *tables,
                 struct hs_replay_counts *counts);

#endif
