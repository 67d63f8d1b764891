// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Walking a thread's stack, with the verified memo.
//
// The memo keeps the thread's previous stack. A walk steps frame by frame only until it meets that stack, then re-reads
// the words that the earlier walk depended on; where all are equal, the rest is proven and is not walked again.
// Nothing is written into foreign memory, so longjmp, exceptions, coroutines and fork need no support.
//
// Frames are stored root first: index 0 is the outermost frame, index depth-1 the frame that the walk started from.
#ifndef HEAPSONDE_UNWIND_WALK_H
#define HEAPSONDE_UNWIND_WALK_H

#include "unwind/capture.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Why a walk ended. HS_END_ROOT is the only complete end. The values are part of the trace format (cut reasons).
enum hs_end {
    HS_END_ROOT = 0,      // the outermost frame: return address undefined or zero
    HS_END_NO_RULE = 1,   // no unwind information covers a return address
    HS_END_BAD_RULE = 2,  // the information is damaged or uses what is not supported
    HS_END_BAD_STACK = 3, // the stack pointer did not grow or left its bounds
    HS_END_TOO_DEEP = 4,  // more frames than the memo holds; the innermost are kept
    HS_END_CUT_COPY = 5,  // of a snapshot: the stack goes on above what was copied of it
    HS_END_COUNT
};

// The result of a step (unwind/step.h): HS_STEP_MORE, or the enum hs_end that ends the walk.
#define HS_STEP_MORE (-1)

// Code that switches stacks keeps the frame pointer, which may lead to a lower stack. The limit for this in one walk,
// because a damaged stack may contain a loop.
#define HS_SWITCHES_MAX 16

// One thread's memo. Owned by one thread; nothing in it is shared. Treat the arrays as read-only except `ids`.
struct hs_frame_state {
    uintptr_t fp;
#ifdef HS_ARCH_LINK_REGISTER
    uintptr_t sp; // elsewhere it follows from the slot
#endif
};

struct hs_memo {
    uintptr_t *pcs;    // return address (or interrupted pc) of each frame
    uint32_t *ids;     // the caller's: one word per frame, kept as long as the frame is
    uint32_t capacity; // frames the arrays hold
    uint32_t depth;    // frames of the last stack
    enum hs_end end;   // how the last walk ended
    bool guessed;      // whether a guessed frame is in the last stack
    // private to walk_memo.c
    uint32_t generation;  // of the rules that the stack was walked with
    uintptr_t memory_low; // pages of the stack that can be read
    uintptr_t memory_span;
    uintptr_t **slots;             // where each pc was read
    struct hs_frame_state *states; // at each frame
    uint32_t *marks;               // how each frame's step is to be proven
};

// The largest capacity; a greater one is cut to it. The smallest is 1.
#define HS_MEMO_CAPACITY_MAX 16383

// Bytes that a memo of `capacity` frames needs: a header of less than 1 KiB, and 60 bytes per frame with 8-byte words
// (76 with a link register), of which a walk touches about half for the frames of its stack and half for fresh frames.
size_t hs_memo_size(uint32_t capacity);

// The capacity of a memo of at most 64 KiB: what a thread may cost.
#ifdef HS_ARCH_LINK_REGISTER
#define HS_BACKTRACE_MEMO 800
#else
#define HS_BACKTRACE_MEMO 1024
#endif

// Lays a memo out in `memory` (hs_memo_size(capacity) bytes, zeroed, 16-byte aligned). The memory stays the caller's.
struct hs_memo *hs_memo_create(void *memory, uint32_t capacity);

// Walks the stack that starts at `start`. Afterwards memo->pcs[0, depth) is the stack, and the returned value is the
// number of outermost frames that are unchanged since the previous walk: ids[0, returned) still hold what the caller
// stored; the caller fills ids[returned, depth). When memo->end differs from the previous walk's, 0 is returned.
// Async-signal-safe, but not re-entrant on one memo: the caller keeps a busy flag and uses hs_walk_plain() when set.
// No allocation, no lock, no system call once the rules of its return addresses are cached.
uint32_t hs_memo_walk(struct hs_memo *memo, const struct hs_registers *start);

// The stack pointer at a frame's pc. The frame lies from there to the stack pointer of its caller, pcs[frame - 1].
uintptr_t hs_memo_sp(const struct hs_memo *memo, uint32_t frame);

// Whether the step from pcs[frame] to its caller, pcs[frame - 1], is a guess. Only when memo->guessed.
bool hs_memo_guessed_from(const struct hs_memo *memo, uint32_t frame);

// Walks without a memo: writes up to `max` return addresses, innermost first, and sets *end. Returns their number.
uint32_t hs_walk_plain(uintptr_t *pcs, uint32_t max, const struct hs_registers *start, enum hs_end *end);

// Tells the unwinder that code was unloaded: every cached rule is dropped and every memo starts afresh.
// Call it before and after the unloading. Any thread; async-signal-safe.
void hs_unwind_forget_rules(void);

#endif
