// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How much CPU time the sampled threads really used. The kernel leaves samples out (a late timer, a full ring), so that
// the samples of a thread stand for what its own clock says, not for a period each: that clock is told after each
// taking of samples, and readers share it out among them.
#ifndef HEAPSONDE_RUNTIME_PERF_CPU_CLOCKS_H
#define HEAPSONDE_RUNTIME_PERF_CPU_CLOCKS_H

#include <stdint.h>

// When more threads are sampled at once, some are told more often.
enum { HS_CPU_CLOCKS = 64 };

struct hs_cpu_clocks {
    uint32_t tids[HS_CPU_CLOCKS]; // of which samples were taken and the clock was not told yet; 0: none
};

typedef void (*hs_emit_cpu_clock)(uint32_t tid, uint64_t ns);

// A sample of the thread was taken.
void hs_cpu_clocks__sampled(struct hs_cpu_clocks *clocks, uint32_t tid, hs_emit_cpu_clock emit);

// Tells the clocks of all threads that were sampled. Threads that have ended are left out.
void hs_cpu_clocks__emit(struct hs_cpu_clocks *clocks, hs_emit_cpu_clock emit);

#endif
