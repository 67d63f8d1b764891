// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Rows for code that no FDE covers: from the architecture's own tables, or else from the machine code.
#ifndef HEAPSONDE_UNWIND_CODE_ROW_H
#define HEAPSONDE_UNWIND_CODE_ROW_H

#include "unwind/cfi.h"
#include "unwind/module.h"

#pragma GCC visibility push(hidden)
// `pc` is a return address into `module`, or the interrupted pc of an `exact` frame. The row is over registers and the
// CFA only, without expressions. *guessed: no path through the code led there; the row is what its neighbours have.
bool hs_code_row(const struct hs_module *module, uintptr_t pc, bool exact, struct hs_cfi_row *row, bool *guessed);
#pragma GCC visibility pop

#endif
