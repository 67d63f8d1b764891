// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A trace file taken apart with the format's own decoders: sealed chunks, and slots that were not sealed.
#ifndef HEAPSONDE_TESTS_RUNTIME_TRACE_READER_H
#define HEAPSONDE_TESTS_RUNTIME_TRACE_READER_H

#include "format/event.h"
#include "format/trace_format.h"

#include <stdbool.h>
#include <stddef.h>

struct trace_node {
    uint32_t parent;
    uint64_t pc;
};

struct trace {
    struct hs_file_header header;
    struct hs_event *events; // of all streams, in the order of the file
    uint32_t *streams;       // of each event
    size_t count;
    size_t sealed; // how many of them are in sealed chunks
    struct trace_node *nodes;
    uint32_t node_count;
    uint64_t culled; // blocks
    unsigned marks, threads, toggles, clock_points, infos;
    unsigned damaged; // chunks or slots that make no sense
    uint64_t file_size;
};

// False when there is no such file or it has no header.
bool trace_read(const char *path, struct trace *trace);
void trace_free(struct trace *trace);

#endif
