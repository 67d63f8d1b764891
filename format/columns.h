// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Columns of byte symbols packed to 0, 1, 2, 4 or 8 bits each: what a hurried writer uses instead of the entropy stage.
#ifndef HEAPSONDE_FORMAT_COLUMNS_H
#define HEAPSONDE_FORMAT_COLUMNS_H

#include "format/entropy.h"

// Writes all columns to `output`: for each a varint count; unless it is 0, the width in bits and the packed symbols,
// first symbol in the lowest bits (width 0: the one symbol that all are). Returns the end, or NULL when it does not
// fit.
uint8_t *hs_columns_pack(const struct hs_symbols *columns, unsigned column_count, uint8_t *output, uint8_t *end);

// Reads what hs_columns_pack() wrote from [at, end) into `pool` and sets the columns. Returns the end of what was read,
// or NULL when it is no such thing or needs more than `pool_size` symbols.
const uint8_t *hs_columns_unpack(struct hs_symbols *columns, unsigned column_count, uint8_t *pool, size_t pool_size,
                                 const uint8_t *at, const uint8_t *end);

#endif
