// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Shared by the files of the trace reader.
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

// Reads exactly `length` bytes at `offset`. -EBADMSG: the file is shorter.
int hs_trace__read(const struct hs_trace *trace, uint64_t offset, void *to, size_t length);

// Fills trace->chunk from the footer, or by scanning (trace_index.c), and adds the live slots.
int hs_trace__index(struct hs_trace *trace, struct hs_error *error);

int hs_trace__add_chunk(struct hs_trace *trace, const struct hs_trace_chunk *chunk);
void hs_trace__count_damage(struct hs_trace *trace, enum hs_damage reason, uint64_t bytes);

// Reads the stored bytes of a chunk into the caller's memory (stored_length bytes), and verifies the checksum.
int hs_trace__stored(const struct hs_trace *trace, const struct hs_trace_chunk *chunk, uint8_t *to);

// Like hs_trace__decode, into `events`, which has room for HS_CODEC_MAX_EVENTS. *wide receives those that are not
// brief.
int hs_trace__decode_brief(const struct hs_trace *trace, const struct hs_trace_chunk *chunk,
                           struct hs_trace_decoder *decoder, struct hs_brief_event *events, size_t *count,
                           const struct hs_event **wide, size_t *wides);

#endif
