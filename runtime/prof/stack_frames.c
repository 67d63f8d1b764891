// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The stack table (runtime/stacks.c) announces each new node to a journal and its code to a list of modules. For the
// profiler the journal is a table in memory, and modules do not matter: a dump lists those that are mapped when it is
// written.
#include "runtime/prof/stack_frames.h"

#include "arch/far.h"
#include "format/trace_format.h"
#include "runtime/journal.h"
#include "runtime/memory.h"
#include "runtime/modules.h"
#include "runtime/prof/room.h"

#include <stdatomic.h>
#include <stddef.h>

enum { SEGMENT_BITS = 14, SEGMENTS = 16384, SHARE = 4 };

struct frame {
    uintptr_t pc;
    uint32_t caller;
};

// Written under the stack table's lock, before the number is given to anybody.
static struct frame *_Atomic segments[SEGMENTS] HS_FAR;

static struct frame *_Atomic *segment_at(uint32_t number)
{
    return *HS_FAR_AT(segments) + number;
}

void hs_journal__code_ends(const struct hs_code_range *code, uint32_t count)
{
    (void)code, (void)count;
}

bool hs_journal__node(uint32_t id, uint32_t parent, uintptr_t pc)
{
    if (id >> SEGMENT_BITS >= SEGMENTS || !hs_room__is_left((uint64_t)id * sizeof(struct frame), SHARE))
        return false;
    struct frame *segment = atomic_load_explicit(segment_at(id >> SEGMENT_BITS), memory_order_relaxed);
    if (!segment) {
        segment = hs_memory__map(sizeof *segment << SEGMENT_BITS);
        if (!segment)
            return false;
        atomic_store_explicit(segment_at(id >> SEGMENT_BITS), segment, memory_order_release);
    }
    segment[id & ((1u << SEGMENT_BITS) - 1)] = (struct frame){pc, parent};
    return true;
}

static const struct frame *frame_of(uint32_t stack)
{
    if (stack == 0 || stack >> SEGMENT_BITS >= SEGMENTS)
        return NULL;
    const struct frame *segment = atomic_load_explicit(segment_at(stack >> SEGMENT_BITS), memory_order_acquire);
    return segment ? &segment[stack & ((1u << SEGMENT_BITS) - 1)] : NULL;
}

uint32_t hs_stack_frames__walk(uint32_t stack, uintptr_t *pcs, uint32_t limit, uintptr_t *outermost)
{
    uint32_t depth = 0;
    for (const struct frame *frame; (frame = frame_of(stack)); stack = frame->caller) {
        if (frame->pc == HS_NODE_GUESSED)
            continue; // no frame: it says that the next one is a guess
        *outermost = frame->pc;
        if (depth < limit)
            pcs[depth] = frame->pc;
        depth++;
    }
    return depth;
}

void hs_journal__flush_code(void)
{
}

void hs_modules__see(uintptr_t pc)
{
    (void)pc;
}

bool hs_code_ranges__hold(const struct hs_code_range *code, uint32_t count, uintptr_t pc)
{
    (void)code, (void)count, (void)pc;
    return false;
}

void hs_modules__settle(void)
{
}

bool hs_modules__rescan(void (*unloaded)(const struct hs_code_range *code, uint32_t count))
{
    (void)unloaded;
    return false;
}
