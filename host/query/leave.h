// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What was read of a large store does not have to stay resident: its pages are found again in the kernel's cache, or in
// the file. Columns that are not large stay as they are. Others may read them meanwhile.
#ifndef HEAPSONDE_QUERY_LEAVE_H
#define HEAPSONDE_QUERY_LEAVE_H

#include "host/store/store.h"

// Of who reads block after block, behind each of them. Most calls do nothing.
void hs_columns__leave_behind(const struct hs_columns *columns, uint64_t block);
void hs_columns__leave(const struct hs_columns *columns);

#endif
