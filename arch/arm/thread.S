// SPDX-License-Identifier: MIT OR Apache-2.0
//
// long hs_arch_clone_thread(unsigned long flags, void *stack_top, void (*entry)(void *), void *argument)

        .syntax unified
        .arm
        .text
        .globl  hs_arch_clone_thread
        .hidden hs_arch_clone_thread
        .type   hs_arch_clone_thread, %function
        .p2align 2
hs_arch_clone_thread:
        .fnstart
        .cantunwind
        .cfi_startproc
        stmdb   r1!, {r2, r3}
        push    {r4, r7}
        .cfi_adjust_cfa_offset 8
        .cfi_offset r4, -8
        .cfi_offset r7, -4
        mov     r2, #0
        mov     r3, #0
        mov     r4, #0
        mov     r7, #120
        svc     #0
        cmp     r0, #0
        beq     1f
        pop     {r4, r7}
        bx      lr
1:
        // The new task: nothing called it, so its stack ends here for every unwinder.
        .cfi_undefined lr
        mov     r7, #0
        mov     r11, #0
        mov     lr, #0
        pop     {r1, r2}
        mov     r0, r2
        blx     r1
        udf     #0
        .cfi_endproc
        .fnend
        .size   hs_arch_clone_thread, .-hs_arch_clone_thread
        .section .note.GNU-stack, "", %progbits
