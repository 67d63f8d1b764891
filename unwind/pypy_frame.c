// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Machine code that PyPy makes uses the frame pointer for an object on the heap. Its frames have a fixed size, and an
// entry for PyPy's own profiler, vmprof: the next entry, the frame's stack pointer, and what kind of entry it is. This
// is so since PyPy 5.0. What the code calls may have pushed something below the frame.
#include "unwind/known_frame.h"

#include "arch/likely.h"
#include "unwind/call_site.h"

#if HS_KNOWN_FRAMES

enum { FRAME_POINTER = 12, ENTRY = 19, STACK_POINTER = ENTRY + 1, KIND, RETURN_ADDRESS = 23, FRAME_WORDS }; // in words
enum { KIND_COMPILED = 3 };
enum { PUSHED_MAX = 32 }; // words; arguments, and frames of helpers

static HS_COLD bool read_word(struct hs_stack_memory *memory, uintptr_t frame, uintptr_t number, uintptr_t *word)
{
    return hs_stack_memory_read(memory, frame + number * sizeof *word, word);
}

HS_COLD bool hs_pypy_frame__at(struct hs_stack_memory *memory, uintptr_t sp, struct hs_registers *caller)
{
    uintptr_t self, kind, pc, fp;
    if (!read_word(memory, sp, STACK_POINTER, &self) || self != sp || !read_word(memory, sp, KIND, &kind) ||
        kind != KIND_COMPILED || !read_word(memory, sp, FRAME_POINTER, &fp) ||
        !read_word(memory, sp, RETURN_ADDRESS, &pc) || !hs_call_site__at(pc, true))
        return false;
    *caller = (struct hs_registers){.pc = pc, .sp = sp + FRAME_WORDS * sizeof pc, .fp = fp};
    return true;
}

HS_COLD bool hs_pypy_frame__near(struct hs_stack_memory *memory, uintptr_t sp, struct hs_registers *caller)
{
    for (unsigned pushed = 1; pushed <= PUSHED_MAX; pushed++)
        if (hs_pypy_frame__at(memory, sp + pushed * sizeof sp, caller))
            return true;
    return false;
}
#else
typedef int hs_pypy_frame__none; // a file has to contain something
#endif
