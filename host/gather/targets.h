// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Whom to dial, and when: the addresses that were given, which are dialled for ever, and devices that were heard of,
// which are dialled as long as they are. Used by one thread.
#ifndef HEAPSONDE_HOST_GATHER_TARGETS_H
#define HEAPSONDE_HOST_GATHER_TARGETS_H

#include "host/gather/hearing.h"
#include "host/gather/worker.h"

enum { HS_TARGET_ADDRESSES = 4 };

enum hs_target_state {
    HS_TARGET_WAITS,     // until `dial_at`
    HS_TARGET_CONNECTED, // or on the way to it
    HS_TARGET_ENDED,     // its stream has ended; a device that still announces it has not heard so
    HS_TARGET_REFUSED    // for good
};

struct hs_target {
    struct hs_target *next;
    enum hs_target_state state;
    bool given; // on the command line
    bool over;  // a stream of it has been, and is over
    uint64_t dial_at, heard_at, ended_at;
    uint8_t trace_id[HS_TRACE_ID_SIZE]; // of one that was heard of
    struct hs_address address[HS_TARGET_ADDRESSES];
    unsigned count, turn; // addresses take turns
};

enum { HS_TARGETS_MOST = 4096, HS_TARGETS_NEIGHBOUR = 1024 };

struct hs_targets {
    struct hs_target *first;
    unsigned heard; // how many of them
};

// False when memory is exhausted.
bool hs_targets__give(struct hs_targets *targets, const struct hs_address *addresses, unsigned count);

// Notes what was heard. Returns the target when it is new; NULL when it is known, or when there are too many: in all,
// or of one neighbour.
struct hs_target *hs_targets__hear(struct hs_targets *targets, const struct hs_heard *heard, uint64_t now);

// The next one to dial at `now`, NULL when none is due.
struct hs_target *hs_targets__due(struct hs_targets *targets, uint64_t now);
// Its address of this turn; it is connected from now on, and its next turn is in a second.
const struct hs_address *hs_targets__dial(struct hs_target *target, uint64_t now);

// Its connection is over.
void hs_targets__closed(struct hs_target *target, enum hs_outcome outcome, uint64_t now);

// Forgets those that have not been heard of for ten seconds and are not connected.
void hs_targets__expire(struct hs_targets *targets, uint64_t now);

// Whether every one that was given has had its stream.
bool hs_targets__all_over(const struct hs_targets *targets);

void hs_targets__free(struct hs_targets *targets);

#endif
