// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Start and end of sampling.
#ifndef HEAPSONDE_SHIMS_PROF_PROCESS_H
#define HEAPSONDE_SHIMS_PROF_PROCESS_H

#pragma GCC visibility push(hidden)
// Starts what the options ask for, when the real functions are known.
void hs_prof__begin(void);

// Once; whatever ends the process, or the sampling, first. Returns the status that the process is to end with, if
// not 0.
int hs_prof__end(void);
#pragma GCC visibility pop

#endif
