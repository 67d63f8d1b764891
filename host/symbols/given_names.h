// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Names that a trace contains because it was converted from another tool's file. They are in embedded files whose names
// begin with HS_GIVEN_NAMES; each line is "node TAB line TAB function TAB source TAB module", innermost frame first.
#ifndef HEAPSONDE_HOST_SYMBOLS_GIVEN_NAMES_H
#define HEAPSONDE_HOST_SYMBOLS_GIVEN_NAMES_H

#include "host/store/store.h"
#include "host/symbols/symbols.h"

#define HS_GIVEN_NAMES "heapsonde:names/"

// Reads the names in a store, and passes the session's frames for each node to `take`. Invalid lines are skipped.
// Returns 0 or -ENOMEM; if `take` returns -ENOMEM, reading ends.
typedef int (*hs_given_names_taker)(void *context, uint32_t node, const struct hs_frames *frames);
int hs_given_names__read(const struct hs_store *store, struct hs_symbols *session, hs_given_names_taker take,
                         void *context);

#endif
