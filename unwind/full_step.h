// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One step of a walk with all registers.
#ifndef HEAPSONDE_UNWIND_FULL_STEP_H
#define HEAPSONDE_UNWIND_FULL_STEP_H

#include "unwind/expression.h"

// A frame to which only frame pointers lead from a planted return address is at most so large.
#define HS_PLANTED_FRAME_MAX 32768

// So many frames in a row need not lead to a call: each of them would ask all that are above it.
#define HS_PLANTED_FRAMES_ASKED 8

struct hs_full_walk {
    struct hs_all_registers registers;
    struct hs_words memory;
    bool exact;
    bool guessed;     // the last step was a guess
    uint8_t switches; // to stacks below
};

// Where the full walks during one walk start. Each passes the frames between its start and its target, so the next one
// continues where the last one ended.
struct hs_full_start {
    bool known;       // false: in the walker's own frame
    uint8_t switches; // to stacks below, that the walk has made
    struct hs_full_walk at;
};

static inline void hs_full_start__clear(struct hs_full_start *full)
{
    full->known = false;
    full->switches = 0;
}

#pragma GCC visibility push(hidden)
// Goes on to the caller. HS_STEP_MORE, or the enum hs_end that ends the walk.
int hs_full_step(struct hs_full_walk *walk);

// The number of the register that has r7, the frame pointer of Thumb code, of what was interrupted at `pc`, which may
// be anything.
unsigned hs_full_step__fp_register(uintptr_t pc);
#pragma GCC visibility pop

#endif
