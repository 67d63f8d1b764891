// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Maps an address to its last event, for sums per stack (aggregate.h). One thread.
//
// The events of threads come slot by slot, so not in the order of time. But the last event at an address does not
// depend on the order in which the events are read: a block has ended if any later event at its address is known. So
// the end of a block is also kept, until no earlier event can come.
//
// With the sums of stacks (stack_aggregates.h) it takes at most AGGREGATE_MEMORY. A block for which there is no room
// counts as allocated and immediately freed, and as dropped (block_table).
#ifndef HEAPSONDE_RUNTIME_AGGREGATE_BLOCKS_H
#define HEAPSONDE_RUNTIME_AGGREGATE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_aggregate_block {
    uint64_t time;
    uintptr_t address; // 0: empty
    size_t size;
    uint32_t stack; // may also be HS_BLOCK_*
    uint32_t other; // heap: slack; pool: the pool
};

#define HS_BLOCK_OF_POOL    0x80000000u // added to the stack number
#define HS_BLOCK_STACK_MASK 0x7fffffffu
#define HS_BLOCK_OVER       0x7fffffffu // in place of a stack: the block here has ended

static inline bool hs_aggregate_block__is_over(const struct hs_aggregate_block *block)
{
    return (block->stack & HS_BLOCK_STACK_MASK) == HS_BLOCK_OVER;
}

// The entry of an address (in the heap, or in the pool that `stack` and `other` identify), or a free entry with address
// 0, which the caller may fill. NULL: the table is full.
struct hs_aggregate_block *hs_blocks__find(const struct hs_aggregate_block *wanted);
void hs_blocks__fill(struct hs_aggregate_block *place, const struct hs_aggregate_block *block);

// Removes the entry, so that the next event for its address counts as the first.
void hs_blocks__take_out(struct hs_aggregate_block *place);

// The table has to grow soon.
bool hs_blocks__are_crowded(void);

// Removes ends before `time`.
void hs_blocks__sweep(uint64_t time);

size_t hs_blocks__memory(void);

// How much of AGGREGATE_MEMORY the sums of stacks take.
extern size_t hs_blocks_elsewhere;
void hs_blocks__reset(void);

#endif
