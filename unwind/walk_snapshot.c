// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Snapshots are walked with all registers.
#include "unwind/full_step.h"
#include "unwind/snapshot.h"
#include "unwind/step.h"
#include "unwind/walk_marks.h"

#ifdef HS_ARCH_HAS_EXIDX
#include "arch/arm/decoder_shared.h"
#endif

static void reverse(struct hs_memo *memo)
{
    for (uint32_t i = 0, j = memo->depth - 1; memo->depth && i < j; i++, j--) {
        uintptr_t pc = memo->pcs[i];
        uint32_t mark = memo->marks[i];
        memo->pcs[i] = memo->pcs[j];
        memo->marks[i] = memo->marks[j];
        memo->pcs[j] = pc;
        memo->marks[j] = mark;
    }
}

// If only the registers of the innermost frame are known, the walk ends with it.
static int step_snapshot(struct hs_full_walk *walk)
{
    walk->guessed = false;
    int result = walk->memory.size ? hs_full_step(walk) : HS_END_CUT_COPY;
    return result == HS_END_ROOT || result == HS_STEP_MORE || !walk->memory.beyond ? result : HS_END_CUT_COPY;
}

#ifdef HS_ARCH_HAS_EXIDX // ARM
// The kernel tells the pc without the bit that says Thumb: the code around it tells which it is. Code of no file may be
// gone by now.
static uintptr_t with_mode(uintptr_t pc)
{
    struct hs_module module;
    struct hs_range code;
    if (pc & 2)
        return pc | 1;
    const uint8_t *at = (const uint8_t *)hs_code_at(pc);
    if (pc & 1 || HS_ARCH_IS_LEAF(pc) || !hs_module_find((uintptr_t)at, &module) || module.anonymous ||
        !hs_module_segment(&module, at, &code))
        return pc;
    return hs_arm_is_arm_at(code.start, at, code.end) ? pc : pc | 1;
}
#endif

void hs_memo_take_snapshot(struct hs_memo *memo, const struct hs_snapshot *snapshot)
{
    static const uint8_t none;
    struct hs_full_walk walk = {.registers = snapshot->registers, .exact = true};
    uintptr_t *values = walk.registers.values;
    walk.memory = (struct hs_words){.copy = snapshot->copy ? snapshot->copy : &none,
                                    .start = values[HS_DWARF_SP],
                                    .size = snapshot->copy ? snapshot->size : 0};
    hs_arch_prepare();
#ifdef HS_ARCH_HAS_EXIDX
    values[HS_DWARF_PC] = with_mode(values[HS_DWARF_PC]);
#endif
    memo->depth = 0;
    memo->guessed = false;
    memo->end = HS_END_TOO_DEEP;
    while (memo->depth < memo->capacity) {
        uint32_t frame = memo->depth++;
        memo->pcs[frame] = hs_frame_address(values[HS_DWARF_PC], walk.exact);
        int result = step_snapshot(&walk);
        memo->marks[frame] = walk.guessed ? MARK_GUESS : 0;
        memo->guessed |= walk.guessed;
        if (result == HS_STEP_MORE)
            continue;
        memo->end = (enum hs_end)result;
        break;
    }
    reverse(memo);
}
