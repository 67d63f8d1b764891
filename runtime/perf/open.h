// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Opening the events, and what to do where the kernel does not let us.
#ifndef HEAPSONDE_RUNTIME_PERF_OPEN_H
#define HEAPSONDE_RUNTIME_PERF_OPEN_H

#include "runtime/perf/ring.h"

enum { HS_PERF_PROCESSORS = 256 };

// A run of faults on consecutive pages.
struct hs_fault_run {
    uint32_t tid;
    uint64_t address, start, end; // `start`: of the page of `address`; end 0: there is none
    uint64_t first, last;
};

// What a ring's samples are of. Those that interrupt a thread share one.
enum hs_perf_role { HS_PERF_INTERRUPTED, HS_PERF_FAULT, HS_PERF_SWITCH, HS_PERF_WITNESS, HS_PERF_ROLES };

struct hs_perf_ring {
    struct hs_kernel_ring ring;
    enum hs_perf_role role;
    uint64_t type; // sample_type of its events
    void *memory;
    size_t size;
    int fd;
    struct hs_fault_run run;
};

struct hs_perf_rings {
    unsigned count;
    bool without_kernel; // what the kernel does on behalf of the program is not sampled
    bool without_stack;  // the kernel copies neither registers nor stacks
    bool cycles;         // the processor's cycles are what is sampled as CPU time, not a clock
    bool without_size;   // the kernel does not say how large the pages of faults are: before 5.11
    bool incomplete;     // not every thread or processor got its events
    struct hs_perf_ring ring[HS_PERF_ROLES * HS_PERF_PROCESSORS];
};

// Whether the kernel lets us have such events at all: 0 or -errno. Finds out what they may hold.
long hs_perf_rings__ask(struct hs_perf_rings *rings);

// Opens the events of every thread of the program but `self` and the recorder's own, each of which is then told. 0 or
// -errno.
long hs_perf_rings__open(struct hs_perf_rings *rings, uint32_t self, void (*emit)(uint32_t tid));

// Gives the rings' memory back.
void hs_perf_rings__unmap(struct hs_perf_rings *rings);

// One line: why there are no samples, and which setting would allow them.
enum { HS_PERF_LINE = 192 };
void hs_perf__explain(long error, char line[HS_PERF_LINE]);

#endif
