// SPDX-License-Identifier: MIT OR Apache-2.0
//
// CFI rows for code that no FDE covers: from the architecture's own tables, or else from the machine code.
#ifndef HEAPSONDE_UNWIND_CODE_CFI_ROW_H
#define HEAPSONDE_UNWIND_CODE_CFI_ROW_H

#include "unwind/cfi.h"
#include "unwind/module.h"

#pragma GCC visibility push(hidden)
// `pc` is a return address into `module`, or the interrupted pc of an `exact` frame. The CFI row is over registers and
// the CFA only, without expressions. *guessed: no path through the code led there; the CFI row is what its neighbours
// have.
bool hs_code_cfi_row(const struct hs_module *module, uintptr_t pc, bool exact, struct hs_cfi_row *cfi_row,
                     bool *guessed);
#pragma GCC visibility pop

#endif
