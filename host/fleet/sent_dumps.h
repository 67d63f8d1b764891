// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which dumps of a folder (host/gather/dump_file.h) are new. What was taken is one number: how many files, and the
// highest number in their names. If files came or went below it, all are new again.
#ifndef HEAPSONDE_HOST_FLEET_SENT_DUMPS_H
#define HEAPSONDE_HOST_FLEET_SENT_DUMPS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

// By its name in the folder of gathered traces: a trace, and not a folder of dumps.
bool hs_sent_dumps__is_trace(const char *name);

struct hs_sent_dumps_state {
    uint64_t offset;         // in: what was taken; out: all that is there now
    struct timespec changed; // of the folder. An unchanged one is not read again; 0: it is
    bool is_moving;          // out: files may still get their names
};

// Calls `take` for each new dump, in any order, until it fails. 0, -errno, or what `take` returned; then the state
// stays.
int hs_sent_dumps__list(int directory, const char *folder, struct hs_sent_dumps_state *state,
                        int (*take)(void *context, const char *name), void *context);

#endif
