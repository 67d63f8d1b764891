// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A file in the folder with the facts that the names of the other files do not contain.
#ifndef HEAPSONDE_HOST_GATHER_TRACE_JOURNAL_H
#define HEAPSONDE_HOST_GATHER_TRACE_JOURNAL_H

#include "host/base/error.h"
#include "host/gather/trace_registry.h"

// The text behind the id may be changed: the name of the device behind BEGAN.
enum hs_trace_journal_kind { HS_TRACE_BEGAN, HS_TRACE_ENDED, HS_TRACE_DUMPED };
typedef void (*hs_trace_journal_visitor)(void *context, enum hs_trace_journal_kind kind,
                                         const uint8_t id[HS_TRACE_ID_SIZE], char *text);

// The lines of the one in this folder; none if it cannot be read.
void hs_trace_journal__read(int directory, hs_trace_journal_visitor visit, void *context);

// Reads it, removes entries of missing files, and opens it for appending.
int hs_trace_journal__open(struct hs_traces *traces, struct hs_error *error);
void hs_trace_journal__began(struct hs_traces *traces, const struct hs_gathered *trace);
void hs_trace_journal__ended(struct hs_traces *traces, const struct hs_gathered *trace);
void hs_trace_journal__dumped(struct hs_traces *traces, const struct hs_gathered *trace, uint64_t dumps,
                              uint64_t walked);

#endif
