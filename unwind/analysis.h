// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Forward abstract interpretation of one function's machine code: where the caller's registers are when control is at a
// given address. For code that no table describes.
//
// The state of a path is, for every register, what is known of its value (the CFA plus a constant, a constant, the
// value that some register had at the entry) and, for every register that calls preserve and for the return address,
// where in the frame its entry value was stored. Paths start at the entry and follow all branches; the first one to
// reach an instruction decides. A slot that was stored to stays known: at a call the memory still holds it, even if an
// earlier path has reloaded the register. Code that no path reaches (switch cases behind a table, landing pads) starts
// in the state of the indirect jump before it, or else in the state that most calls of the function have. Where that
// proves nothing, the way from there to the end of the function may: it gives back what the frame is made of.
//
// Nothing here depends on the machine that this is compiled for. Work and memory are bounded; any bytes may be code.
#ifndef HEAPSONDE_UNWIND_ANALYSIS_H
#define HEAPSONDE_UNWIND_ANALYSIS_H

#include "unwind/code.h"

// Larger functions are cut: the work per address stays bounded.
#define HS_ANALYSIS_CODE_MAX (1 << 20)

#pragma GCC visibility push(hidden)
// Bytes of memory that an analysis of `size` bytes of code needs.
size_t hs_analysis_memory_size(const struct hs_decoder *decoder, size_t size);

// Finds the frame at `at`, which is in the instruction of a call (or in its delay slot), or, if `exact`, the first byte
// of the instruction that is executed next. `memory`: hs_analysis_memory_size() zero bytes, aligned to 16. False when
// the code does not tell: then there is nothing in *frame.
bool hs_analyse(const struct hs_decoder *decoder, const struct hs_code *code, uintptr_t at, bool exact, void *memory,
                struct hs_code_frame *frame);
#pragma GCC visibility pop

#endif
