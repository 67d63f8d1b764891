// SPDX-License-Identifier: MIT OR Apache-2.0
//
// void odd_*(void (*call)(void *), void *argument): each calls call(argument) from a frame that no compiler makes.

        .text
        .macro  FUNCTION name
        .globl  \name
        .hidden \name
        .type   \name, @function
\name:
        .cfi_startproc
        .endm
        .macro  END name
        .cfi_endproc
        .size   \name, .-\name
        .endm

// The CFA is an expression with arithmetic: rsp + (1 << 5).
        FUNCTION odd_cfa_expression
        subq    $24, %rsp
        // DW_CFA_def_cfa_expression: breg7 0, lit1, lit5, shl, plus
        .cfi_escape 0x0f, 0x06, 0x77, 0x00, 0x31, 0x35, 0x24, 0x22
        movq    %rdi, %rax
        movq    %rsi, %rdi
        call    *%rax
        addq    $24, %rsp
        .cfi_def_cfa 7, 8
        ret
        END     odd_cfa_expression

// The frame hangs on rbx, as in _dl_runtime_resolve; rbp is destroyed and saved, r12 carries a value across.
        FUNCTION odd_rbx_based
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbx, 0
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        movq    %rsp, %rbx
        .cfi_def_cfa_register rbx
        subq    $200, %rsp
        andq    $-64, %rsp
        movq    $0x123, %rbp
        movq    %rdi, %rax
        movq    %rsi, %rdi
        call    *%rax
        movq    %rbx, %rsp
        .cfi_def_cfa_register rsp
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbp
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbx
        ret
        END     odd_rbx_based

// A frame size that is no multiple of 8. The callee is called with an aligned stack through a second step.
        FUNCTION odd_unaligned
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        subq    $20, %rsp
        .cfi_adjust_cfa_offset 20
        subq    $12, %rsp
        .cfi_adjust_cfa_offset 12
        subq    $3, %rsp
        .cfi_adjust_cfa_offset 3
        movq    %rdi, %rax
        movq    %rsi, %rdi
        call    odd_realign
        addq    $35, %rsp
        .cfi_adjust_cfa_offset -35
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbp
        ret
        END     odd_unaligned

        FUNCTION odd_realign
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        movq    %rsp, %rbp
        .cfi_def_cfa_register rbp
        andq    $-16, %rsp
        call    *%rax
        movq    %rbp, %rsp
        popq    %rbp
        .cfi_def_cfa 7, 8
        .cfi_restore rbp
        ret
        END     odd_realign

// remember_state five deep, restored in the wrong places on purpose before the call.
        FUNCTION odd_remember_nested
        .cfi_remember_state
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        .cfi_remember_state
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        .cfi_remember_state
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        .cfi_remember_state
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        .cfi_remember_state
        .cfi_adjust_cfa_offset 800
        nop
        .cfi_restore_state
        nop
        .cfi_restore_state
        addq    $8, %rsp
        movq    %rdi, %rax
        movq    %rsi, %rdi
        call    *%rax
        addq    $8, %rsp
        .cfi_restore_state
        addq    $8, %rsp
        .cfi_restore_state
        popq    %rbp
        .cfi_restore_state
        ret
        END     odd_remember_nested

// The return address is popped and kept in r12 and in another place.
        FUNCTION odd_return_address_moved
        pushq   %r12
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r12, 0
        movq    8(%rsp), %r12
        .cfi_register rip, r12
        movq    $0, 8(%rsp)
        movq    %rdi, %rax
        movq    %rsi, %rdi
        call    odd_realign
        movq    %r12, 8(%rsp)
        .cfi_offset rip, -8
        popq    %r12
        .cfi_adjust_cfa_offset -8
        .cfi_restore r12
        ret
        END     odd_return_address_moved

// rbp is kept doubled in its slot: the caller's is a value expression.
        FUNCTION odd_value_expression
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        shlq    $1, (%rsp)
        // DW_CFA_val_expression, rbp: lit16, minus, deref, lit1, shr
        .cfi_escape 0x16, 0x06, 0x05, 0x40, 0x1c, 0x06, 0x31, 0x25
        movq    $1, %rbp
        subq    $16, %rsp
        .cfi_adjust_cfa_offset 16
        movq    %rdi, %rax
        movq    %rsi, %rdi
        call    odd_realign
        addq    $16, %rsp
        .cfi_adjust_cfa_offset -16
        shrq    $1, (%rsp)
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbp
        ret
        END     odd_value_expression

        .section .note.GNU-stack, "", @progbits
