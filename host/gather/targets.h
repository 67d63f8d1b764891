// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The addresses to dial and their times. Given addresses are dialled forever; devices that sent announcements are
// dialled as long as they announce themselves. Used by one thread.
#ifndef HEAPSONDE_HOST_GATHER_TARGETS_H
#define HEAPSONDE_HOST_GATHER_TARGETS_H

#include "host/gather/hearing.h"
#include "host/gather/worker.h"

enum { HS_TARGET_ADDRESSES = 4 };

enum hs_target_state {
    HS_TARGET_WAITS,     // until `dial_at`
    HS_TARGET_CONNECTED, // connected, or connecting
    HS_TARGET_ENDED,     // its stream has ended; a device that still announces it has not received the acknowledgement
    HS_TARGET_REFUSED    // permanently
};

struct hs_target {
    struct hs_target *next;
    enum hs_target_state state;
    bool given; // on the command line
    bool over;  // a stream of it has ended
    uint64_t dial_at, heard_at, ended_at;
    uint8_t trace_id[HS_TRACE_ID_SIZE]; // of an announced one
    struct hs_address address[HS_TARGET_ADDRESSES];
    unsigned count, turn; // its addresses are used in turn
};

enum { HS_TARGETS_MOST = 4096, HS_TARGETS_NEIGHBOUR = 1024 };

struct hs_targets {
    struct hs_target *first;
    unsigned heard; // number of announced ones
};

// False: out of memory.
bool hs_targets__give(struct hs_targets *targets, const struct hs_address *addresses, unsigned count);

// Adds an announced device. Returns the new target. NULL: it is known, or there are too many, in total or from one
// network.
struct hs_target *hs_targets__hear(struct hs_targets *targets, const struct hs_heard *heard, uint64_t now);

// The next target to dial at `now`; NULL: none is due.
struct hs_target *hs_targets__due(struct hs_targets *targets, uint64_t now);
// Its next address. Marks the target as connected; its next turn is in a second.
const struct hs_address *hs_targets__dial(struct hs_target *target, uint64_t now);

// Its connection has ended.
void hs_targets__closed(struct hs_target *target, enum hs_outcome outcome, uint64_t now);

// Removes targets that were not announced for ten seconds and are not connected.
void hs_targets__expire(struct hs_targets *targets, uint64_t now);

// Whether the stream of every given address has ended.
bool hs_targets__all_over(const struct hs_targets *targets);

void hs_targets__free(struct hs_targets *targets);

#endif
