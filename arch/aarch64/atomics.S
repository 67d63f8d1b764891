// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What gcc calls for atomic operations where it does not know whether the processor has the instructions of ARMv8.1. Those
// of ARMv8.0 serve everywhere. libgcc has a function for each order of memory, which asks for the processor first; here
// one does for all orders, as the strongest needs it; nobody calls through a pointer. What is not here is taken from libgcc (arch/aarch64/atomics.c).

        .macro  begin name, size
        .irp    order, relax, acq, rel, acq_rel
        .weak   __aarch64_\name\size\()_\order
        .hidden __aarch64_\name\size\()_\order
        .type   __aarch64_\name\size\()_\order, %function
        .endr
        .section .text.__aarch64_\name\size, "ax", %progbits
        .p2align 2
        .irp    order, relax, acq, rel, acq_rel
__aarch64_\name\size\()_\order\():
        .endr
        .cfi_startproc
        .endm

        .macro  end name, size
        ret
        .cfi_endproc
        .irp    order, relax, acq, rel, acq_rel
        .size   __aarch64_\name\size\()_\order, .-__aarch64_\name\size\()_relax
        .endr
        .endm

        // old compare_and_swap(old, new, *place): `letter` b for bytes; `r` w or x.
        .macro  compare_and_swap size, letter, r
        begin   cas, \size
        .ifc    \letter, b
        uxtb    w16, w0
        .else
        mov     \r\()16, \r\()0
        .endif
1:      ldaxr\letter \r\()0, [x2]
        cmp     \r\()0, \r\()16
        b.ne    2f
        stlxr\letter w17, \r\()1, [x2]
        cbnz    w17, 1b
2:
        end     cas, \size
        .endm

        // old operate(number, *place)
        .macro  operation name, instruction, size, letter, r
        begin   \name, \size
        mov     \r\()16, \r\()0
1:      ldaxr\letter \r\()0, [x1]
        .ifc    \instruction, mov
        stlxr\letter w17, \r\()16, [x1]
        .else
        \instruction \r\()15, \r\()0, \r\()16
        stlxr\letter w17, \r\()15, [x1]
        .endif
        cbnz    w17, 1b
        end     \name, \size
        .endm

        compare_and_swap 1, b, w
        compare_and_swap 4, , w
        compare_and_swap 8, , x
        operation swp, mov, 1, b, w
        operation swp, mov, 4, , w
        operation swp, mov, 8, , x
        operation ldadd, add, 4, , w
        operation ldadd, add, 8, , x
        operation ldset, orr, 4, , w
        operation ldset, orr, 8, , x
        operation ldclr, bic, 4, , w
        operation ldclr, bic, 8, , x
        operation ldeor, eor, 4, , w
        operation ldeor, eor, 8, , x

        // Nothing here stands in the way of branch target identification.
        .section .note.gnu.property, "a", %note
        .p2align 3
        .word   4, 16, 5
        .asciz  "GNU"
        .word   0xc0000000, 4, 1, 0
        .section .note.GNU-stack, "", %progbits
