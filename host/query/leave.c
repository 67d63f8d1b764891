// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/leave.h"

#include "host/query/block.h"

#define LARGE ((size_t)256 << 20)

bool hs_columns__are_large(const struct hs_columns *columns)
{
    size_t bytes = 0;
    for (int i = 0; i < HS_BLOCK_COLUMNS; i++)
        bytes += hs_block__packed(columns, (enum hs_block_column)i)->mapped;
    return bytes >= LARGE;
}

void hs_columns__leave_behind(const struct hs_columns *columns, uint64_t block)
{
    for (int i = 0; i < HS_BLOCK_COLUMNS; i++)
        hs_packed__leave_behind(hs_block__packed(columns, (enum hs_block_column)i), block);
}

void hs_columns__leave(const struct hs_columns *columns, uint64_t end)
{
    for (unsigned i = 0; i < HS_BLOCK_COLUMNS; i++)
        hs_packed__leave(hs_block__packed(columns, (enum hs_block_column)i), 0, end);
    hs_packed__leave(&columns->detail, 0, end);
}
