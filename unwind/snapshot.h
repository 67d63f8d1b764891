// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Walks the stack of a thread that was interrupted and has continued since: from its registers and a copy of the top of
// its stack, as the kernel takes them for perf_event_open(2).
#ifndef HEAPSONDE_UNWIND_SNAPSHOT_H
#define HEAPSONDE_UNWIND_SNAPSHOT_H

#include "unwind/walk.h"

struct hs_snapshot {
    struct hs_all_registers registers; // the pc in column HS_DWARF_PC
    const uint8_t *copy;               // of the stack from the stack pointer on; NULL: there is none
    size_t size;
};

#pragma GCC visibility push(hidden)
// Walks the snapshot into `memo`, which then holds it as after a walk of which nothing is known from before: depth, end
// and guesses. pcs are return addresses; of an interrupted frame one that stands for it: behind the beginning of its
// instruction by what a call has. Any bytes may be in the snapshot. Code must not be unloaded meanwhile.
void hs_memo_take_snapshot(struct hs_memo *memo, const struct hs_snapshot *snapshot);
#pragma GCC visibility pop

#endif
