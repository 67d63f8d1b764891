// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Addresses that stand for instructions of Python functions. Each function gets a part of a range of addresses in which
// nothing is ever mapped, and a record in the trace (HS_META_CODE) that says what it is. An address never changes its
// meaning: a code object whose memory another one had before is known by what it contains. Functions that say the same
// of themselves share addresses, so that a program that compiles the same text again and again needs no more of them.
#ifndef HEAPSONDE_RUNTIME_PYTHON_CODE_H
#define HEAPSONDE_RUNTIME_PYTHON_CODE_H

#include "runtime/python_layout.h"

// A code object, and what tells it from another one that gets its memory later. `table` is the start of its table of
// lines: with the same function name in the same place, one that is compiled of another text has other lines.
struct hs_python_code {
    uintptr_t code, name, lines;
    uint64_t table;
    uint32_t first_line;
    uint32_t units;  // of instructions
    uintptr_t start; // stands for the time before the first instruction; the next address for the first one
};

// Reserves the range. False: there is none, and no code has addresses.
bool hs_python_code__begin(void);

// Sets units and start, and writes the record if it is not in the trace. False: this is no code object, it cannot be
// read, or there are no addresses left. `tid`: the calling thread.
bool hs_python_code__name(const struct hs_python_layout *layout, struct hs_python_code *code, uint32_t tid);

// For the new trace of a forked child.
void hs_python_code__reset(void);

// A word, a number of 32 bits and a byte of memory that can be read.
static inline uintptr_t hs_python_word(uintptr_t address)
{
    return *(const volatile uintptr_t *)address;
}

static inline uint32_t hs_python_number(uintptr_t address)
{
    return *(const volatile uint32_t *)address;
}

static inline uint8_t hs_python_byte(uintptr_t address)
{
    return *(const volatile uint8_t *)address;
}

#endif
