// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A library to be loaded and unloaded. FRAME_SIZE and the number of calls differ from one build to the other, so that
// the same address has another rule.
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
    volatile char local[FRAME_SIZE * 3];
    local[0] = 1;
    inner(callback, argument);
    local[1] = local[0];
}
