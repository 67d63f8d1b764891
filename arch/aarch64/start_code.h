// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The first code of a process, where it has no call frame information.
#ifndef HEAPSONDE_ARCH_AARCH64_START_CODE_H
#define HEAPSONDE_ARCH_AARCH64_START_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_START_CODE_WINDOW 64

// Whether the code at a return address hands the initial stack to the program and jumps there: `mov x16, x21; br x16`,
// in older releases `br x21`, as glibc's dynamic loader does when the libraries' constructors have run. A function
// would have to give x21 back before it jumps on. `length`: readable bytes at `code`.
static inline bool hs_start_code(const unsigned char *code, size_t length)
{
    uint32_t before = 0, word;
    if (length > HS_START_CODE_WINDOW)
        length = HS_START_CODE_WINDOW;
    for (size_t at = 0; at + 4 <= length; at += 4, before = word) {
        word = code[at] | (uint32_t)code[at + 1] << 8 | (uint32_t)code[at + 2] << 16 | (uint32_t)code[at + 3] << 24;
        if ((before == 0xaa1503f0u && word == 0xd61f0200u) || word == 0xd61f02a0u)
            return true;
        if (word == 0xd65f03c0u) // ret: an ordinary function ends
            return false;
    }
    return false;
}

#endif
