// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The way back from the number of a stack (runtime/stacks.h) to its frames.
#ifndef HEAPSONDE_RUNTIME_PROF_STACK_FRAMES_H
#define HEAPSONDE_RUNTIME_PROF_STACK_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)
// The innermost frame's return address and the stack of its caller, 0 for an outermost frame. False when there is no
// such stack. Any thread.
bool hs_stack_frames__at(uint32_t stack, uintptr_t *pc, uint32_t *caller);
#pragma GCC visibility pop

#endif
