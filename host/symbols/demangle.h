// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_HOST_SYMBOLS_DEMANGLE_H
#define HEAPSONDE_HOST_SYMBOLS_DEMANGLE_H

// The readable form of a linker name (C++ Itanium, Rust legacy and v0), without the symbol version. The caller frees
// it. NULL when memory is exhausted; a name that is not mangled comes back as it is.
char *hs_demangle(const char *name);

#endif
