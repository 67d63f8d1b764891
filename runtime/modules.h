// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which files are mapped where, as the trace says it. Nothing is scanned at the start: the first return address in
// unknown code makes the recorder read /proc/self/maps.
#ifndef HEAPSONDE_RUNTIME_MODULES_H
#define HEAPSONDE_RUNTIME_MODULES_H

#include "arch/arch.h"

#include <stdbool.h>
#include <stdint.h>

// Code in memory: mappings of one file that belong together, or one anonymous mapping (`inode` 0).
struct hs_code_range {
    uintptr_t start, end;
    uintptr_t reach; // as in struct hs_mapped
    uint64_t inode;
    bool named, announced;
};

// Where the call is that returns to `pc`: the return address itself may be the first byte behind the code.
static inline uintptr_t hs_modules__call_of(uintptr_t pc)
{
    return pc - HS_ARCH_CALL_SIZE(pc);
}

// Whether a return address is that of a call in one of `count` pieces of code, which are in address order.
bool hs_modules__hold(const struct hs_code_range *code, uint32_t count, uintptr_t pc);

// Makes sure that the module of a return address is in the journal, or will be: a program that makes code all the time
// is looked at the less often the more pieces there are. Under the stack table's lock.
void hs_modules__see(uintptr_t pc);

// Looks at what was put off. Under the stack table's lock.
void hs_modules__settle(void);

// Reads the maps again after something was mapped or unloaded; calls `unloaded` once with all the code that is gone, if
// any is, which it returns. Under the stack table's lock.
bool hs_modules__rescan(void (*unloaded)(const struct hs_code_range *code, uint32_t count));

void hs_modules__reset(void);

#endif
