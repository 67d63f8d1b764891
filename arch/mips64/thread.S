// SPDX-License-Identifier: MIT OR Apache-2.0
//
// long hs_arch_clone_thread(unsigned long flags, void *stack_top, void (*entry)(void *), void *argument)

        .text
        .globl  hs_arch_clone_thread
        .hidden hs_arch_clone_thread
        .type   hs_arch_clone_thread, @function
        .p2align 2
        .set    noreorder
        .ent    hs_arch_clone_thread
hs_arch_clone_thread:
        .frame  $29, 0, $31
        .cfi_startproc
        daddiu  $5, $5, -16
        sd      $6, 0($5)
        sd      $7, 8($5)
        move    $6, $0
        move    $7, $0
        move    $8, $0
        li      $2, 5055
        syscall
        bnez    $7, 2f
        nop
        beqz    $2, 1f
        nop
        jr      $31
        nop
2:
        jr      $31
        dsubu   $2, $0, $2
1:
        // The new task: nothing called it, so its stack ends here for every unwinder.
        .cfi_undefined 31
        move    $30, $0
        move    $31, $0
        ld      $25, 0($29)
        ld      $4, 8($29)
        jalr    $25
        daddiu  $29, $29, 16
        break
        .cfi_endproc
        .end    hs_arch_clone_thread
        .size   hs_arch_clone_thread, .-hs_arch_clone_thread
        .section .note.GNU-stack, "", @progbits
