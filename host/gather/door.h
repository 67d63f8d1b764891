// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The thread in front of the workers. It accepts and dials connections, receives announcements, and passes on
// connections whose peer has proven that it has the key. It limits the cost of unknown peers: the number of their
// connections, in total and per network, and their duration. If it is full, a new connection replaces the oldest one of
// the network with the most connections: a device needs only two round trips for the proof.
#ifndef HEAPSONDE_HOST_GATHER_DOOR_H
#define HEAPSONDE_HOST_GATHER_DOOR_H

#include "host/gather/targets.h"
#include "host/gather/worker.h"

struct hs_door;

struct hs_door_options {
    const struct hs_shared_key *key;
    const struct hs_select *select;
    struct hs_notices *notices;
    const struct hs_address *listen; // NULL: do not listen
    struct hs_targets targets;       // the given addresses; owned by the door from now on
    bool discover;
    bool anywhere; // accept announcements from beyond loopback, and dial their senders
};

int hs_door__create(struct hs_door **door, const struct hs_door_options *options, struct hs_error *error);
// Starts the thread, which passes connections to these workers.
int hs_door__start(struct hs_door *door, struct hs_workers *workers, struct hs_error *error);
void hs_door__stop(struct hs_door *door);
void hs_door__free(struct hs_door *door);

// See hs_workers_options.closed.
void hs_door__closed(void *door, void *target, enum hs_outcome outcome);

// Whether the stream of every given address has ended.
bool hs_door__all_over(struct hs_door *door);

#endif
