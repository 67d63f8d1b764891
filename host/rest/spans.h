// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Sets of addresses as spans that neither touch nor overlap. What is added is collected and put in order now and then,
// unless it is known to be in the set already: of a heap nearly everything is, after a while.
#ifndef HEAPSONDE_HOST_REST_SPANS_H
#define HEAPSONDE_HOST_REST_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_span {
    uint64_t start, end; // the end is not in it
};

struct hs_spans {
    struct hs_span *at; // in order; once they are settled
    size_t count;
    // Private.
    struct hs_span *added;
    size_t added_count, room;
    struct hs_span last; // one of `at` that had what was added before
};

int hs_spans__add(struct hs_spans *spans, uint64_t start, uint64_t end); // 0 or -ENOMEM
int hs_spans__settle(struct hs_spans *spans);                            // puts all in order; 0 or -ENOMEM
void hs_spans__free(struct hs_spans *spans);

#endif
