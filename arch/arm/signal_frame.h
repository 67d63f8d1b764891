// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where the kernel keeps the interrupted registers (struct sigframe and rt_sigframe of arch/arm). At the signal
// trampoline sp points at the ucontext, of handlers with SA_SIGINFO at 128 bytes of siginfo before it.
#ifndef HEAPSONDE_ARCH_ARM_SIGNAL_FRAME_H
#define HEAPSONDE_ARCH_ARM_SIGNAL_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#define HS_SIGNAL_CONTEXT_FROM_SP   128
#define HS_KERNEL_SIGSET_SIZE       8
#define HS_SIGNAL_TRAMPOLINE_SIZE   8
#define HS_SIGNAL_TRAMPOLINE_SECOND 4 // where its second instruction starts

// Where the kernel keeps a register, from the start of the ucontext, by DWARF number.
static inline unsigned hs_signal_register_place(unsigned number)
{
    return 32 + 4 * number;
}
#define HS_SIGNAL_REGISTERS  16
#define HS_SIGNAL_CPSR_PLACE 96 // bit 5: Thumb

// The number of the system call that the trampoline at `code` makes (HS_SIGNAL_TRAMPOLINE_SIZE readable bytes), -1 if
// there is none. The forms are `mov r7, #number; svc 0` in ARM code, where old kernels add their base to the operand,
// in wide and in narrow Thumb code.
static inline int hs_signal_trampoline_call(const unsigned char *code)
{
    if (code[1] == 0x70 && code[2] == 0xa0 && code[3] == 0xe3 && code[7] == 0xef)
        return code[0];
    if (code[0] == 0x4f && code[1] == 0xf0 && code[3] == 0x07 && code[4] == 0x00 && code[5] == 0xdf)
        return code[2];
    return code[1] == 0x27 && code[2] == 0x00 && code[3] == 0xdf ? code[0] : -1;
}

enum { HS_SIGRETURN = 119, HS_RT_SIGRETURN = 173 };

static inline bool hs_signal_trampoline(const unsigned char *code)
{
    int call = hs_signal_trampoline_call(code);
    return call == HS_SIGRETURN || call == HS_RT_SIGRETURN;
}

// In Thumb code a system call of ours (syscall.h) keeps r7, the frame pointer, in another register around its `svc`. If
// the interrupted code at `code` (4 readable bytes, and 2 before) is at that or behind it: which register; else r7.
#define HS_SIGNAL_FP_KEPT 7
static inline unsigned hs_signal_fp_register(const unsigned char *code)
{
    const unsigned char *svc = code[1] == 0xdf ? code : code - 2;
    const bool keeps = svc[0] == 0 && svc[1] == 0xdf && (svc[2] & 0x87) == 0x07 && svc[3] == 0x46; // mov r7, rN
    return keeps ? svc[2] >> 3 & 15u : HS_SIGNAL_FP_KEPT;
}

// Where the ucontext is, from sp, at the trampoline at `code`.
#define HS_SIGNAL_CONTEXT_FROM_SP_AT(code)                                                                             \
    (hs_signal_trampoline_call(code) == HS_RT_SIGRETURN ? HS_SIGNAL_CONTEXT_FROM_SP : 0)

#endif
