// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The verified memo.
//
// Why it is sound: from a frame on, a walk is a function of that frame's state and the words that it reads. When the
// new stack reaches a frame with the state of a remembered one, and every word read from there on is unchanged, the
// remaining frames are the remembered ones. The words are compared in the order in which a plain walk reads them, so
// no address is read that a plain walk would not read. What a table rule cannot promise (signal frames, odd rules,
// guesses, a walk that ended for a reason found in memory) is a barrier: there the step itself is repeated.
//
// The arrays have twice the capacity. Frames that may be new are collected downwards from the upper end, so that they
// are root first as well, and are moved next to the proven ones at the end of the walk.
#include "arch/invariant.h"
#include "arch/likely.h"
#include "unwind/full_step.h"
#include "unwind/odd_rules.h"
#include "unwind/step.h"
#include "unwind/walk.h"
#include "unwind/walk_marks.h"

static uint32_t usable_capacity(uint32_t capacity)
{
    return capacity < HS_MEMO_CAPACITY_MAX ? capacity : HS_MEMO_CAPACITY_MAX;
}

static size_t header_size(void)
{
    return (sizeof(struct hs_memo) + 2 * sizeof(struct hs_full_start) + 63) & ~(size_t)63;
}

// Behind the memo, one for the walk and one for proofs, which are ahead of it: each passes every frame at most once.
static inline struct hs_full_start *full_start(const struct hs_memo *memo, bool of_proof)
{
    return (struct hs_full_start *)(uintptr_t)(memo + 1) + of_proof;
}

size_t hs_memo_size(uint32_t capacity)
{
    const struct hs_memo *memo;
    size_t frames = usable_capacity(capacity);
    return header_size() + frames * sizeof *memo->ids +
           2 * frames * (sizeof *memo->pcs + sizeof *memo->slots + sizeof *memo->states + sizeof *memo->marks);
}

HS_COLD struct hs_memo *hs_memo_create(void *memory, uint32_t capacity)
{
    struct hs_memo *memo = memory;
    size_t frames = usable_capacity(capacity);
    memo->capacity = (uint32_t)frames;
    memo->depth = 0;
    memo->end = HS_END_ROOT;
    memo->guessed = false;
    memo->generation = 0;
    memo->memory_span = 0;
    memo->pcs = (uintptr_t *)((char *)memory + header_size());
    memo->slots = (uintptr_t **)(memo->pcs + 2 * frames);
    memo->states = (struct hs_frame_state *)(memo->slots + 2 * frames);
    memo->marks = (uint32_t *)(memo->states + 2 * frames);
    memo->ids = memo->marks + 2 * frames;
    return memo;
}

#ifdef HS_ARCH_LINK_REGISTER
static inline uintptr_t frame_sp(const struct hs_memo *memo, uint32_t frame)
{
    return memo->states[frame].sp;
}

static inline void set_frame_sp(struct hs_memo *memo, uint32_t frame, const struct hs_walk *walk)
{
    memo->states[frame].sp = walk->sp;
    memo->slots[frame] = (uintptr_t *)walk->slot;
}

static inline void take_frame_sp(const struct hs_memo *memo, uint32_t frame, struct hs_walk *walk)
{
    walk->sp = memo->states[frame].sp;
    walk->slot = (uintptr_t)memo->slots[frame];
}
#else
static inline uintptr_t frame_sp(const struct hs_memo *memo, uint32_t frame)
{
    return (uintptr_t)memo->slots[frame] + HS_RULE_RA_BELOW_CFA;
}

static inline void set_frame_sp(struct hs_memo *memo, uint32_t frame, const struct hs_walk *walk)
{
    memo->slots[frame] = (uintptr_t *)(walk->sp - HS_RULE_RA_BELOW_CFA);
}

static inline void take_frame_sp(const struct hs_memo *memo, uint32_t frame, struct hs_walk *walk)
{
    walk->sp = frame_sp(memo, frame);
}
#endif

uintptr_t hs_memo_sp(const struct hs_memo *memo, uint32_t frame)
{
    return frame_sp(memo, frame);
}

static inline uint32_t step_mark(uint32_t rule)
{
    if (__builtin_expect(hs_rule_is(rule, HS_RULE_STANDARD), 1))
        return (rule & (HS_RULE_BASE_IS_FP | HS_RULE_FP_SAVED)) | hs_rule_fp_below_ra(rule) << 6;
    if (hs_rule_is(rule, HS_RULE_GUESSED) || rule == hs_rule_odd(HS_ODD_END, HS_ODD_PLANTED))
        return MARK_GUESS;
    return rule == hs_rule_odd(HS_ODD_END, HS_END_ROOT) ? 0 : MARK_BARRIER;
}
_Static_assert(MARK_OWN == HS_RULE_BASE_IS_FP && MARK_SLOT == HS_RULE_FP_SAVED, "step_mark() copies these bits");

// Collects the frame that `walk` stands at; `fresh` frames are collected already.
static inline void collect(struct hs_memo *memo, uint32_t fresh, const struct hs_walk *walk, uint32_t mark)
{
    HS_INVARIANT(fresh < memo->capacity);
    uint32_t place = 2 * memo->capacity - 1 - fresh;
    memo->pcs[place] = walk->pc;
    set_frame_sp(memo, place, walk);
    memo->states[place].fp = walk->fp;
    memo->marks[place] = mark | (walk->exact ? MARK_EXACT : 0);
}

static inline bool joins(const struct hs_memo *memo, uint32_t frame, const struct hs_walk *walk)
{
    uint32_t mark = memo->marks[frame];
#ifdef HS_ARCH_LINK_REGISTER
    // Its step depends on the link register, which is not kept.
    if (mark & MARK_EXACT)
        return false;
#endif
    return memo->pcs[frame] == walk->pc && frame_sp(memo, frame) == walk->sp && !!(mark & MARK_EXACT) == walk->exact &&
           (!(mark & MARK_NEED) || memo->states[frame].fp == walk->fp);
}

// The step of a barrier: seldom, so that one copy does, compiled for size.
static HS_COLD __attribute__((noinline)) int step_barrier(struct hs_walk *walk)
{
    uint32_t rule = hs_walk_rule(walk);
    int result;
    while ((result = hs_step_seldom(walk, rule)) == HS_END_BAD_STACK && hs_rule_is(rule, HS_RULE_STANDARD))
        rule = hs_rule_downwards(rule);
    return result;
}

// Repeats the step of a barrier, whose state is proven. True: it leads to the same frame, or to the same end.
static HS_COLD __attribute__((noinline)) bool repeat_step(const struct hs_memo *memo, uint32_t frame)
{
    struct hs_walk state;
    hs_walk_start(&state, &(struct hs_registers){memo->pcs[frame], frame_sp(memo, frame), memo->states[frame].fp},
                  full_start(memo, true));
    state.exact = memo->marks[frame] & MARK_EXACT;
    hs_stack_memory_start(&state.memory, state.sp);
    int result = step_barrier(&state);
    if (frame == 0)
        return result != HS_STEP_MORE ? (enum hs_end)result == memo->end : memo->end == HS_END_TOO_DEEP;
    return result == HS_STEP_MORE && joins(memo, frame - 1, &state);
}

// Whether the step from `frame`, a standard one whose saved fp matters, still leads to the same state.
static bool same_step(const struct hs_memo *memo, uint32_t frame)
{
    const uintptr_t *slot = memo->slots[frame - 1];
    if (hs_arch_strip(*(const volatile uintptr_t *)slot) != memo->pcs[frame - 1])
        return false;
    const uintptr_t *fp_slot = slot - mark_fp_below_ra(memo->marks[frame]);
    return *(const volatile uintptr_t *)fp_slot == memo->states[frame - 1].fp;
}

// Whether the return address that leads to the frame `above` is another one.
static inline bool is_other(uintptr_t *const *slots, const uintptr_t *pcs, uint32_t above)
{
    return hs_arch_strip(*(const volatile uintptr_t *)slots[above]) != pcs[above];
}

// Proves the frames from `frame`, whose state is proven, towards the root. Returns the last proven one: 0 is all.
// *complete tells whether the end is proven, too.
static inline uint32_t verify(const struct hs_memo *memo, uint32_t frame, bool *complete)
{
    uintptr_t *const *slots = memo->slots;
    const uintptr_t *pcs = memo->pcs;
    for (;;) {
        uint32_t link = mark_link(memo->marks[frame]);
        uint32_t stop = link ? link - 1 : 0;
        for (; frame - stop >= 4; frame -= 4)
            if (is_other(slots, pcs, frame - 1) || is_other(slots, pcs, frame - 2) || is_other(slots, pcs, frame - 3) ||
                is_other(slots, pcs, frame - 4))
                break;
        for (; frame > stop; frame--)
            if (is_other(slots, pcs, frame - 1))
                return frame;
        if (!link) {
            *complete = true;
            return 0;
        }
        bool barrier = memo->marks[frame] & MARK_BARRIER;
        if (barrier ? !repeat_step(memo, frame) : !same_step(memo, frame))
            return frame;
        if (frame == 0) {
            *complete = true;
            return 0;
        }
        frame--;
    }
}

// Collects the proven frames [last, first], with their fps as they are now: an fp that nothing depended on was not
// compared. Leaves `walk` at `last`. Returns the number of frames collected, `fresh` included.
static HS_COLD __attribute__((noinline)) uint32_t collect_proven(struct hs_memo *memo, uint32_t fresh, uint32_t first,
                                                                 uint32_t last, struct hs_walk *walk)
{
    for (uint32_t frame = first;; frame--) {
        uint32_t mark = memo->marks[frame];
        walk->pc = memo->pcs[frame];
        take_frame_sp(memo, frame, walk);
        walk->exact = mark & MARK_EXACT;
        collect(memo, fresh++, walk, mark & MARK_STEP);
        if (frame == last || fresh == memo->capacity)
            return fresh;
        if (mark & MARK_BARRIER)
            step_barrier(walk);
        else if (mark & MARK_SLOT)
            walk->fp = hs_stack_word((uintptr_t)(memo->slots[frame - 1] - mark_fp_below_ra(mark)));
    }
}

bool hs_memo_guessed_from(const struct hs_memo *memo, uint32_t frame)
{
    return frame && (memo->marks[frame] & MARK_GUESS) == MARK_GUESS;
}

// Completes the marks of the frames [first, depth).
static void link_marks(struct hs_memo *memo, uint32_t first)
{
    uint32_t below = first ? memo->marks[first - 1] : memo->end == HS_END_TOO_DEEP ? MARK_NEED : 0;
    for (uint32_t frame = first; frame < memo->depth; frame++) {
        uint32_t mark = memo->marks[frame] & MARK_STEP;
        if (HS_LIKELY(!(mark & (MARK_OWN | MARK_BARRIER)) && !(below & MARK_NEED))) {
            memo->marks[frame] = below = mark | (below & ~(uint32_t)MARK_STEP);
            continue;
        }
        bool reload = (mark & MARK_SLOT) && (below & MARK_NEED) && frame;
        bool need = mark & (MARK_OWN | MARK_BARRIER) || (!(mark & MARK_SLOT) && below & MARK_NEED);
        uint32_t link = reload || mark & MARK_BARRIER ? frame + 1 : frame ? mark_link(below) : 0;
        bool guess = hs_memo_guessed_from(memo, frame);
        below = mark | (need ? MARK_NEED : 0) | (guess ? MARK_GUESSED : below & MARK_GUESSED) | link << 18;
        HS_INVARIANT(mark_link(below) <= frame + 1);
        memo->marks[frame] = below;
    }
}

static void move_frames(struct hs_memo *memo, uint32_t to, uint32_t from, uint32_t count)
{
    uintptr_t *pcs = memo->pcs, **slots = memo->slots;
    struct hs_frame_state *states = memo->states;
    uint32_t *marks = memo->marks;
    for (uint32_t end = to + count; to != end; to++, from++) {
        pcs[to] = pcs[from];
        slots[to] = slots[from];
        states[to] = states[from];
        marks[to] = marks[from];
    }
}

// Puts the collected frames next to the `joined` proven ones. Too many: the outermost are dropped.
static uint32_t place(struct hs_memo *memo, uint32_t joined, uint32_t fresh, enum hs_end end)
{
    uint32_t total = joined + fresh, dropped = 0;
    if (total > memo->capacity) {
        dropped = total - memo->capacity;
        move_frames(memo, 0, dropped, joined - dropped);
        joined -= dropped;
        end = HS_END_TOO_DEEP;
    }
    move_frames(memo, joined, 2 * memo->capacity - fresh, fresh);
    HS_INVARIANT(joined + fresh <= memo->capacity && (joined + fresh || !total));
    memo->depth = joined + fresh;
    memo->end = end;
    uint32_t unchanged = dropped ? 0 : joined;
    link_marks(memo, unchanged);
    memo->guessed = memo->depth && memo->marks[memo->depth - 1] & MARK_GUESSED;
    return unchanged;
}

static void start_memory(const struct hs_memo *memo, struct hs_walk *walk)
{
    walk->memory.low = memo->memory_low;
    walk->memory.span = memo->memory_span;
    if (walk->sp - walk->memory.low >= walk->memory.span)
        hs_stack_memory_start(&walk->memory, walk->sp);
}

// Whether the stack starts at `frame` because fp is far from sp, whatever is in memory.
static inline bool starts_by_fp(const struct hs_memo *memo, uint32_t frame, uint32_t rule)
{
    return HS_PLANTED_FRAMES && rule == hs_rule_odd(HS_ODD_END, HS_ODD_PLANTED) &&
           memo->states[frame].fp - frame_sp(memo, frame) > HS_PLANTED_FRAME_MAX;
}

// The last collected frame's step ended the walk for a reason that may be in memory: it is repeated the next time.
static void mark_end(struct hs_memo *memo, uint32_t fresh, uint32_t rule)
{
    const uint32_t frame = 2 * memo->capacity - fresh;
    uint32_t *mark = &memo->marks[frame];
    if (starts_by_fp(memo, frame, rule))
        *mark = (*mark & MARK_EXACT) | MARK_OWN;
    else if (rule != hs_rule_odd(HS_ODD_END, HS_END_ROOT) && !(*mark & MARK_BARRIER))
        *mark = (*mark & MARK_EXACT) | MARK_BARRIER;
}

uint32_t hs_memo_walk(struct hs_memo *memo, const struct hs_registers *start)
{
    struct hs_walk walk;
    hs_walk_start(&walk, start, full_start(memo, false));
    hs_full_start__clear(full_start(memo, false));
    hs_full_start__clear(full_start(memo, true));
    uint32_t generation = hs_rule_generation();
    if (memo->generation != generation) {
        memo->generation = generation;
        memo->depth = 0;
    }
    start_memory(memo, &walk);
    uint32_t candidates = memo->depth, fresh = 0, joined = 0;
    int end = HS_STEP_MORE;
    do {
        uint32_t rule;
        while (candidates && frame_sp(memo, candidates - 1) < walk.sp)
            candidates--;
        if (candidates && joins(memo, candidates - 1, &walk)) {
            bool complete = false;
            uint32_t last = verify(memo, candidates - 1, &complete);
            if (complete && (memo->end != HS_END_TOO_DEEP || candidates + fresh >= memo->capacity)) {
                joined = candidates;
                end = memo->end;
                break;
            }
            struct hs_walk proven = walk;
            fresh = collect_proven(memo, fresh, candidates - 1, last, &proven);
            walk = proven;
            candidates = last;
            rule = hs_walk_rule(&walk);
        } else {
            rule = hs_walk_rule(&walk);
            collect(memo, fresh++, &walk, step_mark(rule));
        }
        while (HS_UNLIKELY((end = hs_step(&walk, rule)) == HS_END_BAD_STACK) && hs_rule_is(rule, HS_RULE_STANDARD))
            rule = hs_rule_downwards(rule);
        if (end != HS_STEP_MORE)
            mark_end(memo, fresh, rule);
        else if (fresh == memo->capacity)
            end = HS_END_TOO_DEEP;
    } while (end == HS_STEP_MORE);
    memo->memory_low = walk.memory.low;
    memo->memory_span = walk.memory.span;
    return fresh || joined != memo->depth ? place(memo, joined, fresh, (enum hs_end)end) : joined;
}
