// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_HOST_CLI_RUN_SUMMARY_H
#define HEAPSONDE_HOST_CLI_RUN_SUMMARY_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

// One program that was run.
struct hs_recording {
    const char *program; // as the user called it
    const char *path;    // of the file that is recorded; NULL: not known
    const char *sysroot; // with which the trace is read; NULL: none
    const char *pattern; // of the trace's path, absolute
    pid_t pid;
    int status; // as waitpid gives it
    double seconds;
    struct timespec started;
    bool is_cut;           // the end of the trace could not be written
    bool disabled;         // recording was to start later
    bool follows_children; // the programs that it starts are recorded, too
};

// A few lines on standard error: how the program ended, allocations, peak, what is still live, the trace and what to do
// with it. When there is no trace: why that may be.
void hs_recording__summarize(const struct hs_recording *recording);

#endif
