// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Records which files are mapped where. Nothing is scanned at the start: the first return address in unknown code makes
// the recorder read /proc/self/maps. The tables take 80 to 160 bytes for each piece of code. They are bounded only by
// the number of mappings that the kernel allows a process (65,530 by default). Where there is no memory for them, new
// code gets no module.
#ifndef HEAPSONDE_RUNTIME_MODULES_H
#define HEAPSONDE_RUNTIME_MODULES_H

#include "arch/arch.h"

#include <stdbool.h>
#include <stdint.h>

// Code in memory: mappings of one file that form a module, or one anonymous mapping (`inode` 0).
struct hs_code_range {
    uintptr_t start, end;
    uintptr_t reach; // see struct hs_mapped
    uint64_t inode;
    bool named, announced;
};

// The address of the call that returns to `pc`: the return address itself may be the first byte after the code.
static inline uintptr_t hs_modules__call_of(uintptr_t pc)
{
    return pc - HS_ARCH_CALL_SIZE(pc);
}

// Whether the call before a return address is in one of `count` pieces of code, which are sorted by address.
bool hs_modules__hold(const struct hs_code_range *code, uint32_t count, uintptr_t pc);

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
