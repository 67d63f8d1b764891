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
#define HS_ARCH_CAPTURE_CALLER(registers)                                                                              \
    do {                                                                                                               \
        const uintptr_t *hs_frame_ = (const uintptr_t *)__builtin_frame_address(0);                                    \
        (registers)->pc = hs_frame_[1];                                                                                \
        (registers)->sp = (uintptr_t)hs_frame_ + 16;                                                                   \
        (registers)->fp = hs_frame_[0];                                                                                \
    } while (0)

// All registers, by DWARF number; the return address column holds the pc.
struct hs_all_registers {
    uintptr_t values[17];
};

// Captures the function that uses it, at the end of the capture: what its callers may have in callee-saved registers,
// sp, fp and the pc. The caller-saved registers are set to 0.
static inline __attribute__((always_inline)) void hs_capture_all(struct hs_all_registers *registers)
{
    uintptr_t *values = registers->values;
    for (int i = 0; i < 17; i++)
        values[i] = 0;
    __asm__ volatile("movq %%rbx, 24(%0)\n\t"
                     "movq %%rbp, 48(%0)\n\t"
                     "movq %%rsp, 56(%0)\n\t"
                     "movq %%r12, 96(%0)\n\t"
                     "movq %%r13, 104(%0)\n\t"
                     "movq %%r14, 112(%0)\n\t"
                     "movq %%r15, 120(%0)\n\t"
                     "leaq 1f(%%rip), %%rax\n\t"
                     "movq %%rax, 128(%0)\n\t"
                     "1:"
                     :
                     : "r"(values)
                     : "rax", "memory");
}

#endif
