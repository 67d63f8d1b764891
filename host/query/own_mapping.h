// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Blocks that have a mapping of their own.
#ifndef HEAPSONDE_QUERY_OWN_MAPPING_H
#define HEAPSONDE_QUERY_OWN_MAPPING_H

#include "host/query/query.h"

// Whether the pages of a block come and go with it, as far as its address and its size show.
bool hs_row__has_own_mapping(const struct hs_store *store, uint64_t row);
uint64_t hs_store__page_size(const struct hs_store *store);
// The same of a block of this kind and size at this address, with pages of this size.
bool hs_own_mapping__is_one(uint8_t kind, uint64_t address, uint64_t size, uint64_t page);

#endif
