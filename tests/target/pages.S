// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A function of MIPS64 whose first instructions lie on both sides of a multiple of 64 KiB, and a pointer there, as in the
// table of addresses. No procedure descriptor says where the function starts.
        .section .text.crosses, "ax", @progbits
        .set noreorder
        .balign 65536
        .space 65536 - 16
        .globl crosses
        .hidden crosses
        .type crosses, @function
crosses:
        daddiu $sp, $sp, -208
        sd $31, 200($sp)
        sd $28, 184($sp)
        ld $2, 0($4)
page:
        sd $2, 24($sp)
        lui $28, %hi(%neg(%gp_rel(crosses)))
        daddu $28, $28, $25
        daddiu $28, $28, %lo(%neg(%gp_rel(crosses)))
        ld $25, 8($4)
        jalr $25
        nop
        .globl after_call
        .hidden after_call
after_call:
        ld $28, 184($sp)
        ld $31, 200($sp)
        jr $31
        daddiu $sp, $sp, 208
        .size crosses, . - crosses

// Stubs as the linker makes them for lazy binding.
        .section .text.stubs, "ax", @progbits
        .macro stub number
        ld $25, -32752($28)
        move $15, $31
        jalr $25
        daddiu $24, $0, \number
        .endm
        .globl second_stub
        .hidden second_stub
        stub 8
second_stub:
        stub 9
        stub 10
        nop

        .section .data.pages, "aw", @progbits
        .balign 8
        .globl pages
        .hidden pages
pages:  .dword page, crosses

        .section .note.GNU-stack, "", @progbits
