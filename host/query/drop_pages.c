// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/drop_pages.h"

#include "host/query/block.h"

#define LARGE ((size_t)256 << 20)

bool hs_columns__are_large(const struct hs_columns *columns)
{
    size_t bytes = 0;
    for (int i = 0; i < HS_BLOCK_COLUMNS; i++)
        bytes += hs_column_block__packed(columns, (enum hs_block_column)i)->mapped;
    return bytes >= LARGE;
}

void hs_columns__drop_pages_behind(const struct hs_columns *columns, uint64_t block)
{
    for (int i = 0; i < HS_BLOCK_COLUMNS; i++)
        hs_packed__drop_pages_behind(hs_column_block__packed(columns, (enum hs_block_column)i), block);
}

void hs_columns__drop_pages(const struct hs_columns *columns, uint64_t end)
{
    for (unsigned i = 0; i < HS_BLOCK_COLUMNS; i++)
        hs_packed__drop_pages(hs_column_block__packed(columns, (enum hs_block_column)i), 0, end);
    hs_packed__drop_pages(&columns->detail, 0, end);
}
