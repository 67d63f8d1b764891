// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The trace files in the folder of a gatherer. The folder is open in `traces->directory` and locked against other
// gatherers. What is called for a trace is called by one thread at a time for that trace.
#ifndef HEAPSONDE_HOST_GATHER_TRACE_FILES_H
#define HEAPSONDE_HOST_GATHER_TRACE_FILES_H

#include "host/base/error.h"
#include "host/gather/trace_registry.h"

#include <sys/uio.h>

// Makes the folder if there is none, opens it and locks it. 0, or a negative errno with the error set: -EBUSY if
// another gatherer has it.
int hs_trace_files__open_directory(struct hs_traces *traces, struct hs_error *error);
// Adds the traces that are in the folder already, and removes files that a killed gatherer had not yet named.
void hs_trace_files__index(struct hs_traces *traces);
// Creates the file of a new trace, writes the header and sets trace->file and trace->fd. HS_REFUSAL_FILE: it cannot be
// written.
enum hs_refusal hs_trace_files__create(struct hs_traces *traces, struct hs_gathered *trace);
// Opens the file again and sets trace->fd. False: it cannot be opened, or it is not as it was left.
bool hs_trace_files__reopen(struct hs_traces *traces, struct hs_gathered *trace);
// Renames a file to its final name, unless that exists. False: errno says why (EEXIST).
bool hs_trace_files__rename(int directory, const char *from, const char *to);
// Writes the pieces at the end. Returns the number of bytes written; fewer than requested if the disk is full.
uint64_t hs_trace_files__append(struct hs_gathered *trace, const struct iovec *pieces, int count);

#endif
