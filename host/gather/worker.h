// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Threads that take streams: a connection belongs to one of them, from the moment both sides have proven themselves.
#ifndef HEAPSONDE_HOST_GATHER_WORKER_H
#define HEAPSONDE_HOST_GATHER_WORKER_H

#include "host/gather/stream.h"

struct hs_workers;

// How the stream of a connection that was dialled went.
enum hs_outcome {
    HS_OUTCOME_LOST,   // to be dialled again
    HS_OUTCOME_UNTOLD, // too; but all of it came and was acknowledged, and the device may be gone
    HS_OUTCOME_ENDED,  // and the device was told that all of it is stored
    HS_OUTCOME_REFUSED // for good
};

struct hs_workers_options {
    struct hs_gather_stream_context context;
    unsigned count; // of threads
    // A connection with a target is over. Called by the threads.
    void (*closed)(void *data, void *target, enum hs_outcome outcome);
    void *data;
};

int hs_workers__start(struct hs_workers **workers, const struct hs_workers_options *options, struct hs_error *error);

// No stream is taken any more; what was acknowledged is in the files.
void hs_workers__stop(struct hs_workers *workers);
void hs_workers__free(struct hs_workers *workers);

// Hands over a connection whose AUTH has come. `target` NULL: it was accepted. False, and nothing is taken, when there
// are too many.
bool hs_workers__take(struct hs_workers *workers, int socket, const struct hs_gather_link *link,
                      const struct hs_address *peer, void *target);

// As hs_traces_options.stored.
void hs_workers__stored(void *workers, uint64_t claim);

unsigned hs_workers__connections(const struct hs_workers *workers);

#endif
