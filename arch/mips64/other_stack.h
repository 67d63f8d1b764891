// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How to tell the return to code that called on another stack and keeps in memory where its own one is: Go's
// runtime.asmcgocall. It keeps its goroutine (g) and how deep its stack was, as a callback may move that. No table and
// no register tells where it is.
#ifndef HEAPSONDE_ARCH_MIPS64_OTHER_STACK_H
#define HEAPSONDE_ARCH_MIPS64_OTHER_STACK_H

// The instructions after the call, and the expressions of the CFA (struct hs_other_stack, unwind/other_stack.h).
// ld g, 0(sp); jal save_g; nop; ld a1, 8(g); ld a2, 8(sp); dsubu a1, a1, a2; or sp, zero, a1
// CFA = [[sp] + 8] - [sp + 8] + 8
#define HS_OTHER_STACKS                                                                                                \
    {                                                                                                                  \
        {                                                                                                              \
            {0xdfbe0000, 0x0c000000, 0, 0xdfc50008, 0xdfa60008, 0x00a6282f, 0x0005e825}, 7, 2,                         \
            {                                                                                                          \
                12, 0x8d, 0, 0x06, 0x23, 8, 0x06, 0x8d, 8, 0x06, 0x1c, 0x23, 8                                         \
            }                                                                                                          \
        }                                                                                                              \
    }
#define HS_OTHER_STACK_BRANCH 0xfc000000u // what no address is in
// From the CFA: ld ra, 0(sp); daddi sp, sp, 8
#define HS_OTHER_STACK_RA (-8)

#endif
