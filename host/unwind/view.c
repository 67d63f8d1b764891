// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The walks of a view: compiled once for each.
#include "host/unwind/view.h"

#include "host/unwind/cfi_row_memory.h"
#include "host/unwind/view_process.h"
#include "unwind/function_bounds.h"
#include "unwind/rule_cache.h"
#include "unwind/snapshot.h"
#include "unwind/walk_marks.h"

enum { FRAMES_MOST = 4096 };

static void take(const struct hs_memo *memo, struct hs_view_walk *walk)
{
    walk->depth = memo->depth;
    walk->end = (int)memo->end;
    for (uint32_t i = 0; i < memo->depth; i++) {
        uint32_t frame = memo->depth - 1 - i; // the memo has the outermost first
        walk->pcs[i] = memo->pcs[frame];
        walk->guessed[i] = memo->marks[frame] == MARK_GUESS;
    }
}

static void walk_snapshot(const struct hs_code_map *code, struct hs_view_walk *walk)
{
    static uintptr_t pcs[FRAMES_MOST];
    static uint32_t marks[FRAMES_MOST];
    struct hs_memo memo = {.pcs = pcs, .marks = marks};
    struct hs_snapshot snapshot = {.copy = walk->copy, .size = walk->size};
    memo.capacity = walk->capacity < FRAMES_MOST ? walk->capacity : FRAMES_MOST;
    for (unsigned i = 0; i < HS_DWARF_REGISTERS; i++)
        snapshot.registers.values[i] = (uintptr_t)walk->registers[i];
    hs_view_process.code_map = code;
    hs_view_process.granted += hs_view_process.granted ? HS_OFFLINE_WORK_EACH : HS_OFFLINE_WORK_FIRST;
    hs_view_process.given_up = false;
    hs_memo_take_snapshot(&memo, &snapshot);
    take(&memo, walk);
    walk->given_up = hs_view_process.given_up;
}

static void forget(void)
{
    hs_unwind_forget_rules();
    hs_function_bounds_forget();
    hs_cfi_row_memory_forget();
    hs_view_process = (struct hs_view_process){0};
}

static uint64_t looked_at(void)
{
    return hs_view_process.looked_at;
}

const struct hs_view HS_VIEW_NAME __attribute__((visibility("default"))) = {
    .registers = HS_DWARF_REGISTERS,
    .pc = HS_DWARF_PC,
    .walk = walk_snapshot,
    .forget = forget,
    .looked_at = looked_at,
};
