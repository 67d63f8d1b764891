// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The registers that a stack walk starts from.
#ifndef HEAPSONDE_ARCH_ARM_REGISTERS_H
#define HEAPSONDE_ARCH_ARM_REGISTERS_H

#include "rule.h"

#include <stdint.h>

// State of a frame at the point where it called out: what a fast walk tracks.
struct hs_registers {
    uintptr_t pc; // return address into the frame; bit 0: Thumb
    uintptr_t sp;
    uintptr_t fp; // r7 in Thumb code, r11 in ARM code
};

// All registers, by DWARF number.
struct hs_all_registers {
    uintptr_t values[HS_DWARF_REGISTERS];
};

// Reading pc gives the address two instructions on, without bit 0.
#ifdef __thumb__
#define HS_ARM_PC_TO_RETURN_ADDRESS(pc) ((pc) | 1)
#define HS_ARM_FP                       "r7"
#else
#define HS_ARM_PC_TO_RETURN_ADDRESS(pc) (pc)
#define HS_ARM_FP                       "r11"
#endif

#ifndef HEAPSONDE_THUMB_SOURCE
// Captures the function that uses it, at the place of the capture.
static inline __attribute__((always_inline)) void hs_capture_here(struct hs_registers *registers)
{
    uintptr_t pc;
    __asm__ volatile("mov %0, pc\n\tmov %1, sp\n\tmov %2, " HS_ARM_FP
                     : "=&r"(pc), "=&r"(registers->sp), "=&r"(registers->fp));
    registers->pc = HS_ARM_PC_TO_RETURN_ADDRESS(pc);
}

// The same for all registers that callers may have values in. The caller-saved registers are set to 0. Behind the nop
// is an instruction: of Thumb code there need not be one where pc says.
static inline __attribute__((always_inline)) void hs_capture_all(struct hs_all_registers *registers)
{
    uintptr_t *values = registers->values;
    uintptr_t pc, sp;
    for (int i = 0; i < HS_DWARF_REGISTERS; i++)
        values[i] = 0;
    __asm__ volatile("stmia %2, {r4, r5, r6, r7, r8, r9, r10, r11}\n\tmov %1, sp\n\tmov %0, pc\n\tnop"
                     : "=&r"(pc), "=&r"(sp)
                     : "r"(values + 4)
                     : "memory");
    values[HS_DWARF_SP] = sp;
    values[HS_DWARF_PC] = HS_ARM_PC_TO_RETURN_ADDRESS(pc);
}

#endif // single sources of Thumb code do not capture

#endif
