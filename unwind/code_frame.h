// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Converts the state of a path to the description of the frame at that place, and back.
#ifndef HEAPSONDE_UNWIND_CODE_FRAME_H
#define HEAPSONDE_UNWIND_CODE_FRAME_H

#include "unwind/code.h"
#include "unwind/code_state.h"

struct hs_described {
    const struct hs_decoder *decoder;
    const struct hs_code_state *state;
    bool exact; // as for hs_analyse()
    bool guessed;
};

#pragma GCC visibility push(hidden)
// False: the state does not contain where the frame is, or the return address.
bool hs_code_frame__describe(const struct hs_described *what, struct hs_code_frame *frame);

// The state of a path that starts where `frame` is known.
void hs_code_frame__state(const struct hs_decoder *decoder, const struct hs_code_frame *frame,
                          struct hs_code_state *state);
#pragma GCC visibility pop

#endif
