// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Records which files are mapped where. Nothing is scanned at the start: the first return address in unknown code makes
// the recorder read /proc/self/maps. The two tables take 64 or 80 bytes for each piece of code, and no more than the
// limit. While they grow, the smaller ones are there for a moment, too.
//
// At the limit, new code is left out: it gets no module, and the largest number of pieces with a name that were left
// out at a time is counted (HS_DROP_MODULES). Code without a name gets no module anyway, and at most half of the
// tables. Nobody knows when code that was left out ends: as long as there is some, all code counts as gone when some is
// unloaded.
#ifndef HEAPSONDE_RUNTIME_MODULES_H
#define HEAPSONDE_RUNTIME_MODULES_H

#include "runtime/code_range.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Makes sure that the module of a return address is in the journal, or will be. Searches are put off for two reasons:
// the more pieces of code without a name there are, the less often they are searched, because some programs create
// code all the time; and from 128 pieces on, searches take at most about 1/16 of the time until code is unloaded, so
// that a program may load thousands of libraries one by one. What was put off is journalled by a later call, at
// hs_modules__settle(), or not at all if the program is killed before. Requires the stack table's lock.
void hs_modules__see(uintptr_t pc);

// Where libpython3 begins, the first that was loaded, from the moment at which its code is on a stack: then it is
// whole. 0: none so far, or it was unloaded.
extern uintptr_t hs_modules__python;

// Does the search that was put off if it is time, because no new code may come any more. Requires the stack table's
// lock.
void hs_modules__catch_up(void);

// Whether no search is postponed. Requires the stack table's lock.
bool hs_modules__is_settled(void);

// Does the searches that were postponed. Requires the stack table's lock.
void hs_modules__settle(void);

// Reads the maps again after something was mapped or unloaded. If code is gone, calls `unloaded` once with all of it,
// and returns its result. Requires the stack table's lock.
bool hs_modules__rescan(void (*unloaded)(const struct hs_code_range *code, uint32_t count));

// The most bytes for the tables. Without this call there is no limit.
void hs_modules__set_limit(size_t bytes);

void hs_modules__reset(void);

#endif
