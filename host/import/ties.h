// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Events of several threads with equal times. A counter of coarse ticks stamps an allocation in one thread and its free
// in another alike, and the order in which the threads' chunks come tells nothing: the free may come first. What does
// not fit what is live is put aside, and with it what its thread did behind it to the same kind of memory, until
// another thread's event makes it fit or the time is over.
#ifndef HEAPSONDE_IMPORT_TIES_H
#define HEAPSONDE_IMPORT_TIES_H

#include "host/import/array.h"
#include "host/import/step.h"

// At most as many threads wait, and as many steps: beyond that they are taken in the order in which they came.
#define HS_TIES_LINES 32
#define HS_TIES_STEPS 4096

// Takes a step. HS_TIE_WAITS: nothing was done, because it ends a block that is not live, or begins one where one is;
// not with `last`, when it has to be taken as it is. A negative errno: failed.
#define HS_TIE_WAITS 1
typedef int (*hs_tie_visitor)(void *context, struct hs_step *step, bool last);

struct hs_ties {
    hs_tie_visitor take;
    void *context;
    struct hs_array held;  // struct hs_held_step, in the order in which they came
    struct hs_array lines; // struct hs_tie_line
};

void hs_ties__free(struct hs_ties *ties);

static inline bool hs_ties__waits(const struct hs_ties *ties)
{
    return ties->lines.count != 0;
}

// Puts a step aside for which `take` said HS_TIE_WAITS. Returns 0 or a negative errno.
int hs_ties__hold(struct hs_ties *ties, const struct hs_step *step);

// Instead of `take` while something waits. `step->later` says whether its time is another one than that of the last
// step. Returns 0 or a negative errno.
int hs_ties__visit(struct hs_ties *ties, struct hs_step *step);

// The time is over: takes all that waits. Returns 0 or a negative errno.
int hs_ties__settle(struct hs_ties *ties);

#endif
