// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How to tell the return to code that called on another stack and keeps in memory where its own one is: Go's
// runtime.asmcgocall. It keeps its goroutine (g) and how deep its stack was, as a callback may move that. No table and
// no register tells where it is.
#ifndef HEAPSONDE_ARCH_ARM_OTHER_STACK_H
#define HEAPSONDE_ARCH_ARM_OTHER_STACK_H

// The instructions after the call, and the expressions of the CFA (struct hs_other_stack, unwind/other_stack.h).
// mov r5, r0; ldr r0, [sp, #20]; bl setg; ldr r1, [g, #4]; ldr r2, [sp, #16]; sub r1, r1, r2; mov r0, r5; mov sp, r1
// CFA = [[sp + 20] + 4] - [sp + 16] + 4
// On the stack of the system already: ldr r2, [sp, #16]; mov sp, r2; str r0, [sp, #16]
#define HS_OTHER_STACKS                                                                                                \
    {                                                                                                                  \
        {{0xe1a05000, 0xe59d0014, 0xeb000000, 0xe59a1004, 0xe59d2010, 0xe0411002, 0xe1a00005, 0xe1a0d001},             \
         8,                                                                                                            \
         3,                                                                                                            \
         {12, 0x7d, 20, 0x06, 0x23, 4, 0x06, 0x7d, 16, 0x06, 0x1c, 0x23, 4}},                                          \
        {                                                                                                              \
            {0xe59d2010, 0xe1a0d002, 0xe58d0010}, 3, 0,                                                                \
            {                                                                                                          \
                5, 0x7d, 16, 0x06, 0x23, 4                                                                             \
            }                                                                                                          \
        }                                                                                                              \
    }
#define HS_OTHER_STACK_BRANCH 0xff000000u // what no address is in
// From the CFA: ldr pc, [sp], #4
#define HS_OTHER_STACK_RA (-4)

#endif
