// SPDX-License-Identifier: MIT OR Apache-2.0
//
// void stepper_call(void (*function)(void *), void *argument): calls with the trap flag set.

        .text
        .globl  stepper_call
        .hidden stepper_call
        .type   stepper_call, @function
stepper_call:
        .cfi_startproc
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        movq    %rdi, %rax
        movq    %rsi, %rdi
        pushfq
        .cfi_adjust_cfa_offset 8
        orq     $0x100, (%rsp)
        popfq
        .cfi_adjust_cfa_offset -8
        call    *%rax
        pushfq
        .cfi_adjust_cfa_offset 8
        andq    $~0x100, (%rsp)
        popfq
        .cfi_adjust_cfa_offset -8
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size   stepper_call, .-stepper_call
        .section .note.GNU-stack, "", @progbits
