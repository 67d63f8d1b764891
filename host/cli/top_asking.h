// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What `top` asks its source for one refresh, in a thread of its own, so that keys need not wait for the answers.
#ifndef HEAPSONDE_HOST_CLI_TOP_ASKING_H
#define HEAPSONDE_HOST_CLI_TOP_ASKING_H

#include "host/cli/top_source.h"

#include <pthread.h>
#include <stdatomic.h>

// The trace that is shown.
struct hs_top_about {
    char program[128], state[16], device[64], clock[16]; // safe to print
    uint64_t peak_bytes;
    size_t place, of; // in the list of traces
};

struct hs_top_asking {
    // To be set before; the source must not be touched until the end.
    struct hs_top_source *source;
    const char *by;   // of /totals
    bool goes_on;     // to the next trace of the list first
    bool has_answer;  // to the same question, which was true
    uint64_t time_ns; // at this time of the trace; after the end: the time of this answer
    // The answers, after the end.
    int result; // 0, or a negative errno with the error set
    struct hs_error error;
    bool has_gone_on;
    char *rows;                      // of /totals, to be freed
    const struct hs_top_rows *known; // in place of it, until the source is used again. Both are NULL: nothing happened
                                     // since the last answer
    struct hs_top_about about;       // as before if there is no answer
    // private
    struct hs_top_rows kept;
    pthread_t thread;
    atomic_bool is_done;
    bool runs;
};

// If there can be no thread, all is done when this returns.
void hs_top_asking__start(struct hs_top_asking *asking);
bool hs_top_asking__is_done(struct hs_top_asking *asking);
// Waits until it is done.
void hs_top_asking__end(struct hs_top_asking *asking);
// Nobody needs the answer. False: it is still being worked on, so that nothing may be freed; the process has to end
// by _exit.
bool hs_top_asking__give_up(struct hs_top_asking *asking);

#endif
