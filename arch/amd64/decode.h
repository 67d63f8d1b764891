// SPDX-License-Identifier: MIT OR Apache-2.0
//
// An AMD64 instruction taken apart: prefixes, opcode, operands. Registers have the numbers of the encoding (4 is rsp).
#ifndef HEAPSONDE_ARCH_AMD64_DECODE_H
#define HEAPSONDE_ARCH_AMD64_DECODE_H

#include "arch/decode_bits.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R11 = 11, AMD64_NO_REGISTER = 0xff };

enum amd64_map {
    AMD64_MAP_MAIN,
    AMD64_MAP_0F,
    AMD64_MAP_0F38,
    AMD64_MAP_0F3A,
    AMD64_MAP_EVEX_5 = 5, // half precision
    AMD64_MAP_EVEX_6 = 6,
    AMD64_MAP_XOP_8 = 8,
    AMD64_MAP_XOP_9 = 9,
    AMD64_MAP_XOP_A = 10,
};

struct amd64_memory {
    uint8_t base, index; // AMD64_NO_REGISTER: none
    uint8_t scale;       // log2
    bool plain;          // base + constant in the flat address space: no index, segment, rip, or 32-bit address
    int32_t displacement;
};

// The longest instruction has 15 bytes. What takes one apart may ask for more and gets zeros, which are no prefix.
enum { AMD64_LONGEST = 15, AMD64_BYTES = 32 };

struct amd64 {
    uint8_t bytes[AMD64_BYTES];
    uint8_t at; // bytes taken so far

    bool operand_16, address_32, repeat, repeat_not, segment; // 66, 67, F3, F2, FS or GS
    bool rex, wide;                                           // any REX; 64-bit operands
    uint8_t extend_reg, extend_index, extend_base;            // 8 or 0
    bool vector;                                              // VEX, EVEX or XOP; then:
    uint8_t vector_reg;                                       // the register of vvvv, by its low four bits

    uint8_t map; // enum amd64_map
    uint8_t opcode;
    bool has_modrm, is_memory;
    uint8_t reg, rm;    // extended
    uint8_t reg_opcode; // reg as an extension of the opcode: not extended
    uint8_t modrm;
    struct amd64_memory memory;
    int64_t immediate; // or the distance of a branch
};

// False: no instruction, or cut off. `bytes`: `length` of them can be read.
__attribute__((visibility("hidden"))) bool hs_amd64_take_apart(struct amd64 *code, const uint8_t *bytes, size_t length);

#endif
