// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The tables in which code objects of CPython say which instruction is on which line. They are hostile.
#ifndef HEAPSONDE_HOST_SYMBOLS_PYTHON_LINES_H
#define HEAPSONDE_HOST_SYMBOLS_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

// Kinds of tables (docs/format.md, 5.3).
enum {
    HS_PYTHON_LINES_LNOTAB = 1,    // to 3.9
    HS_PYTHON_LINES_LINETABLE = 2, // 3.10
    HS_PYTHON_LINES_LOCATIONS = 3, // from 3.11
};

// The line of the instruction `unit`, counted in units of two bytes. -1 stands for the time before the first one. 0: it
// has no line, or the table does not say.
uint32_t hs_python_lines__find(unsigned kind, const uint8_t *table, size_t length, uint32_t first_line, int64_t unit);

#endif
