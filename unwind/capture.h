// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where a walk starts.
#ifndef HEAPSONDE_UNWIND_CAPTURE_H
#define HEAPSONDE_UNWIND_CAPTURE_H

#include "arch/arch.h"

#pragma GCC visibility push(hidden)
// Steps from a frame of this code to its caller.
void hs_capture_step(struct hs_registers *registers);
#pragma GCC visibility pop

// Captures the caller of the function that uses it. Where the frame layout does not say where the caller is
// (HS_ARCH_CAPTURE_CALLER does), the function's own frame is captured and unwound like any other.
#ifdef HS_ARCH_CAPTURE_CALLER
#define HS_CAPTURE_CALLER(registers) HS_ARCH_CAPTURE_CALLER(registers)
#else
#define HS_CAPTURE_CALLER(registers)                                                                                   \
    do {                                                                                                               \
        hs_capture_here(registers);                                                                                    \
        hs_capture_step(registers);                                                                                    \
    } while (0)
#endif

#endif
