// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The registers that a stack walk starts from.
#ifndef HEAPSONDE_ARCH_AARCH64_REGISTERS_H
#define HEAPSONDE_ARCH_AARCH64_REGISTERS_H

#include "rule.h"

#include <stdint.h>

// State of a frame at the point where it called out: what a fast walk tracks.
struct hs_registers {
    uintptr_t pc; // return address into the frame
    uintptr_t sp;
    uintptr_t fp; // x29
};

// All registers, by DWARF number.
struct hs_all_registers {
    uintptr_t values[HS_DWARF_REGISTERS];
};

// Captures the function that uses it, at the place of the capture.
static inline __attribute__((always_inline)) void hs_capture_here(struct hs_registers *registers)
{
    __asm__ volatile("adr %0, 1f\n\tmov %1, sp\n\tmov %2, x29\n1:"
                     : "=&r"(registers->pc), "=&r"(registers->sp), "=&r"(registers->fp));
}

// The same for all registers that callers may have values in. The caller-saved registers are set to 0.
static inline __attribute__((always_inline)) void hs_capture_all(struct hs_all_registers *registers)
{
    uintptr_t *values = registers->values;
    for (int i = 0; i < HS_DWARF_REGISTERS; i++)
        values[i] = 0;
    __asm__ volatile("stp x18, x19, [%0, 144]\n\t"
                     "stp x20, x21, [%0, 160]\n\t"
                     "stp x22, x23, [%0, 176]\n\t"
                     "stp x24, x25, [%0, 192]\n\t"
                     "stp x26, x27, [%0, 208]\n\t"
                     "stp x28, x29, [%0, 224]\n\t"
                     "mov x16, sp\n\t"
                     "str x16, [%0, 248]\n\t"
                     "adr x16, 1f\n\t"
                     "str x16, [%0, 256]\n"
                     "1:"
                     :
                     : "r"(values)
                     : "x16", "memory");
}

#endif
