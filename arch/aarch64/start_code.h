// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The first code of a process, where it has no call frame information.
#ifndef HEAPSONDE_ARCH_AARCH64_START_CODE_H
#define HEAPSONDE_ARCH_AARCH64_START_CODE_H

#include <stdbool.h>
#include <stddef.h>

#define HS_START_CODE_WINDOW 64

// Whether the code at a return address hands the initial stack to the program and jumps there.
static inline bool hs_start_code(const unsigned char *code, size_t length)
{
    (void)code;
    (void)length;
    return false;
}

#endif
