// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Writes the dumps in a stream to files in a folder.
#ifndef HEAPSONDE_HOST_GATHER_TRACE_DUMPS_H
#define HEAPSONDE_HOST_GATHER_TRACE_DUMPS_H

#include "host/gather/trace_registry.h"

// The folder for the dumps of a stream.
void hs_trace_dumps__folder(const struct hs_gathered *trace, char name[HS_TRACES_FILE_NAME]);
// `context` is the struct hs_details of the stream.
void hs_trace_dumps__take(void *context, const struct hs_watched_dump *dump);
// For the writer thread: flushes to the disk what it took under the mutex. Puts back what could not be flushed.
void hs_trace_dumps__flush(struct hs_traces *traces, struct hs_gathered *trace);
void hs_trace_dumps__remove(const struct hs_traces *traces, const struct hs_gathered *trace);

#endif
