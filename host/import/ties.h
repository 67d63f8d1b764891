// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Events of several threads whose times do not tell their order. With a coarse clock, an allocation in one thread and
// the free in another may have the same time. With a fine one, a processor may read its counter before an earlier
// instruction has ended, such as the one that takes the block over from the other thread: then the free has the earlier
// time. An event that does not fit the live blocks is held back, with all later events of its thread for the same kind
// of memory, until an event of another thread makes it fit, or until it has waited long enough. Its time becomes that
// of the event at which it is taken, so times never decrease.
#ifndef HEAPSONDE_IMPORT_TIES_H
#define HEAPSONDE_IMPORT_TIES_H

#include "host/base/array.h"
#include "host/import/step.h"

// Limits for the number of waiting threads and steps. Beyond them, steps are taken in the order in which they came.
#define HS_TIES_LINES 32
#define HS_TIES_STEPS 4096

// How long a step waits for others with a later time, if ticks are short: longer than an access to memory takes. Where
// ticks are long, it only waits for those of its own tick: among the many of several ticks, wrong ones would fit, too.
#define HS_TIES_NS 1000

// Takes a step, whose time is in ns. HS_TIE_WAITS: nothing was done, because it ends a block that is not live or begins
// one at the address of a live block. Not returned with `last`: then the step has to be taken unchanged. A negative
// errno: failure.
#define HS_TIE_WAITS 1
typedef int (*hs_tie_visitor)(void *context, struct hs_step *step, bool last);

struct hs_ties {
    hs_tie_visitor take;
    void *context;
    uint64_t window;       // how long a step waits: HS_TIES_NS or 0
    struct hs_array held;  // struct hs_held_step, in the order in which they came
    struct hs_array lines; // struct hs_tie_line
    uint64_t now;          // ns: the time of the last step that came
};

void hs_ties__free(struct hs_ties *ties);

static inline bool hs_ties__waits(const struct hs_ties *ties)
{
    return ties->lines.count != 0;
}

// Holds back a step for which `take` returned HS_TIE_WAITS. Returns 0 or a negative errno.
int hs_ties__hold(struct hs_ties *ties, const struct hs_step *step);

// To be called before each step that comes while steps are held back, with its time: takes those that have waited
// long enough. Returns 0 or a negative errno.
int hs_ties__expire(struct hs_ties *ties, uint64_t time);

// Used in place of `take` while steps are held back. Returns 0 or a negative errno.
int hs_ties__visit(struct hs_ties *ties, struct hs_step *step);

// Takes all steps that are held back. Returns 0 or a negative errno.
int hs_ties__settle(struct hs_ties *ties);

#endif
