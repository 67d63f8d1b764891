// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A set of addresses, as spans that neither touch nor overlap. Added spans are collected, and sorted and merged from
// time to time. Spans that are known to be in the set are skipped; after a while these are nearly all of a heap.
#ifndef HEAPSONDE_HOST_REST_SPANS_H
#define HEAPSONDE_HOST_REST_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_span {
    uint64_t start, end; // [start, end)
};

struct hs_spans {
    struct hs_span *at; // sorted, after hs_spans__settle
    size_t count;
    // Private.
    struct hs_span *added;
    size_t added_count, room;
    struct hs_span last; // the span that contained the last added one
};

int hs_spans__add(struct hs_spans *spans, uint64_t start, uint64_t end); // 0 or -ENOMEM
int hs_spans__settle(struct hs_spans *spans);                            // sorts and merges all; 0 or -ENOMEM
void hs_spans__free(struct hs_spans *spans);

#endif
