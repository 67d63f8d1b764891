// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the files of the trace reader share.
#ifndef HEAPSONDE_IMPORT_TRACE_H
#define HEAPSONDE_IMPORT_TRACE_H

#include "host/import/import.h"

#include "format/event_codec.h"

struct hs_trace {
    int fd;
    struct hs_trace_info info;
    struct hs_codec_target target;
    struct hs_trace_chunk *chunk;
    size_t chunks, capacity;
    char *path;
};

// Reads exactly `length` bytes at `offset`; -EBADMSG when the file is shorter.
int hs_trace__read(const struct hs_trace *trace, uint64_t offset, void *to, size_t length);

// Fills trace->chunk from the footer or by scanning (trace_index.c), then adds the live slots.
int hs_trace__index(struct hs_trace *trace, struct hs_error *error);

int hs_trace__add_chunk(struct hs_trace *trace, const struct hs_trace_chunk *chunk);
void hs_trace__count_damage(struct hs_trace *trace, enum hs_damage reason, uint64_t bytes);

// The stored bytes of a chunk in memory of the caller's (stored_length bytes), checksum verified.
int hs_trace__stored(const struct hs_trace *trace, const struct hs_trace_chunk *chunk, uint8_t *to);

// As hs_trace__decode, into `events`, which has room for HS_CODEC_MAX_EVENTS; *wide are those that are not brief.
int hs_trace__decode_brief(const struct hs_trace *trace, const struct hs_trace_chunk *chunk,
                           struct hs_trace_decoder *decoder, struct hs_brief_event *events, size_t *count,
                           const struct hs_event **wide, size_t *wides);

#endif
