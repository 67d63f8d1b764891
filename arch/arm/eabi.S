// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Functions of the run-time ABI that the compiler and libgcc call and that libc would provide. The shim has no libc; a
// program that is linked with the walker has its own.

        .syntax unified
        .arm
        .text

        .macro  hidden_function name
        .weak   \name
        .hidden \name
        .type   \name, %function
\name:
        .endm

        // A division by zero: the quotient is what lies in r0 (and r1). libgcc's raises a signal through libc.
        .p2align 2
        .fnstart
        .cantunwind
hidden_function __aeabi_idiv0
hidden_function __aeabi_ldiv0
        bx      lr
        .fnend

        // Named by the exception index of code that a compact entry unwinds. Nobody calls these: the unwinder of the
        // program has its own.
        .fnstart
        .cantunwind
hidden_function __aeabi_unwind_cpp_pr0
hidden_function __aeabi_unwind_cpp_pr1
hidden_function __aeabi_unwind_cpp_pr2
        mov     r0, #9                  // _URC_FAILURE
        bx      lr
        .fnend

        // The thread pointer in r0; all other registers stay. The kernel has this at a fixed place on every processor
        // that lacks a register for it.
        .fnstart
        .cantunwind
hidden_function __aeabi_read_tp
        mvn     r0, #0xf000             // 0xffff0fff
        sub     pc, r0, #31             // 0xffff0fe0
        .fnend

        .section .note.GNU-stack, "", %progbits
