// SPDX-License-Identifier: MIT OR Apache-2.0
//
// long hs_arch_clone_thread(unsigned long flags, void *stack_top, void (*entry)(void *), void *argument)

        .text
        .globl  hs_arch_clone_thread
        .hidden hs_arch_clone_thread
        .type   hs_arch_clone_thread, %function
        .p2align 2
hs_arch_clone_thread:
        .cfi_startproc
        hint    #34                     // bti c
        stp     x2, x3, [x1, #-16]!
        mov     x2, #0
        mov     x3, #0
        mov     x4, #0
        mov     x8, #220
        svc     #0
        cbz     x0, 1f
        ret
1:
        // The new task: nothing called it, so its stack ends here for every unwinder.
        .cfi_undefined x30
        mov     x29, #0
        mov     x30, #0
        ldp     x1, x0, [sp], #16
        blr     x1
        brk     #0
        .cfi_endproc
        .size   hs_arch_clone_thread, .-hs_arch_clone_thread

        // Nothing here stands in the way of branch target identification.
        .section .note.gnu.property, "a", %note
        .p2align 3
        .word   4, 16, 5
        .asciz  "GNU"
        .word   0xc0000000, 4, 1, 0
        .section .note.GNU-stack, "", %progbits
