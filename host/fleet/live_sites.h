// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the stacks of many processes hold now: sums of those with equal stack, program and firmware. Memory is bounded:
// stacks beyond the limit are added up as one.
#ifndef HEAPSONDE_HOST_FLEET_LIVE_SITES_H
#define HEAPSONDE_HOST_FLEET_LIVE_SITES_H

#include "host/base/array.h"
#include "host/base/id_map.h"
#include "host/fleet/follow.h"

#include <stdbool.h>

enum { HS_LIVE_SITES_MOST = 1 << 16, HS_LIVE_SITE_FRAMES = 3 };

struct hs_live_site {
    uint64_t stack; // as `heapsonde fleet` numbers it; 0: no stack, or all that have no place of their own
    char *program, *firmware;
    char *frames; // the innermost ones: "libcurl.so.4+0x1234 < netd+0x42"
    struct hs_follow_sums sums;
    uint64_t key;
    size_t users; // stacks of processes
};

struct hs_live_sites {
    struct hs_array sites;    // struct hs_live_site *; the first is the one of all others
    struct hs_id_map site_of; // by key
};

// One process that is added.
struct hs_live_process {
    const char *program, *firmware;
    struct hs_follow_sums total;
    bool apart; // what it has in use is not part of the sites
    // private
    struct hs_id_map member_of; // by stack of the trace
    struct hs_array members;    // struct live_member
};

void hs_live_sites__free(struct hs_live_sites *sites);

// Takes over what the stacks of the process have at this tick. 0 or -ENOMEM.
int hs_live_sites__add(struct hs_live_sites *sites, struct hs_live_process *process, const struct hs_follow *follow,
                       const struct hs_follow_tick *tick);

// Takes what the process has in use out of the sites, or puts it back. What it has allocated stays.
void hs_live_process__set_apart(struct hs_live_process *process, bool apart);

// The process is gone, and what it has in use with it; what it has allocated stays. Before the sites are freed.
void hs_live_process__leave(struct hs_live_process *process);

// The sites that have most bytes in use, at most `most`; returns their number.
size_t hs_live_sites__top(const struct hs_live_sites *sites, const struct hs_live_site **top, size_t most);

#endif
