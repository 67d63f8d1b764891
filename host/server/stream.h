// SPDX-License-Identifier: MIT OR Apache-2.0
//
// An answer that is written while it is read: the writer runs in a thread of its own, as far ahead of the reader as the
// buffer is long.
#ifndef HEAPSONDE_HOST_SERVER_STREAM_H
#define HEAPSONDE_HOST_SERVER_STREAM_H

#include <stdio.h>
#include <sys/types.h>

struct hs_answer_stream;

// What fills a stream. `write` returns 0 when everything is written; writing to `out` fails once nobody reads any more.
struct hs_stream_writer {
    int (*write)(void *context, FILE *out);
    void (*done)(void *context); // frees the context, in any case; may be NULL
    void *context;
};

// NULL: out of memory; then the writer's context has been freed.
struct hs_answer_stream *hs_answer_stream__create(const struct hs_stream_writer *writer);

// The next bytes, after waiting for them: their number, 0 at the end, -1 when the writer failed. The first call starts
// the writer.
ssize_t hs_answer_stream__read(struct hs_answer_stream *stream, char *to, size_t most);

// Nobody reads any more: what waits for the stream goes on.
void hs_answer_stream__cancel(struct hs_answer_stream *stream);
// Cancels it, waits for the writer and frees everything.
void hs_answer_stream__destroy(struct hs_answer_stream *stream);

#endif
