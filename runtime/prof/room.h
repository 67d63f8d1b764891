// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How much of HEAPSONDE_MEMORY, or of its default, contexts may take. runtime/prof/contexts.h says what happens beyond.
#ifndef HEAPSONDE_RUNTIME_PROF_ROOM_H
#define HEAPSONDE_RUNTIME_PROF_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)
// Whether the calling thread may make it `bytes` bytes of one `share`th of the memory. It may take more while it
// shortens a stack.
bool hs_room__is_left(uint64_t bytes, unsigned share);
#pragma GCC visibility pop

#endif
