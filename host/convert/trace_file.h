// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Writes a trace as the recorder does, for what does not come from a recorder: other tools' files, traces that are made
// smaller. Events go into a buffer for each stream and become chunks; errors stick until the end.
#ifndef HEAPSONDE_HOST_CONVERT_TRACE_FILE_H
#define HEAPSONDE_HOST_CONVERT_TRACE_FILE_H

#include "format/event.h"
#include "format/event_codec.h"
#include "format/meta.h"
#include "format/trace_format.h"
#include "host/base/buffer.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define HS_BUFFERS_MAX 256

struct hs_stream_buffer;

struct hs_trace_file {
    FILE *out;
    int failed; // the first error
    struct hs_file_header header;
    // private
    struct hs_codec_target target;
    uint64_t sequence, offset, last_time;
    uint64_t bytes;                  // allocated in all
    struct hs_stream_buffer *stream; // by number
    uint32_t streams;
    uint32_t holder[HS_BUFFERS_MAX], next_holder; // streams with a buffer: number + 1
    struct hs_meta_writer meta;
    uint8_t *meta_bytes, *scratch, *output;
    struct hs_buffer footer;
    struct hs_buffer names; // of nodes, see host/symbols/given_names.h
    uint32_t name_files, named_node;
};

// `out` is seekable and stays the caller's. The header says what the trace is of and what was dropped;
// sizes and versions are filled in.
int hs_trace_file__start(struct hs_trace_file *file, FILE *out, const struct hs_file_header *header);
// Returns 0 or the first error.
int hs_trace_file__finish(struct hs_trace_file *file, uint64_t end_time);
void hs_trace_file__free(struct hs_trace_file *file);
// The first error. -ERANGE: a number of bytes that is impossible and would overflow sums.
const char *hs_trace_file__problem(int failed);

// Events of one stream come in the order of time. Stream numbers are small.
void hs_trace_file__event(struct hs_trace_file *file, uint32_t stream, const struct hs_event *event);

// Parents before their children, and ids from 1 on. A node is best written before events name it.
void hs_trace_file__node(struct hs_trace_file *file, uint32_t id, uint32_t parent, uint64_t pc);
void hs_trace_file__module(struct hs_trace_file *file, uint64_t time, uint64_t start, uint64_t end, uint64_t bias,
                           const char *path);
void hs_trace_file__thread(struct hs_trace_file *file, uint32_t stream, uint32_t tid, uint64_t time, const char *name);
void hs_trace_file__info(struct hs_trace_file *file, const char *key, const char *value);
// Says in the trace, as a report then does, where what it is made of ended too early.
__attribute__((format(printf, 2, 3))) void hs_trace_file__incomplete(struct hs_trace_file *file, const char *format,
                                                                     ...);
void hs_trace_file__culled(struct hs_trace_file *file, uint32_t stack, uint64_t count, uint64_t size, uint64_t usable,
                           uint64_t lifetime);
void hs_trace_file__mark(struct hs_trace_file *file, uint64_t time, uint64_t value);
// Chunks of the kinds META and FILE of another trace, as they are there.
void hs_trace_file__chunk(struct hs_trace_file *file, uint16_t kind, const void *payload, size_t length);

// An embedded file.
void hs_trace_file__embed(struct hs_trace_file *file, const char *name, const void *contents, size_t length);

// A frame of a node whose name is known: frames of one node one after the other, innermost first.
void hs_trace_file__name(struct hs_trace_file *file, uint32_t node, const char *function, const char *source,
                         uint32_t line, const char *module);

#endif
