// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Names as people read them.
#ifndef HEAPSONDE_HOST_SYMBOLS_DEMANGLE_H
#define HEAPSONDE_HOST_SYMBOLS_DEMANGLE_H

enum hs_name_source {
    HS_NAME_GIVEN,     // from debug information, or from who made the code
    HS_NAME_LINKED,    // from a symbol table
    HS_NAME_VERSIONED, // the same, and it ends in a version of its file, "name@VERSION" or "name@@VERSION"
};

// Demangles names of C++ and Rust; copies of a function that the compiler made get the name of that function. Other
// names stay unchanged, but names from a symbol table lose the numbers of copies, which the compiler adds, and the
// version. The caller frees the result; NULL: out of memory.
char *hs_demangle(const char *name, enum hs_name_source source);

#endif
