// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A library to be loaded and unloaded. FRAME_SIZE and the number of calls differ from one build to the other, so that
// the same address has another rule.
#include <stdint.h>

#ifndef FRAME_SIZE
#define FRAME_SIZE 24
#endif

__attribute__((visibility("default"))) void leaf_library_call(void (*callback)(void *), void *argument);

static __attribute__((noinline, noclone)) void inner(void (*callback)(void *), void *argument)
{
    volatile char local[FRAME_SIZE];
    local[0] = 1;
    callback(argument);
    local[1 % FRAME_SIZE] = local[0];
}

void leaf_library_call(void (*callback)(void *), void *argument)
{
#ifdef ALIGNED_FRAME // and of a size that nobody knows
    _Alignas(64) volatile char local[FRAME_SIZE * 3];
    volatile char more[(uintptr_t)argument % 32 + 1];
    more[0] = 1;
    local[1] = more[0];
#else
    volatile char local[FRAME_SIZE * 3];
#endif
    local[0] = 1;
    inner(callback, argument);
    local[1] = local[0];
}
