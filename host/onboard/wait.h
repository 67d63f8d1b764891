// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_HOST_ONBOARD_WAIT_H
#define HEAPSONDE_HOST_ONBOARD_WAIT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// What ends a recording.
struct hs_wait {
    pid_t pid;
    uint64_t ns;                // 0: no limit
    bool until_input_ends;      // standard input
    bool (*is_recorded)(pid_t); // asked each second; NULL: not
    sigset_t before;
};

// From then on SIGINT, SIGTERM, SIGHUP and SIGQUIT are kept until it is waited.
void hs_wait__begin(struct hs_wait *wait);
// Until the process or the input has ended, the time is over, somebody else has ended it, or such a signal came.
void hs_wait__for_end(const struct hs_wait *wait);

#endif
