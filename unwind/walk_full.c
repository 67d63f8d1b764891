// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The slow walk with all registers, for frames whose rule needs others than sp and fp: hand-written code such as the
// lazy binding entry of the loader, or libcrypto's assembler. It starts in its own frame, so that callee-saved
// registers are known, passes the frames of the walker itself, and answers one step. The next such step of the same
// walk goes on from there, so that all of them together pass each frame once.
#include "unwind/full_step.h"
#include "unwind/step.h"

enum { FRAME_LIMIT = 1 << 16 };

__attribute__((noinline)) int hs_step_full(struct hs_walk *walk)
{
    struct hs_full_walk *full = &walk->full->at;
    uintptr_t *values = full->registers.values;
    if (!walk->full->known) {
        full->exact = true;
        full->switches = 0;
        full->memory.copy = NULL;
        hs_capture_all(&full->registers);
        hs_stack_memory_start(&full->memory.live, values[HS_DWARF_SP]);
    }
    for (int frames = 0; frames < FRAME_LIMIT; frames++) {
        bool arrived = values[HS_DWARF_PC] == walk->pc && values[HS_DWARF_SP] == walk->sp;
        int result = hs_full_step(full);
        if (arrived || result != HS_STEP_MORE) {
            walk->pc = values[HS_DWARF_PC];
            walk->sp = values[HS_DWARF_SP];
            walk->fp = values[HS_DWARF_FP];
            walk->exact = full->exact;
            walk->full->known = arrived && result == HS_STEP_MORE;
            return arrived ? result : HS_END_BAD_RULE;
        }
    }
    return HS_END_BAD_RULE;
}
