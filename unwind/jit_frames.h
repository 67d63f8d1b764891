// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Call frame information that programs register at run time.
#ifndef HEAPSONDE_UNWIND_JIT_FRAMES_H
#define HEAPSONDE_UNWIND_JIT_FRAMES_H

#include "unwind/cfi.h"

#pragma GCC visibility push(hidden)
// Announces a reader, which keeps registered memory alive until the end. False, and nothing to end, when nothing is
// registered.
bool hs_jit_frames_begin(void);
void hs_jit_frames_end(void);

// Between begin and end: finds the FDE of `address`.
bool hs_jit_frames_find(uintptr_t address, struct hs_cfi_section *section, struct hs_fde *fde);
#pragma GCC visibility pop

#endif
