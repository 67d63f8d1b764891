// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A second opinion on stacks: the kernel's. With HEAPSONDE_UNWINDER=kernel a recorded allocation reads from a page that
// was never touched; the page fault is sampled with the kernel's call chain, which follows frame pointers. The page's
// number says which allocation it was.
#ifndef HEAPSONDE_RUNTIME_PERF_WITNESS_H
#define HEAPSONDE_RUNTIME_PERF_WITNESS_H

#include "arch/arch.h"

#include <stdbool.h>
#include <stdint.h>

struct hs_witness {
    uintptr_t pc;   // return address into the frame that allocates; 0: none
    uint32_t stack; // the recorder's own
};

// Where the kernel knows chains of frames.
#if defined(__x86_64__) || defined(__aarch64__)
#define HS_PERF_HAS_WITNESSES 1
#else
#define HS_PERF_HAS_WITNESSES 0
#endif

// Before the events are opened.
bool hs_witness__start(void);

// In a forked child.
void hs_witness__reset(void);

// A thread has made this stack, in a frame with these registers.
void hs_witness__call(uint32_t stack, const struct hs_registers *caller);

// Whose a page fault is; pc 0: nobody's.
struct hs_witness hs_witness__of(uint64_t address);

#endif
