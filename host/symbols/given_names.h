// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Names that a trace brings with it because it was made from another tool's file: embedded files whose names begin with
// HS_GIVEN_NAMES and whose lines are "node TAB line TAB function TAB source TAB module", innermost frame first.
#ifndef HEAPSONDE_HOST_SYMBOLS_GIVEN_NAMES_H
#define HEAPSONDE_HOST_SYMBOLS_GIVEN_NAMES_H

#include "host/store/store.h"
#include "host/symbols/symbols.h"

#define HS_GIVEN_NAMES "heapsonde:names/"

// Reads the names that a store has, and hands over what the session has made of those of each node. What makes no sense
// is left out. Returns 0 or -ENOMEM, which also ends it when `take` returns it.
typedef int (*hs_given_names_taker)(void *context, uint32_t node, const struct hs_frames *frames);
int hs_given_names__read(const struct hs_store *store, struct hs_symbols *session, hs_given_names_taker take,
                         void *context);

#endif
