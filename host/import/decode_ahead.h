// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Decodes chunks in a thread of its own, in a given order and a few chunks ahead of the reader.
#ifndef HEAPSONDE_IMPORT_DECODE_AHEAD_H
#define HEAPSONDE_IMPORT_DECODE_AHEAD_H

#include "host/import/step.h"
#include "host/import/trace.h"

struct hs_decoded {
    struct hs_brief_event *events;
    size_t count;
    struct hs_event *wide; // the events that are not brief
    size_t wides, wide_capacity;
    int failed;               // of hs_trace__decode, or -ENOMEM
    struct hs_decoded *spare; // next in the list of unused ones
};

struct hs_decode_ahead;

// `order` must outlive it. NULL: out of memory. If no thread can be started, chunks are decoded when they are read.
struct hs_decode_ahead *hs_decode_ahead__start(const struct hs_trace *trace, const struct hs_trace_chunk *const *order,
                                               size_t chunks);
// The next chunk of the order; NULL: out of memory. The caller gives it back.
struct hs_decoded *hs_decode_ahead__take(struct hs_decode_ahead *ahead);
void hs_decode_ahead__give_back(struct hs_decode_ahead *ahead, struct hs_decoded *decoded);
void hs_decode_ahead__stop(struct hs_decode_ahead *ahead);

#endif
