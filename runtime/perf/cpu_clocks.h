// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The CPU time that sampled threads really used. The kernel may omit samples (a late timer, a full ring). So a sample
// does not represent one period: the samples of a thread together represent its CPU time. This is recorded each time
// that samples were read, and readers distribute it among the samples.
#ifndef HEAPSONDE_RUNTIME_PERF_CPU_CLOCKS_H
#define HEAPSONDE_RUNTIME_PERF_CPU_CLOCKS_H

#include <stdint.h>

// If more threads are sampled at once, the clocks of some are recorded more often.
enum { HS_CPU_CLOCKS = 64 };

struct hs_cpu_clocks {
    uint32_t tids[HS_CPU_CLOCKS]; // threads with samples whose clock was not recorded since; 0: none
};

typedef void (*hs_emit_cpu_clock)(uint32_t tid, uint64_t ns);

// Call for each sample of the thread.
void hs_cpu_clocks__sampled(struct hs_cpu_clocks *clocks, uint32_t tid, hs_emit_cpu_clock emit);

// Records the clocks of all threads with samples, except those that have ended.
void hs_cpu_clocks__emit(struct hs_cpu_clocks *clocks, hs_emit_cpu_clock emit);

#endif
