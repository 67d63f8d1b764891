// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/leave.h"

#include "host/query/block.h"

#define LARGE ((size_t)16 << 20)

void hs_columns__leave_behind(const struct hs_columns *columns, uint64_t block)
{
    for (int i = 0; i < HS_BLOCK_COLUMNS; i++) {
        const struct hs_packed *column = hs_block__packed(columns, (enum hs_block_column)i);
        if (column->mapped >= LARGE)
            hs_packed__leave_behind(column, block);
    }
}

void hs_columns__leave(const struct hs_columns *columns)
{
    for (int i = 0; i < HS_BLOCK_COLUMNS; i++) {
        const struct hs_packed *column = hs_block__packed(columns, (enum hs_block_column)i);
        if (column->mapped >= LARGE)
            hs_packed__leave(column, 0, UINT64_MAX);
    }
}
