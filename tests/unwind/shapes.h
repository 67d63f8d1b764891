// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Functions with every kind of frame that the walkers tell apart.
#ifndef HEAPSONDE_TESTS_UNWIND_SHAPES_H
#define HEAPSONDE_TESTS_UNWIND_SHAPES_H

#include <stddef.h>

typedef void shape_callback(void *);

enum { SHAPES = 10 };

// Calls callback(argument) from a frame of kind `shape` (modulo SHAPES), of a size that depends on `size`.
void shape_call(unsigned shape, size_t size, shape_callback *callback, void *argument);

#endif
