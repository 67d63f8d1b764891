// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Threads that receive streams. A connection belongs to one of them as soon as both sides have proven that they have
// the key.
#ifndef HEAPSONDE_HOST_GATHER_WORKER_H
#define HEAPSONDE_HOST_GATHER_WORKER_H

#include "host/gather/stream.h"

struct hs_workers;

// The result for a connection that was dialled.
enum hs_outcome {
    HS_OUTCOME_LOST,   // to be dialled again
    HS_OUTCOME_UNTOLD, // the same, but all of it was received and acknowledged, so the device may have ended
    HS_OUTCOME_ENDED,  // the device knows that everything is stored
    HS_OUTCOME_REFUSED // permanently
};

struct hs_workers_options {
    struct hs_gather_stream_context context;
    unsigned count; // of threads
    // A connection with a target has ended. Called by the threads.
    void (*closed)(void *data, void *target, enum hs_outcome outcome);
    void *data;
};

int hs_workers__start(struct hs_workers **workers, const struct hs_workers_options *options, struct hs_error *error);

// Stops receiving. What was acknowledged is in the files.
void hs_workers__stop(struct hs_workers *workers);
void hs_workers__free(struct hs_workers *workers);

// Passes on a connection whose AUTH was checked. `target` NULL: it was accepted, not dialled. False: there are too
// many; the caller keeps the connection.
bool hs_workers__take(struct hs_workers *workers, int socket, const struct hs_gather_link *link,
                      const struct hs_address *peer, void *target);

// See hs_traces_options.stored.
void hs_workers__stored(void *workers, uint64_t claim);

// Passes a request to the connection with this claim, or fails it. The request's reference for the sender goes with it.
void hs_workers__ask(struct hs_workers *workers, uint64_t claim, struct hs_gather_request *request);

#endif
