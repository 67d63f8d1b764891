// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Decodes chunks on a thread of its own, in a given order and a few chunks ahead of who takes them.
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
    struct hs_decoded *spare; // the next in the list of those that are not in use
};

struct hs_decode_ahead;

// `order` must outlive it. NULL without memory. Without a second thread chunks are decoded when they are taken.
struct hs_decode_ahead *hs_decode_ahead__start(const struct hs_trace *trace, const struct hs_trace_chunk *const *order,
                                               size_t chunks);
// The next chunk of the order; NULL without memory. To be given back.
struct hs_decoded *hs_decode_ahead__take(struct hs_decode_ahead *ahead);
void hs_decode_ahead__give_back(struct hs_decode_ahead *ahead, struct hs_decoded *decoded);
void hs_decode_ahead__stop(struct hs_decode_ahead *ahead);

#endif
