// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The architecture's own table of frames: ARM's exception index, MIPS's .pdr. An entry may be damaged without looking
// so, and a misplaced entry describes another function. So each entry is compared with the machine code of its
// function, at the first call in the function that occurs. After that it is used without a check, which is cheaper than
// to analyse the code of each call.
#ifndef HEAPSONDE_UNWIND_OWN_TABLE_H
#define HEAPSONDE_UNWIND_OWN_TABLE_H

#include "unwind/analysis.h"
#include "unwind/cfi.h"
#include "unwind/module.h"

struct hs_own_entry {
    bool proven; // the machine code gave the same result
    // private to own_table.c
    uintptr_t key;
    _Atomic uintptr_t *place;
};

#pragma GCC visibility push(hidden)
#if defined(HS_ARCH_HAS_EXIDX) || defined(HS_ARCH_HAS_PDR)
// The table's result for `address` in the function `code`. It is valid at calls, and for most of the function
// elsewhere. False: none.
bool hs_own_table_cfi_row(const struct hs_module *module, const struct hs_code *code, uintptr_t address, bool exact,
                          struct hs_own_entry *entry, struct hs_cfi_row *cfi_row);

// The function's code says that the frame at a place of which the table says `CFI row` is `frame`.
void hs_own_table_prove(const struct hs_own_entry *entry, const struct hs_cfi_row *cfi_row,
                        const struct hs_code_frame *frame);
#else
static inline bool hs_own_table_cfi_row(const struct hs_module *module, const struct hs_code *code, uintptr_t address,
                                        bool exact, struct hs_own_entry *entry, struct hs_cfi_row *cfi_row)
{
    (void)module, (void)code, (void)address, (void)exact, (void)entry, (void)cfi_row;
    return false;
}

static inline void hs_own_table_prove(const struct hs_own_entry *entry, const struct hs_cfi_row *cfi_row,
                                      const struct hs_code_frame *frame)
{
    (void)entry, (void)cfi_row, (void)frame;
}
#endif
#pragma GCC visibility pop

#endif
