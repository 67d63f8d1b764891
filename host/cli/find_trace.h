// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_HOST_CLI_FIND_TRACE_H
#define HEAPSONDE_HOST_CLI_FIND_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

// The traces that were written since a program was started.
struct hs_found_traces {
    char *path;    // the chosen trace; NULL: none
    char *started; // if the chosen trace is of another process: the trace of the started process, or NULL
    bool is_anothers;
    size_t earlier;  // number of traces of the same process before it executed another program
    size_t others;   // number of traces of other processes
    char *largest;   // the largest of these
    bool unfinished; // one of these is still being written
};

// Finds the traces that process `pid` and the processes that it started wrote to paths of this pattern (%p, %e, %t, %n,
// %%) since `since`. The caller frees the result. The chosen trace is that of `pid`; if it has none, the one that began
// first. With `largest`, it is the largest one.
void hs_find_traces(struct hs_found_traces *found, const char *pattern, pid_t pid, const struct timespec *since,
                    bool largest);
void hs_found_traces__free(struct hs_found_traces *found);

// Calls `visit` for each trace of this pattern that was written since `since` and whose process has ended.
typedef void hs_trace_visit(void *context, const char *path);
void hs_each_ended_trace(const char *pattern, const struct timespec *since, hs_trace_visit *visit, void *context);

#endif
