// SPDX-License-Identifier: MIT OR Apache-2.0
//
// From a CFI row of call frame information to the 30-bit rule.
#ifndef HEAPSONDE_UNWIND_COMPILE_H
#define HEAPSONDE_UNWIND_COMPILE_H

#include "unwind/cfi_row_find.h"

#pragma GCC visibility push(hidden)
// `exact`: for a frame that was interrupted. Its rule is never a standard one, whose step believes a zero.
uint32_t hs_rule_compile(const struct hs_found_cfi_row *found, bool exact);
#pragma GCC visibility pop

#endif
