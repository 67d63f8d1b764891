// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Pieces of code in memory.
#ifndef HEAPSONDE_RUNTIME_CODE_RANGE_H
#define HEAPSONDE_RUNTIME_CODE_RANGE_H

#include "arch/arch.h"

#include <stdbool.h>
#include <stdint.h>

// Code in memory: mappings of one file that form a module, or one anonymous mapping (`inode` 0).
struct hs_code_range {
    uintptr_t start, end;
    uintptr_t reach; // see struct hs_mapped
    uint64_t inode;
    bool named;
};

// The address of the call that returns to `pc`: the return address itself may be the first byte after the code.
static inline uintptr_t hs_code_range__call_of(uintptr_t pc)
{
    return pc - HS_ARCH_CALL_SIZE(pc);
}

// The piece with an address, or NULL. `code` is sorted by address.
const struct hs_code_range *hs_code_ranges__find(const struct hs_code_range *code, uint32_t count, uintptr_t address);

// Whether the call before a return address is in one of `count` pieces of code, which are sorted by address.
bool hs_code_ranges__hold(const struct hs_code_range *code, uint32_t count, uintptr_t pc);

#endif
