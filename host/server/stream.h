// SPDX-License-Identifier: MIT OR Apache-2.0
//
// An answer that is written while it is sent. The writer runs in a thread of its own and is ahead of the reader by at
// most the length of the buffer.
#ifndef HEAPSONDE_HOST_SERVER_STREAM_H
#define HEAPSONDE_HOST_SERVER_STREAM_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum { HS_ANSWER_STREAM_MEMORY = 256 << 10 }; // the buffer of one

struct hs_answer_stream;

// The writer of a stream. `write` returns 0 when everything is written. Writing to `out` fails when nobody reads any
// more.
struct hs_stream_writer {
    int (*write)(void *context, FILE *out);
    void (*done)(void *context); // always called at the end; frees the context; may be NULL
    void *context;
};

// NULL: out of memory; the writer's context was freed.
struct hs_answer_stream *hs_answer_stream__create(const struct hs_stream_writer *writer);

// Starts the writer, as the first read does. False: there is no memory for its thread.
bool hs_answer_stream__start(struct hs_answer_stream *stream);

// Waits for the next bytes and returns their number; 0: the end; -1: the writer failed.
ssize_t hs_answer_stream__read(struct hs_answer_stream *stream, char *to, size_t most);

// Tells the writer that nobody reads now, so that it does not wait.
void hs_answer_stream__cancel(struct hs_answer_stream *stream);
// Cancels the stream, waits for the writer and frees everything.
void hs_answer_stream__destroy(struct hs_answer_stream *stream);

#endif
