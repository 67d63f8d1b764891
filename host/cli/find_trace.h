// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_HOST_CLI_FIND_TRACE_H
#define HEAPSONDE_HOST_CLI_FIND_TRACE_H

#include <stddef.h>
#include <sys/types.h>
#include <time.h>

// The trace that process `pid` wrote to a path of the pattern (%p, %e, %t, %n, %%) since `since`; to be freed. NULL
// when there is none. *others gets the number of other traces written since then.
char *hs_find_trace(const char *pattern, pid_t pid, const struct timespec *since, size_t *others);

#endif
