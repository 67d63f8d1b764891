// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The trace files in the folder.
#ifndef HEAPSONDE_HOST_GATHER_TRACE_FILES_H
#define HEAPSONDE_HOST_GATHER_TRACE_FILES_H

#include "host/base/error.h"
#include "host/gather/trace_registry.h"

#include <sys/uio.h>

int hs_trace_files__open_directory(struct hs_traces *traces, struct hs_error *error);
void hs_trace_files__index(struct hs_traces *traces);
enum hs_refusal hs_trace_files__create(struct hs_traces *traces, struct hs_gathered *trace);
bool hs_trace_files__reopen(struct hs_traces *traces, struct hs_gathered *trace);
// Renames a file to its final name, unless that exists (EEXIST).
bool hs_trace_files__rename(int directory, const char *from, const char *to);
// Returns the number of bytes written; fewer than requested if the disk is full.
uint64_t hs_trace_files__append(struct hs_gathered *trace, const struct iovec *pieces, int count);

#endif
