// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Takes pages of a large store that were read out of the process's memory again. When they are needed once more, they
// come from the kernel's cache or the file. Other threads may read the columns meanwhile.
#ifndef HEAPSONDE_QUERY_DROP_PAGES_H
#define HEAPSONDE_QUERY_DROP_PAGES_H

#include "host/store/store.h"

#include <stdbool.h>

// Whether the columns are so large that they should not be resident as a whole. For smaller ones, the page faults cost
// more than the memory.
bool hs_columns__are_large(const struct hs_columns *columns);

// For readers that read large columns once, block after block: drops the pages before `block`. Most calls do nothing.
void hs_columns__drop_pages_behind(const struct hs_columns *columns, uint64_t block);

// Drops the pages of the blocks before `end`, of all columns.
void hs_columns__drop_pages(const struct hs_columns *columns, uint64_t end);

#endif
