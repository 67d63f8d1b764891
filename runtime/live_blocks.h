// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Address -> where its allocation is recorded, for the allocations in held slots (cull.h). One thread.
//
// The table takes at most half of HEAPSONDE_MEMORY. A block for which there is no room then stays in the trace.
#ifndef HEAPSONDE_RUNTIME_LIVE_BLOCKS_H
#define HEAPSONDE_RUNTIME_LIVE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

struct hs_live_block {
    uint64_t address;
    uint64_t time;   // of the allocation
    uint32_t holder; // index of the held slot
    uint32_t word;   // of the record in it
};

// Adds a block. It replaces a block at the same address if it is newer. False: no room.
bool hs_live_blocks__insert(uint64_t address, uint64_t time, uint32_t holder, uint32_t word);

// Removes the block that a free at `time` ends. False: none is known, or it began later.
bool hs_live_blocks__remove(uint64_t address, uint64_t time, struct hs_live_block *block);

// Removes the block that was recorded at this place, if it is still known.
void hs_live_blocks__forget(uint64_t address, uint32_t holder, uint32_t word);

uint32_t hs_live_blocks__count(void);

// Forgets all blocks and returns the memory of the table.
void hs_live_blocks__reset(void);

#endif
