// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Frames whose caller is on another stack, at a place that only the code knows (arch/<name>/other_stack.h).
#ifndef HEAPSONDE_UNWIND_OTHER_STACK_H
#define HEAPSONDE_UNWIND_OTHER_STACK_H

#include "unwind/fde_find.h"

#include <stdint.h>

// The instructions after the call, which of them calls, from 1 on, and the expression of the CFA with its length
// before.
struct hs_other_stack {
    uint32_t instruction[8];
    uint8_t count, branch;
    uint8_t cfa[14];
};

#pragma GCC visibility push(hidden)
// For the return address `pc`, in place->module. False: it is none of these.
bool hs_other_stack__find(uintptr_t pc, struct hs_fde_place *place, struct hs_cfi_row *cfi_row);
#pragma GCC visibility pop

#endif
