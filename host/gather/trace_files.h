// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Files of traces in the folder.
#ifndef HEAPSONDE_HOST_GATHER_TRACE_FILES_H
#define HEAPSONDE_HOST_GATHER_TRACE_FILES_H

#include "host/gather/trace_registry.h"
#include "host/store/error.h"

#include <sys/uio.h>

int hs_trace_files__open_directory(struct hs_traces *traces, struct hs_error *error);
void hs_trace_files__index(struct hs_traces *traces);
enum hs_refusal hs_trace_files__create(struct hs_traces *traces, struct hs_gathered *trace);
bool hs_trace_files__reopen(struct hs_traces *traces, struct hs_gathered *trace);
// Gives a file its name, unless there is one of that name (EEXIST).
bool hs_trace_files__rename(int directory, const char *from, const char *to);
// Returns the bytes written; fewer than there are when the disk is full.
uint64_t hs_trace_files__append(struct hs_gathered *trace, const struct iovec *pieces, int count);

#endif
