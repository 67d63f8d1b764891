// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Columns of byte symbols packed to 0, 1, 2, 4 or 8 bits each, as payloads of traces up to version 1.4 may have them in
// place of the entropy stage.
#ifndef HEAPSONDE_FORMAT_COLUMNS_H
#define HEAPSONDE_FORMAT_COLUMNS_H

#include "format/entropy.h"

// Reads all columns from [at, end) into `pool`: for each a varint count; unless it is 0, the width in bits and the
// packed symbols, first symbol in the lowest bits (width 0: the one symbol that all are). Returns the end of the
// columns, or NULL if they are invalid or need more than `pool_size` symbols.
const uint8_t *hs_columns_unpack(struct hs_entropy_symbols *columns, unsigned column_count, uint8_t *pool,
                                 size_t pool_size, const uint8_t *at, const uint8_t *end);

#endif
