// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How many blocks of a trace are live at once, and how many nodes it has, without memory for each: for the message of
// an import that was refused because they are too many.
#ifndef HEAPSONDE_IMPORT_MOST_LIVE_H
#define HEAPSONDE_IMPORT_MOST_LIVE_H

#include "host/import/import.h"

#include <stdint.h>

// Takes each block that is freed for one that was recorded. 0: not known, as when the trace cannot be read again or
// *cancel becomes nonzero, which may be NULL.
uint64_t hs_trace__most_live(const struct hs_trace *trace, const int *cancel);

// The highest number of a node. 0: not known, as above.
uint64_t hs_trace__most_nodes(const struct hs_trace *trace, const int *cancel);

#endif
