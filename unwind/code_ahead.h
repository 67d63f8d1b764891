// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Derives the frame from the rest of a function: on the way to its return the function releases what it has allocated
// on the stack. For places that no path from the function's entry reaches, and for functions that are not called
// normally.
#ifndef HEAPSONDE_UNWIND_CODE_AHEAD_H
#define HEAPSONDE_UNWIND_CODE_AHEAD_H

#include "unwind/code.h"

struct hs_frame_question {
    const struct hs_decoder *decoder;
    const struct hs_code *code;
    uintptr_t at; // as for hs_analyse()
    bool exact;
    bool past_calls; // all calls are taken to come back
};

#pragma GCC visibility push(hidden)
// Only where calls put the return address into a register. False when the way cannot be followed, or proves nothing:
// then *frame is as before.
bool hs_code_ahead(const struct hs_frame_question *question, struct hs_code_frame *frame);
#pragma GCC visibility pop

#endif
