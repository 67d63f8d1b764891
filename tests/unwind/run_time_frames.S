// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Frames as runtimes make them that compile while they run. No tables: the walker has machine code and the stack alone.
        .text
        .macro FUNCTION name
        .balign 16
        .globl  \name
        .type   \name, @function
\name:
        .endm

// void frame_planted(void (*callback)(void), const void *fp): as V8 when it replaces a frame by that of its
// interpreter: `callback` returns to the first byte of a function. `fp` is the frame pointer meanwhile; NULL: the
// frame's own.
FUNCTION frame_planted
        push    %rbp
        mov     %rsp, %rbp
        call    replaced_frame
        pop     %rbp
        ret
        .size   frame_planted, . - frame_planted

FUNCTION replaced_frame
        push    %rbp
        mov     %rsp, %rbp
        push    %rbx
        mov     %rbp, %rbx
        sub     $24, %rsp
        test    %rsi, %rsi
        jz      1f
        mov     %rsi, %rbp
1:      lea     frame_planted_at(%rip), %rax
        push    %rax
        jmp     *%rdi
        .size   replaced_frame, . - replaced_frame

        .byte   0xcc // as between V8's functions
        .balign 32, 0xcc
FUNCTION frame_planted_at
        lea     -8(%rbx), %rsp
        pop     %rbx
        pop     %rbp
        ret
        .size   frame_planted_at, . - frame_planted_at

// void frame_luajit(void (*callback)(void), void (*code)(void), void **state): as LuaJIT's interpreter on AMD64 when it
// enters `code`, which has to jump to %r14. The state is in the frame, and points back at it if it is not NULL there.
FUNCTION frame_luajit
        push    %rbp
        push    %rbx
        push    %r15
        push    %r14
        sub     $40, %rsp
        mov     %rdx, 16(%rsp)
        movq    $0, 24(%rsp)
        movq    $0, 32(%rsp)
        cmpq    $0, 80(%rdx)
        je      1f
        mov     %rsp, 80(%rdx)
1:      lea     frame_luajit_left(%rip), %r14
        mov     $3, %ebp
        jmp     *%rsi
        .size   frame_luajit, . - frame_luajit

FUNCTION frame_luajit_left
        add     $40, %rsp
        pop     %r14
        pop     %r15
        pop     %rbx
        pop     %rbp
        ret
        .size   frame_luajit_left, . - frame_luajit_left

// void frame_process(void (*callback)(void), void **fp): machine code as Erlang makes it on AMD64, to be copied: `fp` is
// on the stack of a process.
FUNCTION frame_process
        push    %rbp
        mov     %rsi, %rbp
        call    *%rdi
        .globl  frame_process_called
frame_process_called:
        pop     %rbp
        ret
        .globl  frame_process_end
frame_process_end:
        .size   frame_process, . - frame_process

        .section .note.GNU-stack, "", @progbits
