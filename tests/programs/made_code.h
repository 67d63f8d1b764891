// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A function that a program makes itself: it calls its argument. It has a frame pointer, and nobody knows its code.
#ifndef HEAPSONDE_TESTS_MADE_CODE_H
#define HEAPSONDE_TESTS_MADE_CODE_H

#include <stdint.h>
#include <string.h>

#if defined __x86_64__
// push rbp; mov rbp, rsp; call rdi; pop rbp; ret
static const unsigned char made_code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
#elif defined __aarch64__
// stp x29, x30, [sp, -16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], 16; ret
static const uint32_t made_code[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
#elif defined __thumb2__
// push {r7, lr}; add r7, sp, 0; blx r0; pop {r7, pc}
static const uint16_t made_code[] = {0xb580, 0xaf00, 0x4780, 0xbd80};
#elif defined __arm__
// push {r11, lr}; mov r11, sp; blx r0; pop {r11, pc}
static const uint32_t made_code[] = {0xe92d4800, 0xe1a0b00d, 0xe12fff30, 0xe8bd8800};
#elif defined __mips64
// daddiu sp, sp, -16; sd s8, 0(sp); sd ra, 8(sp); move s8, sp; move t9, a0; jalr t9; nop;
// ld ra, 8(sp); ld s8, 0(sp); jr ra; daddiu sp, sp, 16
static const uint32_t made_code[] = {0x67bdfff0, 0xffbe0000, 0xffbf0008, 0x03a0f025, 0x0080c825, 0x0320f809,
                                     0x00000000, 0xdfbf0008, 0xdfbe0000, 0x03e00008, 0x67bd0010};
#endif

typedef void made_function(void (*called)(void));

// Where the code at `memory` is called.
static inline made_function *made_at(char *memory)
{
    uintptr_t start = (uintptr_t)memory;
#ifdef __thumb2__
    start |= 1;
#endif
    return (made_function *)start;
}

#endif
