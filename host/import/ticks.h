// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What was live at a tick of a trace with sums per stack. A store has only the sums of the end and of the highest tick;
// the trace has the changes of each tick.
#ifndef HEAPSONDE_IMPORT_TICKS_H
#define HEAPSONDE_IMPORT_TICKS_H

#include "host/import/import.h"
#include "host/query/query.h"

// Whether the filter asks for one instant of a trace with ticks or of heap dumps, and otherwise for stacks only.
bool hs_ticks__are_asked(const struct hs_store *store, const struct hs_filter *filter);

// What was live at the last tick up to this instant, by stack. As for blocks, this is what matches: the allocated
// numbers of a total, and the live ones as well. `path` is the trace, not heap dumps (host/dump/series.h). 0, or a
// negative errno with the error set.
int hs_ticks__totals(const char *path, const struct hs_store *store, const struct hs_filter *filter,
                     const struct hs_query_control *control, struct hs_totals *totals, struct hs_error *error);

#endif
