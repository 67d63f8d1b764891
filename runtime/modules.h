// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which files are mapped where, as the trace says it. Nothing is scanned at the start: the first return address in
// unknown code makes the recorder read /proc/self/maps.
#ifndef HEAPSONDE_RUNTIME_MODULES_H
#define HEAPSONDE_RUNTIME_MODULES_H

#include "arch/arch.h"

#include <stdbool.h>
#include <stdint.h>

// Where the call is that returns to `pc`: the return address itself may be the first byte behind the code.
static inline uintptr_t hs_modules__call_of(uintptr_t pc)
{
    return pc - HS_ARCH_CALL_SIZE(pc);
}

// Makes sure that the module of a return address is in the journal. Under the stack table's lock.
void hs_modules__see(uintptr_t pc);

// Reads the maps again after something was mapped or unloaded; calls `unloaded` for each range that is gone. Whether
// there is one. Under the stack table's lock.
bool hs_modules__rescan(void (*unloaded)(uintptr_t start, uintptr_t end));

void hs_modules__reset(void);

#endif
