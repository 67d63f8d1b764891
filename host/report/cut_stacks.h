// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The stacks whose outermost frames are missing, by reason, and those that hold a guessed frame.
#ifndef HEAPSONDE_HOST_REPORT_CUT_STACKS_H
#define HEAPSONDE_HOST_REPORT_CUT_STACKS_H

#include "host/report/report.h"

#define HS_CUT_REASONS 16

struct hs_cut_stacks {
    uint64_t stacks[HS_CUT_REASONS]; // different ones; by enum hs_end of unwind/walk.h, [0] is unused
    uint64_t allocations[HS_CUT_REASONS];
    uint64_t bytes[HS_CUT_REASONS];
    uint64_t guessed_stacks, guessed_allocations, guessed_bytes; // cut or not
};

// Counts the subject's stacks. Returns 0 or -ENOMEM.
int hs_cut_stacks__count(struct hs_cut_stacks *cut, const struct hs_subject *subject);

#endif
