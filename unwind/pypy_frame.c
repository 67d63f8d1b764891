// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Machine code that PyPy makes uses the frame pointer for an object on the heap. Its frames have a fixed size, and an
// entry for PyPy's own profiler, vmprof: the next entry, the frame's stack pointer, and what kind of entry it is. This
// is so since PyPy 5.0 on AMD64, and on AArch64, which PyPy 7.3 was the first to have. What the code calls may have
// pushed something below the frame.
#include "unwind/known_frame.h"

#include "arch/likely.h"
#include "unwind/call_site.h"

#if HS_PYPY_FRAMES

// In words.
#if defined(__x86_64__)
enum { FRAME_POINTER = 12, ENTRY = 19, RETURN_ADDRESS = 23, FRAME_WORDS };
#else
enum { RETURN_ADDRESS, FRAME_POINTER, ENTRY = 4, FRAME_WORDS = 10 };
#endif
enum { STACK_POINTER = ENTRY + 1, KIND };
enum { KIND_COMPILED = 3 };

static HS_COLD bool word_is(struct hs_stack_window *window, uintptr_t frame, unsigned number, uintptr_t wanted)
{
    uintptr_t word;
    return hs_stack_window_read(window, frame + number * sizeof word, &word) && word == wanted;
}

HS_COLD bool hs_pypy_frame__find(struct hs_stack_memory *memory, uintptr_t sp, uintptr_t last,
                                 struct hs_registers *caller)
{
    struct hs_stack_window window = {.own = memory};
    for (uintptr_t frame = sp; frame <= last && frame % sizeof sp == 0; frame += sizeof sp) {
        if (!word_is(&window, frame, STACK_POINTER, frame) || !word_is(&window, frame, KIND, KIND_COMPILED))
            continue;
        *caller = (struct hs_registers){.sp = frame + FRAME_WORDS * sizeof sp};
        if (hs_stack_window_read(&window, frame + RETURN_ADDRESS * sizeof sp, &caller->pc) &&
            hs_stack_window_read(&window, frame + FRAME_POINTER * sizeof sp, &caller->fp) &&
            hs_call_site__at(caller->pc, true))
            return true;
    }
    return false;
}
#else
typedef int hs_pypy_frame__none; // a file has to contain something
#endif
