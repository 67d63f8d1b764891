// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/perf/cpu_clocks.h"

#include "arch/system.h"

// The kernel's name for the CPU clock of a thread.
static int clock_of(uint32_t tid)
{
    enum { SCHEDULED = 2, OF_A_THREAD = 4 };
    return (int)(~tid << 3 | OF_A_THREAD | SCHEDULED);
}

static void emit_one(uint32_t *tid, hs_emit_cpu_clock emit)
{
    struct hs_time now;
    if (*tid && !hs_system_failed(hs_system_clock(clock_of(*tid), &now)))
        emit(*tid, (uint64_t)now.seconds * 1000000000u + (uint64_t)now.nanoseconds);
    *tid = 0;
}

void hs_cpu_clocks__sampled(struct hs_cpu_clocks *clocks, uint32_t tid, hs_emit_cpu_clock emit)
{
    uint32_t *entry = &clocks->tids[tid % HS_CPU_CLOCKS];
    if (*entry != tid)
        emit_one(entry, emit);
    *entry = tid;
}

void hs_cpu_clocks__emit(struct hs_cpu_clocks *clocks, hs_emit_cpu_clock emit)
{
    for (unsigned i = 0; i < HS_CPU_CLOCKS; i++)
        emit_one(&clocks->tids[i], emit);
}
