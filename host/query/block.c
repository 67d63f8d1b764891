// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/block.h"

#include <errno.h>
#include <stdlib.h>

int hs_column_block__create(struct hs_column_block *block, const struct hs_columns *columns)
{
    *block = (struct hs_column_block){.columns = columns};
    block->value = calloc(HS_BLOCK_COLUMNS, sizeof(*block->value));
    return block->value ? 0 : -ENOMEM;
}

void hs_column_block__free(struct hs_column_block *block)
{
    free(block->value);
    block->value = NULL;
}

void hs_column_block__move_to(struct hs_column_block *block, uint64_t number)
{
    uint64_t left = block->columns->rows - number * HS_PACKED_BLOCK;
    block->number = number;
    block->count = left < HS_PACKED_BLOCK ? (size_t)left : HS_PACKED_BLOCK;
    block->unpacked = 0;
}

const struct hs_packed *hs_column_block__packed(const struct hs_columns *columns, enum hs_block_column column)
{
    switch (column) {
    case HS_BLOCK_TIME:
        return &columns->time;
    case HS_BLOCK_FREE_TIME:
        return &columns->free_time;
    case HS_BLOCK_ADDRESS:
        return &columns->address;
    case HS_BLOCK_SIZE:
        return &columns->size;
    case HS_BLOCK_SLACK:
        return &columns->slack;
    case HS_BLOCK_STACK:
        return &columns->stack;
    case HS_BLOCK_FREE_STACK:
        return &columns->free_stack;
    case HS_BLOCK_STREAM:
        return &columns->stream;
    case HS_BLOCK_FREE_STREAM:
        return &columns->free_stream;
    default:
        return &columns->state;
    }
}

static void to_free_times(uint64_t *value, size_t count, uint64_t first_time)
{
    for (size_t i = 0; i < count; i++)
        value[i] = hs_row__stored_free_time(value[i], first_time);
}

const uint64_t *hs_column_block__column(struct hs_column_block *block, enum hs_block_column column)
{
    uint64_t *value = block->value[column];
    if (block->unpacked >> column & 1)
        return value;
    hs_packed__read_block(hs_column_block__packed(block->columns, column), block->number, value);
    if (column == HS_BLOCK_FREE_TIME)
        to_free_times(value, block->count, block->columns->time.block[block->number].base);
    block->unpacked |= 1u << column;
    return value;
}
