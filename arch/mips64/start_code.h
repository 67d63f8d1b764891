// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The first code of a process, where it has no call frame information.
#ifndef HEAPSONDE_ARCH_MIPS64_START_CODE_H
#define HEAPSONDE_ARCH_MIPS64_START_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_START_CODE_WINDOW 64

// Whether the code at a return address hands the initial stack to the program and jumps there: `move t9, s1; jr t9;
// nop`, as glibc's dynamic loader does when the libraries' constructors have run. A function would have to give s1 back
// before it jumps on. `length`: readable bytes at `code`.
static inline bool hs_start_code(const unsigned char *code, size_t length)
{
    uint32_t before[2] = {0, 0}, word;
    if (length > HS_START_CODE_WINDOW)
        length = HS_START_CODE_WINDOW;
    for (size_t at = 0; at + 4 <= length; at += 4, before[1] = before[0], before[0] = word) {
#ifdef __MIPSEB__
        word = code[at + 3] | (uint32_t)code[at + 2] << 8 | (uint32_t)code[at + 1] << 16 | (uint32_t)code[at] << 24;
#else
        word = code[at] | (uint32_t)code[at + 1] << 8 | (uint32_t)code[at + 2] << 16 | (uint32_t)code[at + 3] << 24;
#endif
        bool moved = before[1] == 0x0220c825u || before[1] == 0x0220c82du;            // or, daddu
        if (moved && (before[0] == 0x03200008u || before[0] == 0x03200009u) && !word) // jr, in release 6 jalr zero
            return true;
    }
    return false;
}

#endif
