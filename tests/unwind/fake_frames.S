// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Code that never runs: its rules make fake stacks. Each label is a return address.

        .text
        .macro  LABEL name
        .globl  \name
        .hidden \name
        call    *%rax
\name:
        nop
        .endm

        .type   fake_code, @function
fake_code:
        // CFA = rsp + 16, rbp unchanged
        .cfi_startproc
        .cfi_def_cfa_offset 16
        LABEL   fake_plain
        LABEL   fake_plain_too
        .cfi_endproc
        // CFA = rbp + 16, rbp at CFA - 16
        .cfi_startproc
        .cfi_def_cfa rbp, 16
        .cfi_offset rbp, -16
        LABEL   fake_framed
        .cfi_endproc
        // CFA = rsp + 24, rbp at CFA - 16
        .cfi_startproc
        .cfi_def_cfa_offset 24
        .cfi_offset rbp, -16
        LABEL   fake_saving
        .cfi_endproc
        // the end
        .cfi_startproc
        .cfi_undefined rip
        LABEL   fake_root
        LABEL   fake_root_too
        .cfi_endproc
        nop
        .size   fake_code, .-fake_code

        // No frame information at all, and the code does not tell either.
        .type   fake_unknown_code, @function
fake_unknown_code:
        mov     %rax, %rsp
        mov     %rax, %rbp
        nop
        LABEL   fake_unknown
        .size   fake_unknown_code, .-fake_unknown_code

        // No call is before it: as a return address it was put there.
        .globl  fake_planted
        .hidden fake_planted
        .type   fake_planted, @function
        .skip   16, 0x90
fake_planted:
        .cfi_startproc
        nop
        .cfi_endproc
        .size   fake_planted, .-fake_planted
        .section .note.GNU-stack, "", @progbits
