// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where the kernel keeps the interrupted registers (struct rt_sigframe of arch/arm64). At the signal trampoline sp
// points at 128 bytes of siginfo, then the ucontext.
#ifndef HEAPSONDE_ARCH_AARCH64_SIGNAL_FRAME_H
#define HEAPSONDE_ARCH_AARCH64_SIGNAL_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#define HS_SIGNAL_CONTEXT_FROM_SP   128
#define HS_KERNEL_SIGSET_SIZE       8
#define HS_SIGNAL_TRAMPOLINE_SIZE   8
#define HS_SIGNAL_TRAMPOLINE_SECOND 4 // where its second instruction starts

// Where the kernel keeps a register, from the start of the ucontext, by DWARF number.
static inline unsigned hs_signal_register_place(unsigned number)
{
    return 184 + 8 * number; // x0..x30, sp, pc
}
#define HS_SIGNAL_REGISTERS 33

// Whether the trampoline `mov x8, #139; svc #0` starts at `code` (HS_SIGNAL_TRAMPOLINE_SIZE readable bytes).
static inline bool hs_signal_trampoline(const unsigned char *code)
{
    static const unsigned char expected[HS_SIGNAL_TRAMPOLINE_SIZE] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
    for (int i = 0; i < HS_SIGNAL_TRAMPOLINE_SIZE; i++)
        if (code[i] != expected[i])
            return false;
    return true;
}

#endif
