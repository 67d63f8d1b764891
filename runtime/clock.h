// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Recorded time: counter ticks (or nanoseconds where there is no usable counter) since the trace began.
#ifndef HEAPSONDE_RUNTIME_CLOCK_H
#define HEAPSONDE_RUNTIME_CLOCK_H

#include "arch/arch.h"

#include <stdint.h>

// Set once before anything is recorded and again in a forked child; read-only otherwise.
struct hs_clock {
    uint64_t start;              // raw counter at recorded time 0
    uint64_t start_monotonic_ns; // CLOCK_MONOTONIC at the same time
    uint32_t source;             // HS_CLOCK_* of the trace format
    uint32_t shift;              // recorded time = (raw - start) >> shift
};

extern struct hs_clock hs_clock;

// Chooses the source and lets recorded time begin at 0. No other thread may read the clock meanwhile.
void hs_clock__start(void);

// The kernel's clocks in ns, through the vDSO where it has been found. Safe in signal handlers, like what follows.
uint64_t hs_clock__monotonic_ns(void);
uint64_t hs_clock__realtime_ns(void);

// private: the raw clock where there is no usable counter
uint64_t hs_clock__raw_slowly(void);

// Recorded time now. About 10 ns with the counter.
static inline uint64_t hs_clock__now(void)
{
    uint64_t raw = hs_clock.source == 1 ? hs_arch_ticks() : hs_clock__raw_slowly();
    return (raw - hs_clock.start) >> hs_clock.shift;
}

#endif
