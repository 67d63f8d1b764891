// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Detects that only the recorder's own threads are left in the process: all others have ended with the system call
// `exit`. Then they have to end, so that the process ends.
#ifndef HEAPSONDE_RUNTIME_LEFT_OVER_H
#define HEAPSONDE_RUNTIME_LEFT_OVER_H

#include <stdbool.h>
#include <stdint.h>

// Called by the thread that starts the first of them.
void hs_left_over__begin(void);

// Whether there are no threads except `threads`. Then *status becomes the exit status of the process's first thread:
// the process ends with the status of its last thread. False if /proc cannot be read.
bool hs_left_over__is_all(uint32_t threads, uint32_t *status);

#endif
