// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Weights of the kernel's samples, which can be computed only from all samples of the trace.
#ifndef HEAPSONDE_IMPORT_SAMPLE_WEIGHTS_H
#define HEAPSONDE_IMPORT_SAMPLE_WEIGHTS_H

#include "host/store/store.h"

// CPU samples get weights that add up to the CPU time of their thread. Times off the processor get their lengths; those
// without a known end are left out, and those that continue at the end of the trace end there. Samples that serve only
// this purpose (HS_SAMPLE_ON_CPU, HS_SAMPLE_CPU_CLOCK) are removed from the array. The sums are added to `summary`.
// Returns 0 or -ENOMEM.
int hs_samples__weigh(struct hs_sample *samples, size_t *count, uint64_t end_time, struct hs_summary *summary);

#endif
