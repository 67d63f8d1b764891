// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Compares stacks with those of the kernel. With HEAPSONDE_UNWINDER=kernel, a recorded allocation reads from a page
// that was never touched. The page fault is sampled with the kernel's call chain, which follows frame pointers. The
// number of the page identifies the allocation.
#ifndef HEAPSONDE_RUNTIME_PERF_WITNESS_H
#define HEAPSONDE_RUNTIME_PERF_WITNESS_H

#include "arch/arch.h"

#include <stdbool.h>
#include <stdint.h>

struct hs_witness {
    uintptr_t pc;   // return address into the allocating frame; 0: none
    uint32_t stack; // found by the recorder
};

// Whether the kernel has call chains on this architecture.
#if defined(__x86_64__) || defined(__aarch64__)
#define HS_PERF_HAS_WITNESSES 1
#else
#define HS_PERF_HAS_WITNESSES 0
#endif

// Call before the events are opened.
bool hs_witness__start(void);

// In a forked child.
void hs_witness__reset(void);

// Records that a thread has found this stack, in a frame with these registers.
void hs_witness__call(uint32_t stack, const struct hs_registers *caller);

// The allocation of a page fault; pc 0: none.
struct hs_witness hs_witness__of(uint64_t address);

#endif
