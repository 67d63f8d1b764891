// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_HOST_CLI_CHILD_H
#define HEAPSONDE_HOST_CLI_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct hs_child {
    pid_t pid;
    int status;       // as waitpid gives it
    int exec_problem; // errno when the program could not be started, else 0
};

// Runs a program with this process's standard streams and the given environment and waits for it. Signals that ask this
// process to end, and SIGUSR1 and SIGUSR2, are passed on to it; signals from the terminal reach it anyway. Returns 0 or
// -errno.
int hs_child__run(struct hs_child *child, const char *path, char **arguments, char **environment);

// The same, but the child stops itself by SIGSTOP before it executes the program, and `begin` lets it go on.
typedef void hs_child_begin(void *context, pid_t pid);
int hs_child__run_held(struct hs_child *child, const char *path, char **arguments, char **environment,
                       hs_child_begin *begin, void *context);

#endif
