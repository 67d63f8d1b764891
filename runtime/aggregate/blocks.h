// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Address -> the last thing that happened to it, for sums per stack (aggregate.h). One thread.
//
// Threads' events come slot by slot, and so not in the order of time. What happened last at an address does not depend
// on the order in which one hears of it: a block is over as soon as anything later is known of its address. So the end
// of a block is remembered, too, until nothing earlier can come any more.
#ifndef HEAPSONDE_RUNTIME_AGGREGATE_BLOCKS_H
#define HEAPSONDE_RUNTIME_AGGREGATE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_aggregate_block {
    uint64_t time;
    uintptr_t address; // 0: nothing here
    size_t size;
    uint32_t stack; // HS_BLOCK_* too
    uint32_t other; // of the heap: slack; of a pool: which
};

#define HS_BLOCK_OF_POOL    0x80000000u // added to the stack
#define HS_BLOCK_STACK_MASK 0x7fffffffu
#define HS_BLOCK_OVER       0x7fffffffu // no stack: the block that was here has ended

static inline bool hs_aggregate_block__is_over(const struct hs_aggregate_block *block)
{
    return (block->stack & HS_BLOCK_STACK_MASK) == HS_BLOCK_OVER;
}

// The entry of the address (in the heap, or in the pool that `stack` and `other` name), or a free place for it, with
// address 0: to be filled with what was looked for, or left alone. NULL: the table is full.
struct hs_aggregate_block *hs_blocks__find(const struct hs_aggregate_block *wanted);
void hs_blocks__fill(struct hs_aggregate_block *place, const struct hs_aggregate_block *block);

// Forgets the entry, so that what comes later for its address counts as the first.
void hs_blocks__take_out(struct hs_aggregate_block *place);

// The table will grow soon.
bool hs_blocks__are_crowded(void);

// Forgets the ends before `time`.
void hs_blocks__sweep(uint64_t time);

size_t hs_blocks__memory(void);
void hs_blocks__reset(void);

#endif
