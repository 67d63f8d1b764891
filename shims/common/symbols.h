// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Symbols of the loaded modules, found without libc. dlsym(RTLD_NEXT) is not enough: an old libc keeps it in a library
// that the program may not have loaded, it does not see libraries outside the global search order, it may allocate, and
// a name that it does not find changes what the program's next dlerror() says.
// Source: the System V gABI (hash table, dynamic section), the GNU hash section as binutils writes it.
#ifndef HEAPSONDE_SHIMS_COMMON_SYMBOLS_H
#define HEAPSONDE_SHIMS_COMMON_SYMBOLS_H

#include <stdint.h>

// Address of the first definition of `name` behind this library in load order, else before it; default versions first.
// NULL when there is none.
void *hs_symbols__find(const char *name);

// The same in the module that `address` lies in, alone.
void *hs_symbols__find_beside(const void *address, const char *name);

// The same in the module whose headers are at `start`.
void *hs_symbols__find_in(uintptr_t start, const char *name);

// The load address of the module that `address` lies in, 0 when unknown.
uintptr_t hs_symbols__module_of(const void *address);

// The path of that module, empty when unknown and for the program.
const char *hs_symbols__file_of(const void *address);

#endif
