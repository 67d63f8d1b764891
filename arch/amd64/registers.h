// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The registers that a stack walk starts from.
#ifndef HEAPSONDE_ARCH_AMD64_REGISTERS_H
#define HEAPSONDE_ARCH_AMD64_REGISTERS_H

#include <stdint.h>

// State of a frame at the point where it called out: what a fast walk tracks.
struct hs_registers {
    uintptr_t pc; // return address into the frame
    uintptr_t sp; // rsp as it is after the call returns
    uintptr_t fp; // rbp as it is after the call returns
};

// Captures the caller of the function that uses it. That function must be compiled with -fno-omit-frame-pointer, so
// that rbp points at {caller's rbp, return address} and the caller's rsp is 16 above.
#define HS_CAPTURE_CALLER(registers)                                                                                   \
    do {                                                                                                               \
        const uintptr_t *hs_frame_ = (const uintptr_t *)__builtin_frame_address(0);                                    \
        (registers)->pc = hs_frame_[1];                                                                                \
        (registers)->sp = (uintptr_t)hs_frame_ + 16;                                                                   \
        (registers)->fp = hs_frame_[0];                                                                                \
    } while (0)

#endif
