// SPDX-License-Identifier: MIT OR Apache-2.0
//
// All events of all streams in time order: a heap of the chunks that overlap, opened in the order of their first time.
#include "host/base/array.h"
#include "host/import/decode_ahead.h"
#include "host/import/step.h"
#include "host/import/trace.h"

#include <errno.h>
#include <stdlib.h>

struct replay_cursor {
    uint64_t time; // of the next phase; a stream's time never goes back
    uint64_t sequence;
    const struct hs_brief_event *next, *end;
    const struct hs_event *wide;
    struct hs_decoded *decoded;
    size_t number; // of the chunk in the order
    uint32_t stream;
    int phase;
};

// A cursor in the heap with its time, so that comparisons do not access the cursor.
struct replay_entry {
    uint64_t time;
    struct replay_cursor *cursor;
};

struct replay {
    const struct hs_trace *trace;
    const struct hs_trace_chunk **order; // the EVENTS chunks by first time
    size_t chunks, next;
    struct replay_entry *heap;
    size_t open, heap_capacity;
    struct hs_decode_ahead *ahead;
    struct hs_replay_counts *counts;
    const struct hs_replay_cut *cut;
    uint64_t last_cut; // steps from here on are after the last cut; UINT64_MAX: no cut, or it was passed
    uint64_t cut_end;  // behind the next one
    uint64_t next_cut; // events from which on there is another one before the last; UINT64_MAX: none
    uint64_t *taken;   // by chunk of the order: steps before `next` or, until it is opened, those to leave out
    hs_step_visitor visit;
    void *context;
    size_t steps; // that are not visited yet
    struct hs_step step[HS_STEPS];
};

static int compare_chunks(const void *left, const void *right)
{
    const struct hs_trace_chunk *a = *(const struct hs_trace_chunk *const *)left;
    const struct hs_trace_chunk *b = *(const struct hs_trace_chunk *const *)right;
    if (a->first_time != b->first_time)
        return a->first_time < b->first_time ? -1 : 1;
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static inline bool earlier(const struct replay_entry *a, const struct replay_entry *b)
{
    return a->time != b->time ? a->time < b->time : a->cursor->sequence < b->cursor->sequence;
}

static void sift_down(struct replay *replay, size_t at)
{
    struct replay_entry *heap = replay->heap;
    const struct replay_entry moving = heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= replay->open)
            break;
        if (child + 1 < replay->open && earlier(&heap[child + 1], &heap[child]))
            child++;
        if (!earlier(&heap[child], &moving))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

static void sift_up(struct replay *replay, size_t at)
{
    struct replay_entry *heap = replay->heap;
    const struct replay_entry moving = heap[at];
    for (; at && earlier(&moving, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = moving;
}

// Sets phase and time of the event at the cursor.
static inline void set_phase(struct replay *replay, struct replay_cursor *cursor)
{
    const struct hs_brief_event *event = cursor->next;
    uint64_t time = event->time;
    cursor->phase = HS_PHASE_END;
    if (__builtin_expect(event->kind == HS_BRIEF_WIDE, 0) && cursor->wide[event->size].kind == HS_EVENT_REALLOC) {
        uint64_t begin = cursor->wide[event->size].begin_time;
        cursor->phase = HS_PHASE_BEGIN;
        time = begin < time ? begin : time;
    }
    replay->counts->out_of_order += event->time < cursor->time;
    cursor->time = time < cursor->time ? cursor->time : time;
}

static int push(struct replay *replay, struct replay_cursor *cursor)
{
    if (!HS_ARRAY_HAS_ROOM(replay->heap, replay->open, replay->heap_capacity))
        return -ENOMEM;
    replay->heap[replay->open] = (struct replay_entry){cursor->time, cursor};
    sift_up(replay, replay->open++);
    return 0;
}

static void close_cursor(struct replay *replay, struct replay_cursor *cursor)
{
    hs_decode_ahead__give_back(replay->ahead, cursor->decoded);
    free(cursor);
}

static void count_damage(struct replay *replay, const struct hs_trace_chunk *chunk, int failed)
{
    enum hs_damage reason = chunk->flags & HS_CHUNK_LIVE ? HS_DAMAGE_SLOT
                            : failed == -EBADMSG         ? HS_DAMAGE_DECODE
                                                         : HS_DAMAGE_CHECKSUM;
    replay->counts->damage[reason]++;
    replay->counts->damage_bytes[reason] += chunk->stored_length;
}

// ---- what an earlier replay took -----------------------------------------------------------------------------------

static inline bool advance(struct replay *replay, struct replay_cursor *cursor);

static uint64_t steps_of(const struct hs_brief_event *event, const struct hs_event *wide)
{
    return event->kind == HS_BRIEF_WIDE && wide[event->size].kind == HS_EVENT_REALLOC ? 2 : 1;
}

static bool stays(const struct hs_trace_chunk *chunk)
{
    return !(chunk->flags & HS_CHUNK_LIVE);
}

// Steps that were taken of an open cursor, or all of one that is at its end.
static uint64_t count_taken(const struct replay_cursor *cursor)
{
    uint64_t steps = 0;
    for (const struct hs_brief_event *event = cursor->decoded->events; event < cursor->next; event++)
        steps += steps_of(event, cursor->wide);
    return steps +
           (cursor->next < cursor->end && cursor->phase == HS_PHASE_END && steps_of(cursor->next, cursor->wide) == 2);
}

// These were the steps up to the earlier cut, or the chunk has changed. *at_end: nothing follows.
static int leave_out(struct replay *replay, struct replay_cursor *cursor, uint64_t steps, bool *at_end)
{
    const uint64_t end = replay->cut->before_time;
    *at_end = false;
    for (; steps; steps--) {
        if (*at_end || cursor->time > end)
            return -ESTALE;
        *at_end = advance(replay, cursor);
    }
    return *at_end || cursor->time > end ? 0 : -ESTALE;
}

static int open_cursor(struct replay *replay, const struct hs_trace_chunk *chunk, struct hs_decoded *decoded)
{
    struct replay_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor) {
        hs_decode_ahead__give_back(replay->ahead, decoded);
        return -ENOMEM;
    }
    *cursor = (struct replay_cursor){.sequence = chunk->sequence,
                                     .next = decoded->events,
                                     .end = decoded->events + decoded->count,
                                     .wide = decoded->wide,
                                     .stream = chunk->stream,
                                     .number = replay->next - 1,
                                     .decoded = decoded};
    set_phase(replay, cursor);
    bool at_end = false;
    int failed = replay->cut && replay->cut->before_count
                     ? leave_out(replay, cursor, replay->taken[cursor->number], &at_end)
                     : 0;
    if (!failed && !at_end)
        failed = push(replay, cursor);
    if (failed || at_end)
        close_cursor(replay, cursor);
    return failed;
}

static int open_next(struct replay *replay)
{
    const struct hs_trace_chunk *chunk = replay->order[replay->next++];
    struct hs_decoded *decoded = hs_decode_ahead__take(replay->ahead);
    if (!decoded)
        return -ENOMEM;
    replay->counts->bytes_done += chunk->stored_length;
    bool no_memory = decoded->failed == -ENOMEM;
    // Some of it was taken when it was whole.
    bool lost = decoded->failed && replay->taken && replay->taken[replay->next - 1];
    if (decoded->failed && !no_memory)
        count_damage(replay, chunk, decoded->failed);
    if (no_memory || lost || !decoded->count) {
        hs_decode_ahead__give_back(replay->ahead, decoded);
        return no_memory ? -ENOMEM : lost ? -ESTALE : 0;
    }
    replay->counts->events += decoded->count;
    return open_cursor(replay, chunk, decoded);
}

// When a chunk is due that is not open, or the cut.
static inline uint64_t next_due(const struct replay *replay)
{
    uint64_t chunk = replay->next < replay->chunks ? replay->order[replay->next]->first_time : UINT64_MAX;
    return chunk < replay->cut_end ? chunk : replay->cut_end;
}

// The time up to which the first cursor may run before another one is due.
static uint64_t limit_of(const struct replay *replay)
{
    uint64_t limit = next_due(replay);
    for (size_t child = 1; child < 3 && child < replay->open; child++)
        if (replay->heap[child].time < limit)
            limit = replay->heap[child].time;
    return limit;
}

// The whole event at the cursor, in its phase.
static void take_whole(const struct replay_cursor *cursor, struct hs_step *step)
{
    const struct hs_event *event = &cursor->wide[cursor->next->size];
    *step = (struct hs_step){.time = cursor->time,
                             .address = cursor->phase == HS_PHASE_BEGIN ? event->old_address : event->address,
                             .size = event->size,
                             .usable = event->usable,
                             .event = event,
                             .stack = event->stack,
                             .stream = cursor->stream,
                             .kind = event->kind,
                             .phase = (uint8_t)cursor->phase};
}

static inline bool is_whole(const struct replay_cursor *cursor)
{
    return cursor->next->kind == HS_BRIEF_WIDE;
}

static inline void put_brief(struct hs_step *step, const struct hs_brief_event *brief, uint64_t time, uint32_t stream)
{
    __builtin_prefetch(brief + 16); // another processor wrote it
    step->time = time;
    step->address = brief->address;
    step->size = brief->size;
    step->usable = brief->usable;
    step->event = NULL;
    step->stack = brief->stack;
    step->stream = stream;
    step->kind = brief->kind;
    step->phase = HS_PHASE_END;
}

// Takes brief events from the cursor on that are before `limit`, as long as there is room. The cursor then points to
// the last one taken.
static void take_brief(struct replay *replay, struct replay_cursor *cursor, uint64_t limit)
{
    const struct hs_brief_event *brief = cursor->next, *end = cursor->end;
    struct hs_step *step = &replay->step[replay->steps], *room = &replay->step[HS_STEPS];
    uint64_t time = cursor->time, out_of_order = 0;
    const uint32_t stream = cursor->stream;
    for (;;) {
        put_brief(step++, brief, time, stream);
        brief++;
        if (step == room || brief == end || brief->kind == HS_BRIEF_WIDE)
            break;
        uint64_t next = brief->time < time ? time : brief->time;
        if (next >= limit)
            break;
        out_of_order += brief->time < time;
        time = next;
    }
    replay->counts->out_of_order += out_of_order;
    replay->steps = (size_t)(step - replay->step);
    cursor->next = brief - 1;
    cursor->time = time;
}

static int deliver(struct replay *replay)
{
    size_t count = replay->steps;
    replay->steps = 0;
    return count ? replay->visit(replay->context, replay->step, count) : 0;
}

// Advances to the next phase. Returns whether there is none.
static inline bool advance(struct replay *replay, struct replay_cursor *cursor)
{
    if (cursor->phase == HS_PHASE_BEGIN) {
        uint64_t time = cursor->next->time;
        cursor->phase = HS_PHASE_END;
        cursor->time = time < cursor->time ? cursor->time : time;
        return false;
    }
    if (++cursor->next == cursor->end)
        return true;
    set_phase(replay, cursor);
    return false;
}

static void drop(struct replay *replay, size_t at)
{
    struct replay_cursor *cursor = replay->heap[at].cursor;
    replay->heap[at] = replay->heap[--replay->open];
    if (replay->taken && !stays(replay->order[cursor->number]))
        replay->taken[cursor->number] = count_taken(cursor);
    close_cursor(replay, cursor);
}

// Delivers phases of the first cursor while it stays the earliest.
static int run_first(struct replay *replay)
{
    struct replay_cursor *cursor = replay->heap[0].cursor;
    uint64_t limit = limit_of(replay);
    do {
        int result = replay->steps == HS_STEPS ? deliver(replay) : 0;
        if (result)
            return result;
        if (is_whole(cursor))
            take_whole(cursor, &replay->step[replay->steps++]);
        else
            take_brief(replay, cursor, limit);
        if (advance(replay, cursor)) {
            result = deliver(replay); // while its events are there
            drop(replay, 0);
            if (replay->open)
                sift_down(replay, 0);
            return result;
        }
    } while (cursor->time < limit);
    replay->heap[0].time = cursor->time;
    sift_down(replay, 0);
    return 0;
}

// ---- few cursors that take turns -----------------------------------------------------------------------------------

// If threads take turns, the next one is unpredictable. Among few cursors, the first is found without a branch.
#define FEW   4
#define LANES 8 // FEW or LANES of them, as a constant in each use

// Returned as a number that the compiler cannot analyse; otherwise it would generate a branch again.
static inline unsigned is_less(uint64_t a, uint64_t b)
{
    unsigned less = a < b;
    __asm__("" : "+r"(less));
    return less;
}

static inline unsigned first_of(const uint64_t *time, unsigned low, unsigned high)
{
    return low ^ ((low ^ high) & (0 - is_less(time[high], time[low])));
}

// The lane with the least time, of several the first.
static inline __attribute__((always_inline)) unsigned first_lane(const uint64_t *time, unsigned lanes)
{
    unsigned low = first_of(time, is_less(time[1], time[0]), 2 + is_less(time[3], time[2]));
    if (lanes == FEW)
        return low;
    unsigned high = first_of(time, 4 + is_less(time[5], time[4]), 6 + is_less(time[7], time[6]));
    return first_of(time, low, high);
}

static void sort_by_sequence(struct replay *replay)
{
    struct replay_entry *heap = replay->heap;
    for (size_t i = 1; i < replay->open; i++) {
        const struct replay_entry moving = heap[i];
        size_t at = i;
        for (; at && heap[at - 1].cursor->sequence > moving.cursor->sequence; at--)
            heap[at] = heap[at - 1];
        heap[at] = moving;
    }
}

static void make_heap(struct replay *replay)
{
    for (size_t i = 0; i < replay->open; i++)
        replay->heap[i].time = replay->heap[i].cursor->time;
    for (size_t i = replay->open / 2; i--;)
        sift_down(replay, i);
}

// Delivers phases, at least one, until a cursor is at its end or a chunk is due that is not open.
static inline __attribute__((always_inline)) int run_lanes(struct replay *replay, unsigned lanes)
{
    const uint64_t limit = next_due(replay);
    uint64_t time[LANES];
    int result = 0;
    sort_by_sequence(replay);
    for (size_t i = 0; i < lanes; i++)
        time[i] = i < replay->open ? replay->heap[i].cursor->time : UINT64_MAX;
    unsigned lane = first_lane(time, lanes);
    while (lane < replay->open) {
        struct replay_cursor *cursor = replay->heap[lane].cursor;
        if (replay->steps == HS_STEPS && (result = deliver(replay)))
            break;
        struct hs_step *step = &replay->step[replay->steps++];
        if (__builtin_expect(is_whole(cursor), 0))
            take_whole(cursor, step);
        else
            put_brief(step, cursor->next, cursor->time, cursor->stream);
        if (advance(replay, cursor)) {
            result = deliver(replay); // while its events are there
            drop(replay, lane);
            break;
        }
        time[lane] = cursor->time;
        lane = first_lane(time, lanes);
        if (time[lane] >= limit)
            break;
    }
    make_heap(replay);
    return result;
}

static int run_opened(struct replay *replay)
{
    if (replay->open == 1 || replay->open > LANES)
        return run_first(replay);
    return replay->open > FEW ? run_lanes(replay, LANES) : run_lanes(replay, FEW);
}

static int add_consumed(struct hs_array *to, const struct hs_consumed *consumed)
{
    struct hs_consumed *added = hs_array__add(to, sizeof *added);
    if (added)
        *added = *consumed;
    return added ? 0 : -ENOMEM;
}

// Whole chunks are those that are open no more; a slot may grow and stays a part.
static int list_consumed(const struct replay *replay, struct hs_array *to)
{
    int failed = 0;
    for (size_t i = 0; i < replay->cut->before_count && !failed; i++)
        if (replay->cut->before[i].steps == HS_ALL_STEPS)
            failed = add_consumed(to, &replay->cut->before[i]);
    for (size_t i = 0; i < replay->open; i++) {
        const struct replay_cursor *cursor = replay->heap[i].cursor;
        const struct hs_consumed part = hs_consumed__of(replay->order[cursor->number], count_taken(cursor));
        failed = failed ? failed : add_consumed(to, &part);
        replay->taken[cursor->number] = HS_ALL_STEPS; // is listed
    }
    for (size_t i = 0; i < replay->next && !failed; i++) {
        if (replay->taken[i] == HS_ALL_STEPS)
            continue;
        const struct hs_trace_chunk *chunk = replay->order[i];
        const struct hs_consumed whole = hs_consumed__of(chunk, stays(chunk) ? HS_ALL_STEPS : replay->taken[i]);
        failed = add_consumed(to, &whole);
    }
    for (size_t i = 0; i < replay->open; i++)
        replay->taken[replay->heap[i].cursor->number] = 0;
    return failed;
}

static void plan_next_cut(struct replay *replay)
{
    const uint64_t events = replay->counts->events, every = replay->cut->every;
    replay->next_cut = every ? events + (events / 2 > every ? events / 2 : every) : UINT64_MAX;
}

static int reach_cut(struct replay *replay)
{
    struct hs_array consumed = {0};
    int result = deliver(replay);
    const uint64_t time = replay->cut_end - 1;
    plan_next_cut(replay);
    if (replay->cut_end == replay->last_cut) {
        replay->last_cut = UINT64_MAX;
        replay->next_cut = UINT64_MAX;
    }
    replay->cut_end = replay->last_cut;
    if (!result)
        result = list_consumed(replay, &consumed);
    if (!result)
        result = replay->cut->reached(replay->context, time, &consumed);
    free(consumed.data);
    return result;
}

// Behind the time of the next step.
static void set_cut(struct replay *replay)
{
    uint64_t time = replay->heap[0].time;
    replay->next_cut = UINT64_MAX;
    if (time < UINT64_MAX - 1 && time + 1 < replay->cut_end)
        replay->cut_end = time + 1;
}

static int run(struct replay *replay)
{
    int result = 0;
    while (!result && (replay->open || replay->next < replay->chunks)) {
        while (!result && replay->next < replay->chunks &&
               (!replay->open || replay->order[replay->next]->first_time <= replay->heap[0].time))
            result = open_next(replay);
        if (result || !replay->open)
            continue;
        if (replay->heap[0].time >= replay->cut_end)
            result = reach_cut(replay);
        else if (replay->counts->events >= replay->next_cut)
            set_cut(replay);
        if (!result)
            result = run_opened(replay);
    }
    replay->cut_end = replay->last_cut;
    return !result && replay->last_cut != UINT64_MAX ? reach_cut(replay) : result;
}

static int prepare_cut(struct replay *replay)
{
    const struct hs_replay_cut *cut = replay->cut;
    replay->last_cut = replay->cut_end = replay->next_cut = UINT64_MAX;
    if (!cut)
        return 0;
    plan_next_cut(replay);
    if (cut->time < UINT64_MAX - 1)
        replay->last_cut = replay->cut_end = cut->time + 1;
    replay->taken = calloc(replay->chunks + 1, sizeof *replay->taken);
    if (!replay->taken)
        return -ENOMEM;
    return cut->before_count ? hs_consumed__leave_out(cut->before, cut->before_count, cut->before_time, replay->order,
                                                      &replay->chunks, replay->taken)
                             : 0;
}

int hs_trace__replay_steps(const struct hs_trace *trace, hs_step_visitor visit, void *context,
                           struct hs_replay_counts *counts)
{
    return hs_trace__replay_parts(trace, visit, context, counts, NULL);
}

int hs_trace__replay_parts(const struct hs_trace *trace, hs_step_visitor visit, void *context,
                           struct hs_replay_counts *counts, const struct hs_replay_cut *cut)
{
    struct replay replay = {.trace = trace, .counts = counts, .visit = visit, .context = context, .cut = cut};
    *counts = (struct hs_replay_counts){0};
    replay.order = malloc((trace->chunks + 1) * sizeof *replay.order);
    if (!replay.order)
        return -ENOMEM;
    for (size_t i = 0; i < trace->chunks; i++)
        if (trace->chunk[i].kind == HS_CHUNK_EVENTS)
            replay.order[replay.chunks++] = &trace->chunk[i];
    qsort(replay.order, replay.chunks, sizeof *replay.order, compare_chunks);
    int result = prepare_cut(&replay);
    replay.ahead = result ? NULL : hs_decode_ahead__start(trace, replay.order, replay.chunks);
    if (!result)
        result = replay.ahead ? run(&replay) : -ENOMEM;
    while (replay.open)
        drop(&replay, replay.open - 1);
    hs_decode_ahead__stop(replay.ahead);
    free(replay.heap);
    free(replay.order);
    free(replay.taken);
    return result;
}

// ---- whole events --------------------------------------------------------------------------------------------------

struct whole {
    hs_trace_visitor visit;
    void *context;
};

static int visit_whole(const struct whole *whole, const struct hs_step *step)
{
    const struct hs_event event = hs_step__event(step);
    return whole->visit(whole->context, step->stream, &event, step->phase, step->time);
}

static int visit_wholes(void *context, struct hs_step *steps, size_t count)
{
    int result = 0;
    for (size_t i = 0; i < count && !result; i++)
        result = visit_whole(context, &steps[i]);
    return result;
}

int hs_trace__replay(const struct hs_trace *trace, hs_trace_visitor visit, void *context,
                     struct hs_replay_counts *counts)
{
    struct whole whole = {visit, context};
    return hs_trace__replay_steps(trace, visit_wholes, &whole, counts);
}
