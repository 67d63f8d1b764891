// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The thread that flushes files to the disk.
#ifndef HEAPSONDE_HOST_GATHER_TRACE_WRITER_H
#define HEAPSONDE_HOST_GATHER_TRACE_WRITER_H

#include "host/base/error.h"
#include "host/gather/trace_registry.h"

int hs_trace_writer__start(struct hs_traces *traces, struct hs_error *error);
void hs_trace_writer__stop(struct hs_traces *traces);
void hs_trace_writer__add(struct hs_traces *traces, struct hs_gathered *trace); // its file was opened

#endif
