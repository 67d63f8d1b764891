// SPDX-License-Identifier: MIT OR Apache-2.0
//
// From a row of call frame information to the 30-bit rule.
#ifndef HEAPSONDE_UNWIND_COMPILE_H
#define HEAPSONDE_UNWIND_COMPILE_H

#include "unwind/cfi.h"

#pragma GCC visibility push(hidden)
// `address` lies in the instruction that the row is for; it is the pc of expressions that ask for it.
uint32_t hs_rule_compile(const struct hs_cfi_section *section, const struct hs_fde *fde, const struct hs_cfi_row *row,
                         uintptr_t address);

// The rule of a signal trampoline that has no call frame information.
uint32_t hs_rule_signal_trampoline(void);
#pragma GCC visibility pop

#endif
