// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The key that identifies the trace of a store.
#ifndef HEAPSONDE_IMPORT_STORE_KEY_H
#define HEAPSONDE_IMPORT_STORE_KEY_H

#include "host/import/import.h"
#include "host/store/layout.h"

void hs_store_key__of(const struct hs_trace *trace, struct hs_store_key *key);

#endif
