// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Packs and writes blocks of rows in a thread of its own.
#ifndef HEAPSONDE_IMPORT_WRITE_BEHIND_H
#define HEAPSONDE_IMPORT_WRITE_BEHIND_H

#include "host/store/packed.h"

#include <stddef.h>
#include <stdint.h>

// What is known of rows when they start, and regions of earlier rows that are written after them.
struct hs_row_ends_region;
struct hs_staged_block {
    uint64_t first; // row
    size_t count;
    struct hs_staged_block *next; // next to write, or next unused one
    struct hs_row_ends_region *retired;
    uint64_t time[HS_PACKED_BLOCK], address[HS_PACKED_BLOCK], size[HS_PACKED_BLOCK], slack[HS_PACKED_BLOCK],
        stack[HS_PACKED_BLOCK], stream[HS_PACKED_BLOCK], detail[HS_PACKED_BLOCK];
};

// Writes a block; may change its values. Returns 0 or a negative errno.
typedef int (*write_behind_work)(void *context, struct hs_staged_block *block);

struct hs_write_behind;
// NULL: out of memory. The thread is started with the first block.
struct hs_write_behind *hs_write_behind__create(write_behind_work work, void *context);
// Returns an empty block; NULL: out of memory. The caller passes it to hs_write_behind__hand_over; otherwise only
// hs_write_behind__free releases it.
struct hs_staged_block *hs_write_behind__empty_block(struct hs_write_behind *behind);
// Adds a block, to be written after the earlier ones. Returns 0, or the first error of any block so far.
int hs_write_behind__hand_over(struct hs_write_behind *behind, struct hs_staged_block *block);
// Waits until all blocks are written. Returns 0, or the first error of any block.
int hs_write_behind__finish(struct hs_write_behind *behind);
void hs_write_behind__free(struct hs_write_behind *behind);

#endif
