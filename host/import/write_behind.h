// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Blocks of rows are packed and written on a thread of their own, behind the one that makes them.
#ifndef HEAPSONDE_IMPORT_WRITE_BEHIND_H
#define HEAPSONDE_IMPORT_WRITE_BEHIND_H

#include "host/store/packed.h"

#include <stddef.h>
#include <stdint.h>

// What of the rows is known when they start, and regions of earlier rows to be written behind them.
struct hs_row_ends_region;
struct hs_staged_block {
    uint64_t first; // row
    size_t count;
    struct hs_staged_block *next; // to write, or to be used again
    struct hs_row_ends_region *retired;
    uint64_t time[HS_PACKED_BLOCK], address[HS_PACKED_BLOCK], size[HS_PACKED_BLOCK], slack[HS_PACKED_BLOCK],
        stack[HS_PACKED_BLOCK], stream[HS_PACKED_BLOCK], detail[HS_PACKED_BLOCK];
};

// Writes a block, whose values it may change. Returns 0 or a negative errno.
typedef int (*write_behind_work)(void *context, struct hs_staged_block *block);

struct hs_write_behind;
// NULL without memory. A thread is started with the first block.
struct hs_write_behind *hs_write_behind__create(write_behind_work work, void *context);
// A block to fill; NULL without memory. The caller hands it over or it is lost to all but hs_write_behind__free.
struct hs_staged_block *hs_write_behind__empty_block(struct hs_write_behind *behind);
// To be written after those before it. Returns 0 or the first error of any block so far.
int hs_write_behind__hand_over(struct hs_write_behind *behind, struct hs_staged_block *block);
// Waits until all blocks are written. Returns 0 or the first error of any block.
int hs_write_behind__finish(struct hs_write_behind *behind);
void hs_write_behind__free(struct hs_write_behind *behind);

#endif
