// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The first code of a process, where it has no call frame information.
#ifndef HEAPSONDE_ARCH_ARM_START_CODE_H
#define HEAPSONDE_ARCH_ARM_START_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_START_CODE_WINDOW 64

// Whether the code at a return address hands the initial stack to the program and jumps there: `add r0, sl, r0; bx r6`,
// as glibc's dynamic loader does when the libraries' constructors have run. A function would have to give r6 back
// before it jumps on. `length`: readable bytes at `code`.
static inline bool hs_start_code(const unsigned char *code, size_t length)
{
    static const unsigned char handover[] = {0x00, 0x00, 0x8a, 0xe0, 0x16, 0xff, 0x2f, 0xe1};
    if (length > HS_START_CODE_WINDOW)
        length = HS_START_CODE_WINDOW;
    for (size_t at = 0; at + sizeof handover <= length; at += 4) {
        size_t same = 0;
        while (same < sizeof handover && code[at + same] == handover[same])
            same++;
        if (same == sizeof handover)
            return true;
    }
    return false;
}

#endif
