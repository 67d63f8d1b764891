// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Puts the functions that run into a stack of machine code.
#ifndef HEAPSONDE_RUNTIME_PYTHON_MERGE_H
#define HEAPSONDE_RUNTIME_PYTHON_MERGE_H

#include "runtime/python_frames.h"

// The stack of the caller with the functions from `place` on. 0: it cannot be kept.
uint32_t hs_python__find_stack(struct hs_python_thread *self, const struct hs_python_caller *caller,
                               struct hs_python_place place);

#endif
