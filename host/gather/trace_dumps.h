// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Dumps that come in a stream become files of a folder.
#ifndef HEAPSONDE_HOST_GATHER_TRACE_DUMPS_H
#define HEAPSONDE_HOST_GATHER_TRACE_DUMPS_H

#include "host/gather/trace_registry.h"

// The folder of a stream's dumps.
void hs_trace_dumps__folder(const struct hs_gathered *trace, char name[HS_TRACES_FILE_NAME]);
// `context` is the struct hs_details of the stream.
void hs_trace_dumps__take(void *context, const struct hs_watched_dump *dump);
// Of the thread that brings files to the disk: what it took under the mutex is brought there. Puts back what could not
// be.
void hs_trace_dumps__flush(struct hs_traces *traces, struct hs_gathered *trace);
void hs_trace_dumps__remove(const struct hs_traces *traces, const struct hs_gathered *trace);

#endif
