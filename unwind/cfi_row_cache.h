// SPDX-License-Identifier: MIT OR Apache-2.0
//
// CFI rows that took an analysis of machine code or the reading of a whole table to find, kept for walks that need
// whole CFI rows: one of them passes every frame up to the one that it is for, and comes again with each stack.
#ifndef HEAPSONDE_UNWIND_CFI_ROW_CACHE_H
#define HEAPSONDE_UNWIND_CFI_ROW_CACHE_H

#include "unwind/cfi_row_find.h"

#pragma GCC visibility push(hidden)
// hs_cfi_row_find(), which is asked only for what is not kept. found->place.module is set only with HS_ROW_MISSING.
enum hs_cfi_row_result hs_cfi_row_cache_find(uintptr_t pc, bool exact, struct hs_found_cfi_row *found);
#pragma GCC visibility pop

#endif
