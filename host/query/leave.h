// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What was read of a large store does not have to stay resident: its pages are found again in the kernel's cache, or in
// the file. Others may read the columns meanwhile.
#ifndef HEAPSONDE_QUERY_LEAVE_H
#define HEAPSONDE_QUERY_LEAVE_H

#include "host/store/store.h"

#include <stdbool.h>

// Whether the columns are so large that they should not be resident as a whole. Else it is not worth the faults.
bool hs_columns__are_large(const struct hs_columns *columns);

// Of who reads large columns once, block after block, behind each of them. Most calls do nothing.
void hs_columns__leave_behind(const struct hs_columns *columns, uint64_t block);

// All columns: the pages of the blocks before `end` are not needed for a while.
void hs_columns__leave(const struct hs_columns *columns, uint64_t end);

#endif
