// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Address -> where its allocation is recorded, for the allocations in held slots (cull.h). One thread.
#ifndef HEAPSONDE_RUNTIME_LIVE_BLOCKS_H
#define HEAPSONDE_RUNTIME_LIVE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

struct hs_live_block {
    uint64_t address;
    uint64_t time;   // of the allocation
    uint32_t holder; // place of the held slot
    uint32_t word;   // of the record in it
};

// A block at an address that is known already replaces it when it is newer. False when there is no room for it.
bool hs_live_blocks__insert(uint64_t address, uint64_t time, uint32_t holder, uint32_t word);

// Takes out the block that a free at `time` ends. False when none is known, or only one that began later.
bool hs_live_blocks__remove(uint64_t address, uint64_t time, struct hs_live_block *block);

// Takes out the block recorded at this place, if it is still known.
void hs_live_blocks__forget(uint64_t address, uint32_t holder, uint32_t word);

uint32_t hs_live_blocks__count(void);

void hs_live_blocks__reset(void);

#endif
