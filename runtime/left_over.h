// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The recorder's own threads when they are all that is left of the process: its first thread has ended, as has every
// other, by the system call itself. Then they have to end, for the process to.
#ifndef HEAPSONDE_RUNTIME_LEFT_OVER_H
#define HEAPSONDE_RUNTIME_LEFT_OVER_H

#include <stdbool.h>
#include <stdint.h>

// By whoever starts the first of them.
void hs_left_over__begin(void);

// Whether there are no other threads than `threads`. Then *status is what the first thread of the process has ended
// with: the process ends with what the last one does. Where /proc cannot be read the answer is no.
bool hs_left_over__is_all(uint32_t threads, uint32_t *status);

#endif
