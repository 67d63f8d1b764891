// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the names of files do not say, in a file of the folder.
#ifndef HEAPSONDE_HOST_GATHER_TRACE_JOURNAL_H
#define HEAPSONDE_HOST_GATHER_TRACE_JOURNAL_H

#include "host/gather/trace_registry.h"
#include "host/store/error.h"

// Reads it, drops what is gone, and opens it for more.
int hs_trace_journal__open(struct hs_traces *traces, struct hs_error *error);
void hs_trace_journal__began(struct hs_traces *traces, const struct hs_gathered *trace);
void hs_trace_journal__ended(struct hs_traces *traces, const struct hs_gathered *trace);
void hs_trace_journal__dumped(struct hs_traces *traces, const struct hs_gathered *trace, uint64_t dumps,
                              uint64_t walked);

#endif
