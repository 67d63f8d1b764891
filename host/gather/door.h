// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The thread in front of the workers: it accepts and dials, hears announcements, and lets in who has proven itself.
// What strangers cost is bounded here: how many may stand at the door, from one neighbour and in all, and for how long.
// Who comes when the door is full takes the place of the one that has stood there longest, of the neighbour that
// takes most places: a device proves itself in two round trips.
#ifndef HEAPSONDE_HOST_GATHER_DOOR_H
#define HEAPSONDE_HOST_GATHER_DOOR_H

#include "host/gather/targets.h"
#include "host/gather/worker.h"

struct hs_door;

struct hs_door_options {
    const struct hs_shared_key *key;
    const struct hs_select *select;
    struct hs_notices *notices;
    const struct hs_address *listen; // NULL: do not
    struct hs_targets targets;       // those that were given; the door's from now on
    bool discover;
    bool anywhere; // hear, and dial what was heard, beyond loopback
};

int hs_door__create(struct hs_door **door, const struct hs_door_options *options, struct hs_error *error);
// Starts its thread, which hands over to these workers.
int hs_door__start(struct hs_door *door, struct hs_workers *workers, struct hs_error *error);
void hs_door__stop(struct hs_door *door);
void hs_door__free(struct hs_door *door);

// As hs_workers_options.closed.
void hs_door__closed(void *door, void *target, enum hs_outcome outcome);

// Whether every given address has had its stream.
bool hs_door__all_over(struct hs_door *door);

#endif
