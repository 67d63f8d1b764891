// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The program that the traces of these tests claim to have recorded: functions at fixed addresses, each 256 bytes. Never
// run.
.macro function name
    .globl \name
    .type \name, @function
\name:
    .skip 256, 0x90
    .size \name, 256
.endm

    .text
    .globl _start
_start:
    function main                                            // 401000
    function f                                               // 401100
    function g                                               // 401200
    function _ZN4ListISt4pairIiiEE3addERKS1_                 // 401300
    function _Z41__static_initialization_and_destruction_0ii // 401400
    function _Z41__static_initialization_and_destruction_0ii.constprop.0 // 401500

    .section .note.GNU-stack, "", @progbits
