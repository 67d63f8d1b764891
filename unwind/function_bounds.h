// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Finds the start and end of the function around an address, also in stripped files.
//
// The first question about a module builds an index of its text: a bit for each place where an instruction may start,
// set where a function starts: by the symbol tables, the tables of call frame information, direct calls, and pointers
// in the module's data to what looks like a function. The index stays for as long as the module's file is known.
//
// If the text is larger than 4 MiB, only windows around the addresses in question are indexed. A function that is
// called or pointed to only from outside of a window is found there by the typical start of a function.
#ifndef HEAPSONDE_UNWIND_FUNCTION_BOUNDS_H
#define HEAPSONDE_UNWIND_FUNCTION_BOUNDS_H

#include "unwind/analysis.h"
#include "unwind/module.h"

#pragma GCC visibility push(hidden)
// Finds the function around `address`, as far as HS_ANALYSIS_CODE_MAX bytes go. code->bytes can be read: it is the text
// in memory, or in the module's file when the text may only be executed. False when there is no text to read.
bool hs_function_bounds(const struct hs_decoder *decoder, const struct hs_module *module, uintptr_t address,
                        struct hs_code *code);

// Whether a process starts in the function that starts at `start`, or so little before `address` that it is the same
// code, with data in it (musl): there every stack ends.
bool hs_function_is_entry(const struct hs_module *module, uintptr_t start, uintptr_t address);

#ifdef HS_ARCH_HEADER
// Files are about to be closed: what is known of them is forgotten, but its memory is the caller's.
void hs_function_bounds_forget(void);
#endif
#pragma GCC visibility pop

#endif
