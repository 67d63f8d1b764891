// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Starting the target and talking to it.
#ifndef HEAPSONDE_TESTS_CTL_TARGET_CLIENT_H
#define HEAPSONDE_TESTS_CTL_TARGET_CLIENT_H

#include <stdio.h>
#include <sys/types.h>

struct target {
    pid_t pid;
    FILE *in, *out;
};

// What `ctl list` calls it: no test beside this one has a process of that name.
const char *target_name(void);

// In the folder of the test, which is also its XDG_RUNTIME_DIR, with this MALLOC_CONF. `library` NULL: without the
// library. Returns when it is ready. $PID is its number in the commands that the test runs.
struct target start_target(const char *library, const char *configuration);

// Returns when process `pid` accepts connections at its control socket.
void wait_until_listening(pid_t pid);

// Writes a line and returns the one that comes back, without its end.
const char *tell(struct target *target, const char *line);

// Returns the exit status, 128 + a signal.
int end_target(struct target *target, int signal); // 0: by "quit"

#endif
