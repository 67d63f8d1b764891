// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where the kernel keeps the interrupted registers (struct rt_sigframe of arch/x86). At the first instruction of the
// signal trampoline rsp points at the ucontext.
#ifndef HEAPSONDE_ARCH_AMD64_SIGNAL_FRAME_H
#define HEAPSONDE_ARCH_AMD64_SIGNAL_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#define HS_SIGNAL_CONTEXT_FROM_SP   0
#define HS_SIGNAL_TRAMPOLINE_SIZE   9
#define HS_SIGNAL_TRAMPOLINE_SECOND 7 // where its second instruction starts
#define HS_SIGNAL_REGISTERS         17
#define HS_KERNEL_SIGSET_SIZE       8

// Where the kernel keeps a register, from the start of the ucontext, by DWARF number.
static inline unsigned hs_signal_register_place(unsigned number)
{
    static const uint8_t places[] = {144, 136, 152, 128, 112, 104, 120, 160, 40, 48, 56, 64, 72, 80, 88, 96, 168};
    return places[number];
}

// Whether the trampoline `mov $15,%rax; syscall` starts at `code` (HS_SIGNAL_TRAMPOLINE_SIZE readable bytes).
static inline bool hs_signal_trampoline(const unsigned char *code)
{
    static const unsigned char expected[HS_SIGNAL_TRAMPOLINE_SIZE] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    for (int i = 0; i < HS_SIGNAL_TRAMPOLINE_SIZE; i++)
        if (code[i] != expected[i])
            return false;
    return true;
}

#endif
