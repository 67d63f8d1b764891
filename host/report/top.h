// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The first few of many, without sorting the many.
#ifndef HEAPSONDE_HOST_REPORT_TOP_H
#define HEAPSONDE_HOST_REPORT_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Whether number `a` comes before number `b`: a total order.
typedef bool (*hs_top_before)(const void *context, uint32_t a, uint32_t b);

struct hs_top {
    uint32_t *number; // hs_top__finish: in order
    size_t count;
    size_t most;
    hs_top_before before;
    const void *context;
};

// Room for `most` of `of` numbers. Returns 0 or -ENOMEM.
int hs_top__start(struct hs_top *top, size_t most, size_t of, hs_top_before before, const void *context);
void hs_top__offer(struct hs_top *top, uint32_t number);
void hs_top__finish(struct hs_top *top);
void hs_top__free(struct hs_top *top);

#endif
