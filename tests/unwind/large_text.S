// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Seven megabytes of functions without any tables, and among them one that calls what it is given.
        .text
        .macro  FUNCTIONS count
        .rept   \count
        .balign 16
        push    %rbx
        sub     $96, %rsp
        call    . + 64 - 5
        .rept   12
        mov     %rbx, 8(%rsp)
        .endr
        add     $96, %rsp
        pop     %rbx
        ret
        .endr
        .endm

        FUNCTIONS 45000
        .balign 16
        .globl  call_in_large_text
        .type   call_in_large_text, @function
call_in_large_text:
        push    %rbx
        sub     $4000, %rsp
        call    *%rdi
        add     $4000, %rsp
        pop     %rbx
        ret
        .size   call_in_large_text, .-call_in_large_text
        FUNCTIONS 45000
        .section .note.GNU-stack, "", @progbits
