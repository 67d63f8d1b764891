// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The rows of one packed block, column by column. A column is unpacked when it is first needed.
#ifndef HEAPSONDE_QUERY_BLOCK_H
#define HEAPSONDE_QUERY_BLOCK_H

#include "host/store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hs_block_column {
    HS_BLOCK_TIME,
    HS_BLOCK_FREE_TIME, // as hs_row__free_time
    HS_BLOCK_ADDRESS,
    HS_BLOCK_SIZE,
    HS_BLOCK_SLACK, // as stored
    HS_BLOCK_STACK,
    HS_BLOCK_FREE_STACK,
    HS_BLOCK_STREAM,
    HS_BLOCK_FREE_STREAM, // exclusive or with the stream
    HS_BLOCK_STATE,
    HS_BLOCK_COLUMNS
};

struct hs_column_block {
    const struct hs_columns *columns;
    uint64_t number;
    size_t count; // of its rows
    uint32_t unpacked;
    uint64_t (*value)[HS_PACKED_BLOCK]; // by column
};

// Returns 0 or -ENOMEM. hs_column_block__free in either case.
int hs_column_block__create(struct hs_column_block *block, const struct hs_columns *columns);
void hs_column_block__free(struct hs_column_block *block);

void hs_column_block__move_to(struct hs_column_block *block, uint64_t number);
const uint64_t *hs_column_block__column(struct hs_column_block *block, enum hs_block_column column);

const struct hs_packed *hs_column_block__packed(const struct hs_columns *columns, enum hs_block_column column);

#endif
