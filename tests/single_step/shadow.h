// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The truth: which calls are open, kept from what each instruction did to the program counter, the stack pointer and
// the return address. It knows nothing of unwind tables, nor of what functions look like.
#ifndef HEAPSONDE_TESTS_SINGLE_STEP_SHADOW_H
#define HEAPSONDE_TESTS_SINGLE_STEP_SHADOW_H

#include "unwind/snapshot.h"

enum { SHADOW_MAX = 256 };

struct shadow_entry {
    uintptr_t return_address;
    uintptr_t sp;          // where the call left it
    uintptr_t interrupted; // where a signal came; 0: a call
    bool jumps;            // what jumps to where a call came back: there it will return to
};

struct shadow {
    struct shadow_entry entries[SHADOW_MAX];
    struct shadow_entry returned[SHADOW_MAX]; // the last calls that have ended
    unsigned depth, returns;
    uintptr_t pc, sp; // before the instruction that was executed last
};

// The first step: at the entry of the function that everything else is called by.
void shadow_begin(struct shadow *shadow, const struct hs_snapshot *at);

// One instruction was executed and led here; or, if `handler`, a signal did.
void shadow_step(struct shadow *shadow, const struct hs_snapshot *at, bool handler);

// What a walk has to return from here on, innermost first. Returns the number of frames.
unsigned shadow_stack(const struct shadow *shadow, const struct hs_snapshot *at, uintptr_t *frames);

#endif
