// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The pages that `heapsonde ctl serve` puts in front of a process: libmtev's, with its texts, and those that jeprof and
// pprof ask for.
//
//   GET  /mtev/heap_profile   three lines of state; ?active=true and any other value switch
//   GET  /mtev/heap_profile?trigger_dump=true   dumps
//   GET  /mtev/memory.json    what malloc_stats_print() says
//   GET  /metrics             for Prometheus
//   GET  /pprof/heap          a dump that every reader knows
//   GET  /pprof/heap?format=  heap_v2, text, proto, symbolized, collapsed
//   GET  /pprof/cmdline
//   GET  /pprof/symbol
//   POST /pprof/symbol        0xa+0xb: the functions there, inlined ones first, with "--" between them
#ifndef HEAPSONDE_HOST_CTL_PAGES_H
#define HEAPSONDE_HOST_CTL_PAGES_H

#include "host/ctl/find.h"
#include "host/server/http.h"

struct hs_ctl_pages;

// NULL when memory is exhausted.
struct hs_ctl_pages *hs_ctl_pages__create(const struct hs_ctl_process *process);
void hs_ctl_pages__destroy(struct hs_ctl_pages *pages);

// To be served with the pages as context.
extern const struct hs_http_page hs_ctl_page_table[];

#endif
