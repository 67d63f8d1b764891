// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Takes the texts apart by which runtimes name their code in perf maps and dumps.
#ifndef HEAPSONDE_HOST_SYMBOLS_JIT_TEXT_H
#define HEAPSONDE_HOST_SYMBOLS_JIT_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum { HS_JIT_TEXT_MOST = 4096 };

struct hs_jit_text {
    const char *function; // never empty
    const char *file;     // NULL: not named
    uint32_t line;        // 0: not named
    char text[HS_JIT_TEXT_MOST];
};

// Understands V8 (`JS:*name file:line:column`), CPython (`py::name:file`) and LuaJIT (`TRACE_1::file:line`); other
// texts are the function's name. What is longer than HS_JIT_TEXT_MOST is cut; control characters become question marks.
void hs_jit_text__split(struct hs_jit_text *to, const char *text, size_t length);

#endif
