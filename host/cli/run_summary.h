// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_HOST_CLI_RUN_SUMMARY_H
#define HEAPSONDE_HOST_CLI_RUN_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

// One run of a program.
struct hs_recording {
    const char *program; // as the user called it
    const char *path;    // of the recorded program file; NULL: not known
    const char *sysroot; // for reading the trace; NULL: none
    const char *pattern; // absolute path of the trace, with placeholders
    pid_t pid;
    int status; // from waitpid
    double seconds;
    struct timespec started;
    bool is_cut;           // the end of the trace could not be written
    bool is_elsewhere;     // it ran on another machine
    bool disabled;         // recording was off at the start
    bool follows_children; // programs that it starts are also recorded
};

// "ended with exit status 1", "was ended by signal 15 SIGTERM"
void hs_recording__ending(const struct hs_recording *recording, char *text, size_t size);

// Prints a few lines on standard error: how the program ended, allocations, peak, live memory, the trace and the next
// command. If there is no trace, the possible reasons.
void hs_recording__summarize(const struct hs_recording *recording);

#endif
