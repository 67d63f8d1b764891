// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The functions that a file's symbol table names, by where they are. Huge programs have hundreds of thousands, in no
// order: the table is read once, not for each part of the text that a stack reaches.
#ifndef HEAPSONDE_UNWIND_SYMBOL_PLACES_H
#define HEAPSONDE_UNWIND_SYMBOL_PLACES_H

#include "unwind/module.h"

#pragma GCC visibility push(hidden)
// Calls `note` for each function symbol of the module that is in the `size` bytes from `start` on (ARM: with the bit
// that says Thumb), in any order. `bias`: the module's. It may be called for others, too.
void hs_symbol_places_each(const struct hs_module *module, uintptr_t bias, uintptr_t start, size_t size,
                           void (*note)(const void *context, uintptr_t address), const void *context);
#pragma GCC visibility pop

#endif
