// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the kernel's samples stand for, which only those of the whole trace together say.
#ifndef HEAPSONDE_IMPORT_SAMPLE_WEIGHTS_H
#define HEAPSONDE_IMPORT_SAMPLE_WEIGHTS_H

#include "host/store/store.h"

// CPU samples get weights whose sum is what the clock of their thread says. Times off the processor get their lengths;
// those of which the end is not known are left out, those that last at the end of the trace last until then. What only
// serves for that (HS_SAMPLE_ON_CPU, HS_SAMPLE_CPU_CLOCK) is taken out of the array. The sums go into `summary`.
// Returns 0 or -ENOMEM.
int hs_samples__weigh(struct hs_sample *samples, size_t *count, uint64_t end_time, struct hs_summary *summary);

#endif
