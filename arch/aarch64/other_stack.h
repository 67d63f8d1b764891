// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How to tell the return to code that called on another stack and keeps in memory where its own one is: Go's
// runtime.asmcgocall. It keeps its goroutine (g) and how deep its stack was, as a callback may move that. No table and
// no register tells where it is.
#ifndef HEAPSONDE_ARCH_AARCH64_OTHER_STACK_H
#define HEAPSONDE_ARCH_AARCH64_OTHER_STACK_H

// The instructions after the call, and the expressions of the CFA (struct hs_other_stack, unwind/other_stack.h).
// mov x9, x0; ldr g, [sp]; bl save_g; ldr x5, [g, #8]; ldr x6, [sp, #8]; sub x5, x5, x6; mov x0, x9; mov sp, x5
// CFA = [[sp] + 8] - [sp + 8] + 16
// On the stack of the system already: ldr x2, [sp, #8]; mov sp, x2; str x0, [sp, #40]
#define HS_OTHER_STACKS                                                                                                \
    {                                                                                                                  \
        {{0xaa0003e9, 0xf94003fc, 0x94000000, 0xf9400785, 0xf94007e6, 0xcb0600a5, 0xaa0903e0, 0x910000bf},             \
         8,                                                                                                            \
         3,                                                                                                            \
         {12, 0x8f, 0, 0x06, 0x23, 8, 0x06, 0x8f, 8, 0x06, 0x1c, 0x23, 16}},                                           \
        {                                                                                                              \
            {0xf94007e2, 0x9100005f, 0xf90017e0}, 3, 0,                                                                \
            {                                                                                                          \
                5, 0x8f, 8, 0x06, 0x23, 16                                                                             \
            }                                                                                                          \
        }                                                                                                              \
    }
#define HS_OTHER_STACK_BRANCH 0xfc000000u // what no address is in
// From the CFA: mov sp, x5 ... ldur x29, [sp, #-8]; ldr x30, [sp], #16
#define HS_OTHER_STACK_RA (-16)
#define HS_OTHER_STACK_FP (-24)

#endif
