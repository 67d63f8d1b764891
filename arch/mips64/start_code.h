// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The first code of a process or of a thread, where it has no call frame information.
#ifndef HEAPSONDE_ARCH_MIPS64_START_CODE_H
#define HEAPSONDE_ARCH_MIPS64_START_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_START_CODE_WINDOW 64

static inline uint32_t hs_start_code_word(const unsigned char *code)
{
#ifdef __MIPSEB__
    return code[3] | (uint32_t)code[2] << 8 | (uint32_t)code[1] << 16 | (uint32_t)code[0] << 24;
#else
    return code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 | (uint32_t)code[3] << 24;
#endif
}

// Whether the code ends the thread with what a function has returned: `move a0, v0; li v0, exit; syscall`. That is
// where musl's threads start: what their function was called with is on a stack of its own.
static inline bool hs_thread_exit_code(const unsigned char *code, size_t length)
{
    if (length < 12)
        return false;
    uint32_t move = hs_start_code_word(code);
    return (move == 0x00402025u || move == 0x0040202du) && // or, daddu
           hs_start_code_word(code + 4) == 0x240213c2u && hs_start_code_word(code + 8) == 0x0000000cu;
}

// Whether the code at a return address hands the initial stack to the program and jumps there: `move t9, s1; jr t9;
// nop`, as glibc's dynamic loader does when the libraries' constructors have run. A function would have to give s1 back
// before it jumps on. Or whether it is where threads start. `code`: what is executed next, or
// the delay slot of the call; `length`: readable bytes there.
static inline bool hs_start_code(const unsigned char *code, size_t length)
{
    uint32_t before[2] = {0, 0}, word;
    if (hs_thread_exit_code(code, length) || (length > 4 && hs_thread_exit_code(code + 4, length - 4)))
        return true;
    if (length > HS_START_CODE_WINDOW)
        length = HS_START_CODE_WINDOW;
    for (size_t at = 0; at + 4 <= length; at += 4, before[1] = before[0], before[0] = word) {
        word = hs_start_code_word(code + at);
        bool moved = before[1] == 0x0220c825u || before[1] == 0x0220c82du;            // or, daddu
        if (moved && (before[0] == 0x03200008u || before[0] == 0x03200009u) && !word) // jr, in release 6 jalr zero
            return true;
    }
    return false;
}

#endif
