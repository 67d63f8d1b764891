// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_HOST_CLI_FIND_TRACE_H
#define HEAPSONDE_HOST_CLI_FIND_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

// What was written to the paths of a pattern since a program was started.
struct hs_found_traces {
    char *path;    // the trace that is of interest; NULL when there is none
    char *started; // where that is another process's: the trace of the process that was started, or NULL
    bool is_anothers;
    size_t earlier;  // of the process, before it replaced itself by another program
    size_t others;   // of other processes
    char *largest;   // the largest of these
    bool unfinished; // whether a process that still runs writes one of these
};

// Looks for what process `pid` and those that it started wrote to a path of the pattern (%p, %e, %t, %n, %%) since
// `since`. The result is to be freed.
// Of interest is the process that was started or, when that has none, the one that began first; with `largest` the one
// with the largest trace.
void hs_find_traces(struct hs_found_traces *found, const char *pattern, pid_t pid, const struct timespec *since,
                    bool largest);
void hs_found_traces__free(struct hs_found_traces *found);

#endif
