// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Opens the events, and handles refusals of the kernel.
#ifndef HEAPSONDE_RUNTIME_PERF_OPEN_H
#define HEAPSONDE_RUNTIME_PERF_OPEN_H

#include "runtime/perf/ring.h"

enum { HS_PERF_PROCESSORS = 256 };

// A run of faults on consecutive pages.
struct hs_fault_run {
    uint32_t tid;
    uint64_t address, start, end; // `start`: of the page of `address`; end 0: empty
    uint64_t first, last;
};

// The kind of samples in a ring. The kinds that interrupt a thread share one.
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
    bool without_kernel; // no samples inside the kernel
    bool without_stack;  // no registers and stacks from the kernel
    bool cycles;         // CPU time is sampled by cycles of the processor, not by a clock
    bool without_size;   // the kernel does not report the page size of faults: before 5.11
    bool incomplete;     // some threads or processors have no events
    struct hs_perf_ring ring[HS_PERF_ROLES * HS_PERF_PROCESSORS];
};

// Whether the kernel allows such events: 0 or -errno. Finds out what the samples may contain.
long hs_perf_rings__ask(struct hs_perf_rings *rings);

// Opens the events of every thread of the program, except `self` and the recorder's own threads, and calls `emit` for
// each. 0 or -errno.
long hs_perf_rings__open(struct hs_perf_rings *rings, uint32_t self, void (*emit)(uint32_t tid));

// Frees the memory of the rings.
void hs_perf_rings__unmap(struct hs_perf_rings *rings);

// One line: why there are no samples, and which setting would allow them.
enum { HS_PERF_LINE = 192 };
void hs_perf__explain(long error, char line[HS_PERF_LINE]);

#endif
