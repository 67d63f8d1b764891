// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a person reads in place of a name.
#ifndef HEAPSONDE_HOST_SYMBOLS_DEMANGLE_H
#define HEAPSONDE_HOST_SYMBOLS_DEMANGLE_H

#include <stdbool.h>

// Linker names of C++ and Rust become those of the source; the compiler's own copies of a function are that function.
// Other names stay as they are, unless they come from the symbol table of a file (`from_table`): there the linker has
// added versions and the compiler the numbers of its copies, both at the end. To be freed; NULL: out of memory.
char *hs_demangle(const char *name, bool from_table);

#endif
