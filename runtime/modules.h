// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Records which files are mapped where. Nothing is scanned at the start: the first return address in unknown code makes
// the recorder read /proc/self/maps. The tables take 80 to 160 bytes for each piece of code. They are bounded only by
// the number of mappings that the kernel allows a process (65,530 by default). Where there is no memory for them, new
// code gets no module.
#ifndef HEAPSONDE_RUNTIME_MODULES_H
#define HEAPSONDE_RUNTIME_MODULES_H

#include "runtime/code_range.h"

#include <stdbool.h>
#include <stdint.h>

// Makes sure that the module of a return address is in the journal, or will be: the more pieces of code there are, the
// less often they are searched, because some programs create code all the time. Requires the stack table's lock.
void hs_modules__see(uintptr_t pc);

// Does the searches that were postponed. Requires the stack table's lock.
void hs_modules__settle(void);

// Reads the maps again after something was mapped or unloaded. If code is gone, calls `unloaded` once with all of it,
// and returns its result. Requires the stack table's lock.
bool hs_modules__rescan(void (*unloaded)(const struct hs_code_range *code, uint32_t count));

void hs_modules__reset(void);

#endif
