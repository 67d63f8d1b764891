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

static uintptr_t word_of(uintptr_t frame, unsigned number)
{
    return hs_stack_word(frame + number * sizeof frame);
}

HS_COLD bool hs_pypy_frame__find(struct hs_stack_memory *memory, uintptr_t sp, uintptr_t last,
                                 struct hs_registers *caller)
{
    for (uintptr_t frame = sp; frame <= last; frame += sizeof sp) {
        const uintptr_t end = frame + FRAME_WORDS * sizeof sp;
        if (!hs_stack_memory_check(memory, frame) || !hs_stack_memory_check(memory, end - sizeof sp))
            return false;
        if (word_of(frame, STACK_POINTER) != frame || word_of(frame, KIND) != KIND_COMPILED)
            continue;
        *caller =
            (struct hs_registers){.pc = word_of(frame, RETURN_ADDRESS), .sp = end, .fp = word_of(frame, FRAME_POINTER)};
        if (hs_call_site__at(caller->pc, true))
            return true;
    }
    return false;
}
#else
typedef int hs_pypy_frame__none; // a file has to contain something
#endif
