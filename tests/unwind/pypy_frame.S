// SPDX-License-Identifier: MIT OR Apache-2.0
//
// void frame_pypy(void (*callback)(void), intptr_t kind, size_t pushed, const void *object): machine code as PyPy makes
// it, to be copied. It keeps an entry of `kind` in its frame, and pushes `pushed` bytes before it calls. No tables.
        .text
        .balign 16
        .globl  frame_pypy
        .type   frame_pypy, %function
frame_pypy:
#if defined(__x86_64__)
        sub     $184, %rsp
        mov     %rbp, 96(%rsp)
        mov     %rbx, 104(%rsp)
        mov     %rsp, 160(%rsp)
        mov     %rsi, 168(%rsp)
        mov     %rcx, %rbp
        mov     %rdx, %rbx
        sub     %rbx, %rsp
        call    *%rdi
        add     %rbx, %rsp
        mov     104(%rsp), %rbx
        mov     96(%rsp), %rbp
        add     $184, %rsp
        ret
#else
        stp     x30, x29, [sp, #-80]!
        stp     x19, x20, [sp, #64]
        add     x17, sp, #0
        str     x17, [sp, #40]
        str     x1, [sp, #48]
        mov     x29, x3
        mov     x19, x2
        sub     sp, sp, x19
        blr     x0
        add     sp, sp, x19
        ldp     x19, x20, [sp, #64]
        ldp     x30, x29, [sp], #80
        ret
#endif
        .globl  frame_pypy_end
frame_pypy_end:
        .size   frame_pypy, . - frame_pypy
        .section .note.GNU-stack, "", %progbits
