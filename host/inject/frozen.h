// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_HOST_INJECT_FROZEN_H
#define HEAPSONDE_HOST_INJECT_FROZEN_H

#include <stdbool.h>
#include <sys/types.h>

// Whether a cgroup of the process is frozen, as far as its files can be seen. Its threads then do not go on after a
// stop.
bool hs_frozen__is(pid_t pid);

#endif
