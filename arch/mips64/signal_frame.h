// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where the kernel keeps the interrupted registers (struct rt_sigframe of arch/mips). At the signal trampoline sp
// points at 24 bytes of arguments and 128 bytes of siginfo, then the ucontext.
#ifndef HEAPSONDE_ARCH_MIPS64_SIGNAL_FRAME_H
#define HEAPSONDE_ARCH_MIPS64_SIGNAL_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#define HS_SIGNAL_CONTEXT_FROM_SP   152
#define HS_KERNEL_SIGSET_SIZE       16
#define HS_SIGNAL_TRAMPOLINE_SIZE   8
#define HS_SIGNAL_TRAMPOLINE_SECOND 4 // where its second instruction starts

// Where the kernel keeps a register, from the start of the ucontext, by DWARF number.
static inline unsigned hs_signal_register_place(unsigned number)
{
    return number == 32 ? 616 : 40 + 8 * number; // the pc is behind the floating point registers
}
#define HS_SIGNAL_REGISTERS 33

// Whether the trampoline `li $2, 5211; syscall` starts at `code` (HS_SIGNAL_TRAMPOLINE_SIZE readable bytes).
static inline bool hs_signal_trampoline(const unsigned char *code)
{
#ifdef __MIPSEB__
    static const unsigned char expected[HS_SIGNAL_TRAMPOLINE_SIZE] = {0x24, 0x02, 0x14, 0x5b, 0, 0, 0, 0x0c};
#else
    static const unsigned char expected[HS_SIGNAL_TRAMPOLINE_SIZE] = {0x5b, 0x14, 0x02, 0x24, 0x0c, 0, 0, 0};
#endif
    for (int i = 0; i < HS_SIGNAL_TRAMPOLINE_SIZE; i++)
        if (code[i] != expected[i])
            return false;
    return true;
}

#endif
