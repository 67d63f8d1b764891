// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The way back from the number of a stack (runtime/stacks.h) to its frames.
#ifndef HEAPSONDE_RUNTIME_PROF_STACK_FRAMES_H
#define HEAPSONDE_RUNTIME_PROF_STACK_FRAMES_H

#include <stdint.h>

#pragma GCC visibility push(hidden)
// The stack's return addresses, innermost first, the first `limit` of them. Returns how many it has, and what the
// outermost is; 0 when there is no such stack. Any thread.
uint32_t hs_stack_frames__walk(uint32_t stack, uintptr_t *pcs, uint32_t limit, uintptr_t *outermost);
#pragma GCC visibility pop

#endif
