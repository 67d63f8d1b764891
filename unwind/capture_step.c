// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/capture.h"

#include "unwind/full_step.h"
#include "unwind/step.h"

#ifdef HS_ARCH_CAPTURE_CALLER
typedef int hs_capture_step__none; // a file has to contain something
#else
void hs_capture_step(struct hs_registers *registers)
{
    struct hs_full_start full;
    struct hs_walk walk;
    hs_full_start__clear(&full);
    hs_walk_start(&walk, registers, &full);
    hs_stack_memory_start(&walk.memory, walk.sp);
    if (hs_step(&walk, hs_walk_rule(&walk)) == HS_STEP_MORE)
        *registers = (struct hs_registers){walk.pc, walk.sp, walk.fp};
}
#endif
