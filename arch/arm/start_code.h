// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The first code of a process or of a thread, where it has no call frame information.
#ifndef HEAPSONDE_ARCH_ARM_START_CODE_H
#define HEAPSONDE_ARCH_ARM_START_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_START_CODE_WINDOW 64

// Whether the code ends the thread: `mov r7, #1 (exit); svc 0`. That is where a thread's function returns to: what it
// was called with is on a stack of its own, and the link register has been given away.
static inline bool hs_thread_exit_code(const unsigned char *code, size_t length)
{
    static const unsigned char arm[] = {0x01, 0x70, 0xa0, 0xe3, 0x00, 0x00, 0x00, 0xef};
    static const unsigned char thumb[] = {0x4f, 0xf0, 0x01, 0x07, 0x00, 0xdf};
    size_t as_arm = 0, as_thumb = 0;
    while (as_arm < sizeof arm && as_arm < length && code[as_arm] == arm[as_arm])
        as_arm++;
    while (as_thumb < sizeof thumb && as_thumb < length && code[as_thumb] == thumb[as_thumb])
        as_thumb++;
    return as_arm == sizeof arm || as_thumb == sizeof thumb;
}

// Whether the code at a return address hands the initial stack to the program and jumps there: `add r0, sl, r0; bx r6`,
// as glibc's dynamic loader does when the libraries' constructors have run. A function would have to give r6 back
// before it jumps on. Or whether it is where threads start. `length`: readable bytes at `code`.
static inline bool hs_start_code(const unsigned char *code, size_t length)
{
    static const unsigned char handover[] = {0x00, 0x00, 0x8a, 0xe0, 0x16, 0xff, 0x2f, 0xe1};
    if (hs_thread_exit_code(code, length))
        return true;
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
