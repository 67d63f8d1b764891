// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Converts the number of a stack (runtime/stacks.h) to its frames. Frames take at most a quarter of HEAPSONDE_MEMORY,
// or of its default; runtime/prof/contexts.h has what happens then.
#ifndef HEAPSONDE_RUNTIME_PROF_STACK_FRAMES_H
#define HEAPSONDE_RUNTIME_PROF_STACK_FRAMES_H

#include <stdint.h>

#pragma GCC visibility push(hidden)
// The first `limit` return addresses of the stack, innermost first. Returns the number of all its frames, and the
// outermost node; 0: no such stack. Any thread may call it.
uint32_t hs_stack_frames__walk(uint32_t stack, uintptr_t *pcs, uint32_t limit, uintptr_t *outermost);
#pragma GCC visibility pop

#endif
