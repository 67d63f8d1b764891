// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocations grouped by what a reader sees of their stacks: the innermost frames that are not an allocator's. Stacks
// that look the same are one site.
#ifndef HEAPSONDE_HOST_REPORT_SITES_H
#define HEAPSONDE_HOST_REPORT_SITES_H

#include "host/query/query.h"
#include "host/report/cost.h"
#include "host/report/style.h"
#include "host/report/top.h"
#include "host/symbols/trace_symbols.h"

struct hs_site {
    struct hs_total sum;            // without times and lifetimes; .stack is the first of its stacks
    const struct hs_frame **frames; // innermost first
    uint32_t frame_count;
    uint64_t hash; // of the frames' look
    uint32_t stack_count;
    bool more; // at least one of its stacks has further frames
};

struct hs_sites {
    struct hs_site *site;
    size_t count;
    void *memory; // private
};

// `most` frames make a site; UINT32_MAX: whole stacks.
int hs_sites__build(struct hs_sites *sites, struct hs_trace_symbols *symbols, const struct hs_totals *totals,
                    uint32_t most);
// The first `most` sites by a cost, those without any left out. Returns 0 or -ENOMEM; to be freed by hs_top__free.
int hs_sites__top(const struct hs_sites *sites, enum hs_cost cost, size_t most, struct hs_top *top);
void hs_sites__free(struct hs_sites *sites);

// The end of the line about a site, how many stacks it stands for, and its frames below.
void hs_site__print_stacks(FILE *out, const struct hs_style *style, const struct hs_site *site);

#endif
