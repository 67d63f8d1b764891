// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/python_merge.h"

#include "format/trace_format.h"

#define W sizeof(void *)

struct hs_python_state hs_python;

bool hs_python__read_code(struct hs_python_thread *self, uintptr_t frame, struct hs_python_code *code)
{
    const struct hs_python_layout *layout = hs_python.layout;
    code->code = hs_python_word(frame + layout->frame_code) & ~(uintptr_t)layout->frame_code_tag;
    if (!hs_python_readable(self, code->code, HS_PYTHON_OF_CODE))
        return false;
    code->name = hs_python_word(code->code + layout->code_name);
    code->lines = hs_python_word(code->code + layout->code_lines);
    code->first_line = hs_python_number(code->code + layout->code_first_line);
    if (!hs_python_readable(self, code->lines, layout->bytes_text + sizeof code->table))
        return false;
    uintptr_t table = code->lines + layout->bytes_text;
    code->table = hs_python_word(code->lines + 2 * W) + ((uint64_t)hs_python_number(table) << 32) +
                  ((uint64_t)hs_python_number(table + 4) << 8);
    return true;
}

// ---- the stack with functions --------------------------------------------------------------------------------------

static bool same_code(const struct hs_python_code *left, const struct hs_python_code *right)
{
    return left->code == right->code && left->name == right->name && left->lines == right->lines &&
           left->table == right->table && left->first_line == right->first_line;
}

static bool name_code(struct hs_python_thread *self, uint32_t tid, struct hs_python_code *code)
{
    struct hs_python_code *known = &self->codes[(code->code / 16 ^ code->code >> 12) % HS_PYTHON_CODES];
    if (same_code(known, code)) {
        *code = *known;
        return true;
    }
    if (!hs_python_code__name(hs_python.layout, code, tid))
        return false;
    *known = *code;
    return true;
}

// The address that stands for the instruction of a frame. 0: it has not begun, as far as its program can tell, or it
// cannot be read.
static uintptr_t address_of(struct hs_python_thread *self, uint32_t tid, uintptr_t frame)
{
    const struct hs_python_layout *layout = hs_python.layout;
    struct hs_python_code code;
    if (!hs_python__read_code(self, frame, &code) || !name_code(self, tid, &code))
        return 0;
    uintptr_t instruction = hs_python_instruction(layout, frame, layout->run);
    intptr_t unit = layout->run == HS_PYTHON_ONE_FRAME ? (int32_t)instruction
                                                       : (intptr_t)(instruction - code.code - layout->code_bytes);
    unit = unit < 0 ? -1 : unit / layout->unit;
    if (layout->frame_owner && hs_python_byte(frame + layout->frame_owner) != HS_PYTHON_OF_GENERATOR &&
        unit < (int32_t)hs_python_number(code.code + layout->code_first_traceable))
        return 0;
    return code.start + 1 + (uintptr_t)(unit < (intptr_t)code.units ? unit : -1);
}

// A stack is put together from its innermost frame on, downwards from the end of the array.
struct python_merge {
    struct hs_python_thread *self;
    uint32_t tid, count;
    struct hs_python_place place;
};

static void push(struct python_merge *merge, uintptr_t pc)
{
    struct hs_memo *merged = &merge->self->merged;
    if (merge->count < merged->capacity)
        merged->pcs[merged->capacity - ++merge->count] = pc;
    else
        merged->end = HS_END_TOO_DEEP;
}

// Goes to the next run outwards. Returns how many functions of this one were pushed.
static uint32_t pass_run(struct python_merge *merge, bool pushes)
{
    const struct hs_python_layout *layout = hs_python.layout;
    uintptr_t frame = merge->place.frame, pc;
    uint32_t count = 0, most = merge->self->merged.capacity;
    bool ends = false;
    while (!ends && frame && most--) {
        if (!hs_python_readable(merge->self, frame, HS_PYTHON_OF_FRAME)) {
            frame = 0;
            break;
        }
        ends = hs_python_is_boundary(frame);
        if (!ends && pushes && (pc = address_of(merge->self, merge->tid, frame))) {
            push(merge, pc);
            count++;
        }
        ends |= layout->run == HS_PYTHON_ONE_FRAME || (layout->frame_end && hs_python_byte(frame + layout->frame_end));
        frame = hs_python_word(frame + layout->frame_previous);
    }
    merge->place.frame = ends ? frame : 0;
    if (layout->record_previous) {
        merge->place.record = hs_python_word(merge->place.record + layout->record_previous);
        if (!hs_python_readable(merge->self, merge->place.record, 4 * W))
            merge->place.frame = 0;
    }
    return count;
}

// Where on the stack of the interpreter loop the run has something. 0: unknown.
static uintptr_t anchor_of(struct python_merge *merge)
{
    if (hs_python.layout->run != HS_PYTHON_BOUNDARY)
        return merge->place.record;
    uintptr_t frame = merge->place.frame;
    for (uint32_t most = merge->self->merged.capacity; frame && most--;) {
        if (!hs_python_readable(merge->self, frame, HS_PYTHON_OF_FRAME))
            return 0;
        if (hs_python_is_boundary(frame))
            return frame;
        frame = hs_python_word(frame + hs_python.layout->frame_previous);
    }
    return 0;
}

static bool is_loop(uintptr_t pc)
{
    return pc - hs_python.loop - 1 < hs_python.loop_end - hs_python.loop;
}

// Whether a frame of machine code is the interpreter loop that executes the run. Runs that lie below it were executed
// by none that is in the stack.
static bool executes(struct python_merge *merge, const struct hs_memo *memo, uint32_t frame)
{
    if (hs_python.loop_end)
        return is_loop(memo->pcs[frame]);
    uintptr_t low = hs_memo_sp(memo, frame), high = frame ? hs_memo_sp(memo, frame - 1) : UINTPTR_MAX, anchor;
    while (merge->place.frame && (anchor = anchor_of(merge)) && anchor < high) {
        if (anchor >= low)
            return true;
        pass_run(merge, false);
    }
    return false;
}

// Only where each frame is a run. A loop that runs a frame of another state, one of an interpreter within the
// interpreter, cannot be told from the others.
static bool has_other_loops(struct python_merge *merge, const struct hs_memo *memo)
{
    uintptr_t frame = merge->place.frame;
    for (uint32_t i = memo->depth; i-- > 0 && hs_python.loop_end;) {
        if (!is_loop(memo->pcs[i]))
            continue;
        if (!frame || !hs_python_readable(merge->self, frame, HS_PYTHON_OF_FRAME))
            return true;
        frame = hs_python_word(frame + hs_python.layout->frame_previous);
    }
    return false;
}

static void merge_stack(struct python_merge *merge, const struct hs_memo *memo)
{
    struct hs_memo *merged = &merge->self->merged;
    if (has_other_loops(merge, memo))
        merge->place.frame = 0;
    merged->end = memo->end;
    for (uint32_t frame = memo->depth; frame-- > 0;) {
        bool is_run = merge->place.frame && executes(merge, memo, frame);
        if (!is_run || !pass_run(merge, true))
            push(merge, memo->pcs[frame]);
        if (memo->guessed && hs_memo_guessed_from(memo, frame))
            push(merge, HS_NODE_GUESSED);
    }
    merged->depth = merge->count;
    for (uint32_t i = 0, from = merged->capacity - merge->count; i < merge->count; i++)
        merged->pcs[i] = merged->pcs[from + i];
}

// Of a new walk: what was recalled was not walked.
uint32_t hs_python__find_stack(struct hs_python_thread *self, const struct hs_python_caller *caller,
                               struct hs_python_place place)
{
    struct python_merge merge = {.self = self, .tid = caller->tid, .place = place};
    if (!hs_stack_has_room())
        return 0;
    uint32_t kept = hs_memo_walk(caller->memo, caller->registers);
    merge_stack(&merge, caller->memo);
    hs_stacks__identify(caller->memo, kept, caller->tid);
    return hs_stacks__identify(&self->merged, 0, caller->tid);
}
