// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Walks snapshots and holds the stacks against the truth.
#ifndef HEAPSONDE_TESTS_SINGLE_STEP_JUDGE_H
#define HEAPSONDE_TESTS_SINGLE_STEP_JUDGE_H

#include "shadow.h"

// The first snapshot is at the entry; what its stack has beyond the shadow stack, all others have to have, too.
void judge_step(const struct shadow *shadow, const struct hs_snapshot *at);

// A step at a place that was judged before, with the same stack pointer: it counts as that did.
void judge_again(const struct hs_snapshot *at);

// Prints what was found, wrong places first; the exit status: 0 when 99.9 percent of the stacks were right.
int judge_end(const char *name);

#endif
