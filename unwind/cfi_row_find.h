// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The CFI row of the unwind table for any address, from whichever source has it: the sources in their order.
#ifndef HEAPSONDE_UNWIND_CFI_ROW_FIND_H
#define HEAPSONDE_UNWIND_CFI_ROW_FIND_H

#include "unwind/fde_find.h"

struct hs_found_cfi_row {
    struct hs_fde_place place; // an FDE that says no more than which column the return address is in, where none exists
    struct hs_cfi_row cfi_row;
    uintptr_t address; // in the instruction that the frame is at
    bool guessed;      // the CFI row is probable, not proven
};

enum hs_cfi_row_result {
    HS_ROW_FOUND,   // release it with hs_cfi_row_release()
    HS_ROW_BAD,     // a table covers the address and is damaged or not supported
    HS_ROW_MISSING, // no source knows; found->place.in_module and .module are valid
};

#pragma GCC visibility push(hidden)
// `pc` is a return address, or the interrupted pc of an `exact` frame.
enum hs_cfi_row_result hs_cfi_row_find(uintptr_t pc, bool exact, struct hs_found_cfi_row *found);
void hs_cfi_row_release(const struct hs_found_cfi_row *found);
#pragma GCC visibility pop

#endif
