// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The registers that a stack walk starts from.
#ifndef HEAPSONDE_ARCH_MIPS64_REGISTERS_H
#define HEAPSONDE_ARCH_MIPS64_REGISTERS_H

#include "rule.h"

#include <stdint.h>

// State of a frame at the point where it called out: what a fast walk tracks.
struct hs_registers {
    uintptr_t pc; // return address into the frame
    uintptr_t sp;
    uintptr_t fp; // s8
};

// All registers, by DWARF number.
struct hs_all_registers {
    uintptr_t values[HS_DWARF_REGISTERS];
};

// Captures the function that uses it, at the place of the capture. `bal` is the one way to get at the pc.
static inline __attribute__((always_inline)) void hs_capture_here(struct hs_registers *registers)
{
    __asm__ volatile(".set push\n\t.set noreorder\n\t.set noat\n\tbal 1f\n\tnop\n1:\tmove %0, $31\n\tmove %1, "
                     "$29\n\tmove %2, $30\n\t.set pop"
                     : "=&r"(registers->pc), "=&r"(registers->sp), "=&r"(registers->fp)
                     :
                     : "$31");
}

// The same for all registers that callers may have values in. The caller-saved registers are set to 0.
static inline __attribute__((always_inline)) void hs_capture_all(struct hs_all_registers *registers)
{
    uintptr_t *values = registers->values;
    for (int i = 0; i < HS_DWARF_REGISTERS; i++)
        values[i] = 0;
    __asm__ volatile(".set push\n\t"
                     ".set noreorder\n\t"
                     "sd $16, 128(%0)\n\t"
                     "sd $17, 136(%0)\n\t"
                     "sd $18, 144(%0)\n\t"
                     "sd $19, 152(%0)\n\t"
                     "sd $20, 160(%0)\n\t"
                     "sd $21, 168(%0)\n\t"
                     "sd $22, 176(%0)\n\t"
                     "sd $23, 184(%0)\n\t"
                     "sd $28, 224(%0)\n\t"
                     "sd $29, 232(%0)\n\t"
                     "sd $30, 240(%0)\n\t"
                     "bal 1f\n\t"
                     "nop\n"
                     "1:\n\t"
                     "sd $31, 256(%0)\n\t"
                     ".set pop"
                     :
                     : "r"(values)
                     : "$31", "memory");
}

#endif
