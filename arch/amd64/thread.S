// SPDX-License-Identifier: MIT OR Apache-2.0
//
// long hs_arch_clone_thread(unsigned long flags, void *stack_top, void (*entry)(void *), void *argument)

        .text
        .globl  hs_arch_clone_thread
        .hidden hs_arch_clone_thread
        .type   hs_arch_clone_thread, @function
hs_arch_clone_thread:
        .cfi_startproc
        endbr64
        subq    $16, %rsi
        movq    %rdx, (%rsi)
        movq    %rcx, 8(%rsi)
        xorl    %edx, %edx
        xorl    %r10d, %r10d
        xorl    %r8d, %r8d
        movl    $56, %eax
        syscall
        testq   %rax, %rax
        jz      1f
        ret
1:
        // The new task: nothing called it, so its stack ends here for every unwinder.
        .cfi_undefined rip
        xorl    %ebp, %ebp
        popq    %rax
        popq    %rdi
        call    *%rax
        hlt
        .cfi_endproc
        .size   hs_arch_clone_thread, .-hs_arch_clone_thread
        .section .note.GNU-stack, "", @progbits
