// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Compilers put unlikely paths of functions apart from them. Such a part is not called: jumps lead there, and what is
// known at a jump is what is known at its target.
#ifndef HEAPSONDE_UNWIND_CODE_PART_H
#define HEAPSONDE_UNWIND_CODE_PART_H

#include "unwind/analysis.h"

struct hs_jump {
    uintptr_t from, to;
};

#pragma GCC visibility push(hidden)
// For a decoder with far_jump(): finds in `text` the jump from outside of `part` that leads into it nearest before
// `at`; if there is none, nearest after it.
bool hs_code_part__entered_by(const struct hs_decoder *decoder, const struct hs_code *text, const struct hs_code *part,
                              uintptr_t at, struct hs_jump *jump);

// The result that hs_analyse() would give if the part were contiguous with `function`, from which `jump` leads to it.
bool hs_code_part__analyse(const struct hs_decoder *decoder, const struct hs_code *function, const struct hs_code *part,
                           const struct hs_jump *jump, uintptr_t at, void *memory, struct hs_code_frame *frame);

// Bytes of zeros that hs_code_part__analyse() needs, aligned to 16.
size_t hs_code_part__memory_size(const struct hs_decoder *decoder, const struct hs_code *function,
                                 const struct hs_code *part);
#pragma GCC visibility pop

#endif
