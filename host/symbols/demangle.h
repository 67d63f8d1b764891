// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Names as people read them.
#ifndef HEAPSONDE_HOST_SYMBOLS_DEMANGLE_H
#define HEAPSONDE_HOST_SYMBOLS_DEMANGLE_H

#include <stdbool.h>

// Demangles names of C++ and Rust; copies of a function that the compiler made get the name of that function. Other
// names stay unchanged, but names from a symbol table (`from_table`) lose their suffixes: versions, which the linker
// adds, and numbers of copies, which the compiler adds. The caller frees the result; NULL: out of memory.
char *hs_demangle(const char *name, bool from_table);

#endif
