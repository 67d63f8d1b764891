// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Events of several threads with equal times. With a coarse clock, an allocation in one thread and the free in another
// may have the same time, and the order of the chunks does not tell which was first. An event that does not fit the
// live blocks is held back, with all later events of its thread for the same kind of memory, until an event of another
// thread makes it fit, or until the time changes.
#ifndef HEAPSONDE_IMPORT_TIES_H
#define HEAPSONDE_IMPORT_TIES_H

#include "host/base/array.h"
#include "host/import/step.h"

// Limits for the number of waiting threads and steps. Beyond them, steps are taken in the order in which they came.
#define HS_TIES_LINES 32
#define HS_TIES_STEPS 4096

// Takes a step. HS_TIE_WAITS: nothing was done, because it ends a block that is not live or begins one at the address
// of a live block. Not returned with `last`: then the step has to be taken unchanged. A negative errno: failure.
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

// Holds back a step for which `take` returned HS_TIE_WAITS. Returns 0 or a negative errno.
int hs_ties__hold(struct hs_ties *ties, const struct hs_step *step);

// Used in place of `take` while steps are held back. `step->later`: its time differs from that of the last step.
// Returns 0 or a negative errno.
int hs_ties__visit(struct hs_ties *ties, struct hs_step *step);

// The time changes: takes all steps that are held back. Returns 0 or a negative errno.
int hs_ties__settle(struct hs_ties *ties);

#endif
