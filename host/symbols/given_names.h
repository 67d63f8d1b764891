// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Names that a trace brings with it because it was made from another tool's file: embedded files whose names begin with
// HS_GIVEN_NAMES and whose lines are "node TAB line TAB function TAB source TAB module", innermost frame first.
#ifndef HEAPSONDE_HOST_SYMBOLS_GIVEN_NAMES_H
#define HEAPSONDE_HOST_SYMBOLS_GIVEN_NAMES_H

#include "host/symbols/trace_symbols.h"

#define HS_GIVEN_NAMES "heapsonde:names/"

// Gives the nodes these names. What makes no sense is left out. Returns 0 or a negative errno.
int hs_given_names__apply(struct hs_trace_symbols *symbols);

#endif
