// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The program that the golden trace claims to have recorded: functions at fixed addresses, each 256 bytes, with names
// of all kinds, and DWARF written by hand, so that no compiler can change the expected texts. Never run.

.macro function name
    .globl \name
    .type \name, @function
\name:
    .skip 256, 0x90
    .size \name, 256
.endm

    .text
    .globl _start
text_start:
_start:
    function main                               // 401000
    function load_config                        // 401100
parse_line_start:
    function parse_line                         // 401200
parse_line_end:
    function _ZN3app4ListI4PairIiiEE3addERKS2_  // 401300
    function _Znwm                              // 401400
    function _RNvCs1234_5mycrt7compute          // 401500
    function worker_thread                      // 401600
    .globl "odd;name<&'>\"ä"         // 401700
    .type "odd;name<&'>\"ä", @function
"odd;name<&'>\"ä":
    .skip 256, 0x90
    .size "odd;name<&'>\"ä", 256
text_end:

    .section .debug_abbrev, "", @progbits
    .uleb128 1                                  // compile unit
    .uleb128 0x11
    .byte 1
    .uleb128 0x03, 0x08                         // name: string
    .uleb128 0x1b, 0x08                         // comp_dir: string
    .uleb128 0x13, 0x0b                         // language: data1
    .uleb128 0x11, 0x01                         // low_pc: addr
    .uleb128 0x12, 0x07                         // high_pc: data8
    .uleb128 0x10, 0x17                         // stmt_list: sec_offset
    .uleb128 0, 0
    .uleb128 2                                  // subprogram
    .uleb128 0x2e
    .byte 1
    .uleb128 0x03, 0x08
    .uleb128 0x11, 0x01
    .uleb128 0x12, 0x07
    .uleb128 0, 0
    .uleb128 3                                  // inlined subroutine
    .uleb128 0x1d
    .byte 0
    .uleb128 0x31, 0x13                         // abstract_origin: ref4
    .uleb128 0x11, 0x01
    .uleb128 0x12, 0x07
    .uleb128 0x58, 0x0b                         // call_file: data1
    .uleb128 0x59, 0x0b                         // call_line: data1
    .uleb128 0, 0
    .uleb128 4                                  // abstract subprogram
    .uleb128 0x2e
    .byte 0
    .uleb128 0x03, 0x08
    .uleb128 0x20, 0x0b                         // inline: data1
    .uleb128 0, 0
    .uleb128 0

    .section .debug_info, "", @progbits
unit:
    .long unit_end - unit_begin
unit_begin:
    .short 4
    .long .debug_abbrev
    .byte 8
    .uleb128 1
    .asciz "src/parser.c"
    .asciz "/build/golden"
    .byte 0x0c
    .quad parse_line_start
    .quad parse_line_end - parse_line_start
    .long .debug_line
abstract:
    .uleb128 4
    .asciz "copy_token"
    .byte 1
    .uleb128 2
    .asciz "parse_line"
    .quad parse_line_start
    .quad parse_line_end - parse_line_start
    .uleb128 3
    .long abstract - unit
    .quad parse_line_start + 0x40
    .quad 0x40
    .byte 1
    .byte 57
    .byte 0
    .byte 0
unit_end:

    .section .debug_line, "", @progbits
line:
    .long line_end - line_begin
line_begin:
    .short 4
    .long header_end - header_begin
header_begin:
    .byte 1, 1, 1, -5, 14, 13
    .byte 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1
    .asciz "src"
    .byte 0
    .asciz "parser.c"
    .uleb128 1, 0, 0
    .asciz "token.h"
    .uleb128 1, 0, 0
    .byte 0
header_end:
    .byte 0, 9, 2                               // set_address
    .quad parse_line_start
    .byte 3                                     // advance_line
    .sleb128 49
    .byte 1                                     // line 50 at the start
    .byte 2                                     // advance_pc
    .uleb128 0x40
    .byte 4, 2                                  // file 2
    .byte 3
    .sleb128 -38
    .byte 1                                     // token.h:12 from 0x40
    .byte 2
    .uleb128 0x40
    .byte 4, 1
    .byte 3
    .sleb128 49
    .byte 1                                     // parser.c:61 from 0x80
    .byte 2
    .uleb128 0x80
    .byte 0, 1, 1                               // end of sequence
line_end:

    .section .note.GNU-stack, "", @progbits
