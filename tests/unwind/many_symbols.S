// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Eighty thousand functions of 64 bytes without any tables but a symbol for each, and two among them that call what they
// are given.
        .text
        .macro  FUNCTION
        .balign 64
        .type   function_\@, @function
function_\@:
        push    %rbx
        pop     %rbx
        ret
        .size   function_\@, .-function_\@
        .endm

        .macro  CALLER name
        .balign 64
        .globl  \name
        .type   \name, @function
\name:
        push    %rbx
        sub     $4000, %rsp
        call    *%rdi
        add     $4000, %rsp
        pop     %rbx
        ret
        .size   \name, .-\name
        .endm

        .rept   40000
        FUNCTION
        .endr
        CALLER  call_in_first_half
        .rept   39998
        FUNCTION
        .endr
        CALLER  call_at_end
        .section .note.GNU-stack, "", @progbits
