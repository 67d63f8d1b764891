// SPDX-License-Identifier: MIT OR Apache-2.0
//
// All events of all streams in time order: a heap of the chunks that overlap, opened in the order of their first time.
#include "host/import/decode_ahead.h"
#include "host/import/step.h"
#include "host/import/trace.h"

#include <errno.h>
#include <stdlib.h>

struct cursor {
    uint64_t time; // of the next phase
    uint64_t sequence;
    const struct hs_brief_event *events;
    const struct hs_event *wide;
    size_t at, count;
    uint64_t last; // time of the previous phase: a stream's time never goes back
    uint32_t stream;
    int phase;
    struct hs_decoded *decoded;
};

// A cursor in the heap with its time, so that comparing needs no cursor.
struct entry {
    uint64_t time;
    struct cursor *cursor;
};

struct replay {
    const struct hs_trace *trace;
    const struct hs_trace_chunk **order; // the EVENTS chunks by first time
    size_t chunks, next;
    struct entry *heap;
    size_t open, heap_capacity;
    struct hs_decode_ahead *ahead;
    struct hs_replay_counts *counts;
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

static inline bool earlier(const struct entry *a, const struct entry *b)
{
    return a->time != b->time ? a->time < b->time : a->cursor->sequence < b->cursor->sequence;
}

static void sift_down(struct replay *replay, size_t at)
{
    struct entry *heap = replay->heap;
    const struct entry moving = heap[at];
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
    struct entry *heap = replay->heap;
    const struct entry moving = heap[at];
    for (; at && earlier(&moving, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = moving;
}

// Sets phase and time for the event the cursor stands on.
static inline void set_phase(struct replay *replay, struct cursor *cursor)
{
    const struct hs_brief_event *event = &cursor->events[cursor->at];
    uint64_t time = event->time;
    cursor->phase = HS_PHASE_END;
    if (event->kind == HS_BRIEF_WIDE && cursor->wide[event->size].kind == HS_EVENT_REALLOC) {
        uint64_t begin = cursor->wide[event->size].begin_time;
        cursor->phase = HS_PHASE_BEGIN;
        time = begin < time ? begin : time;
    }
    if (time < cursor->last) {
        replay->counts->out_of_order += event->time < cursor->last;
        time = cursor->last;
    }
    cursor->time = time;
}

static int push(struct replay *replay, struct cursor *cursor)
{
    if (replay->open == replay->heap_capacity) {
        size_t capacity = replay->heap_capacity ? 2 * replay->heap_capacity : 64;
        struct entry *grown = realloc(replay->heap, capacity * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        replay->heap = grown;
        replay->heap_capacity = capacity;
    }
    replay->heap[replay->open] = (struct entry){cursor->time, cursor};
    sift_up(replay, replay->open++);
    return 0;
}

static void close_cursor(struct replay *replay, struct cursor *cursor)
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

static int open_cursor(struct replay *replay, const struct hs_trace_chunk *chunk, struct hs_decoded *decoded)
{
    struct cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor) {
        hs_decode_ahead__give_back(replay->ahead, decoded);
        return -ENOMEM;
    }
    *cursor = (struct cursor){.sequence = chunk->sequence,
                              .events = decoded->events,
                              .wide = decoded->wide,
                              .count = decoded->count,
                              .stream = chunk->stream,
                              .decoded = decoded};
    set_phase(replay, cursor);
    int failed = push(replay, cursor);
    if (failed)
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
    if (decoded->failed && !no_memory)
        count_damage(replay, chunk, decoded->failed);
    if (no_memory || !decoded->count) {
        hs_decode_ahead__give_back(replay->ahead, decoded);
        return no_memory ? -ENOMEM : 0;
    }
    replay->counts->events += decoded->count;
    return open_cursor(replay, chunk, decoded);
}

// The time up to which the first cursor may run before another one is due.
static uint64_t limit_of(const struct replay *replay)
{
    uint64_t limit = UINT64_MAX;
    if (replay->next < replay->chunks)
        limit = replay->order[replay->next]->first_time;
    for (size_t child = 1; child < 3 && child < replay->open; child++)
        if (replay->heap[child].time < limit)
            limit = replay->heap[child].time;
    return limit;
}

// A whole event, in the phase that the cursor stands on.
static void take_whole(const struct cursor *cursor, struct hs_step *step)
{
    const struct hs_event *event = &cursor->wide[cursor->events[cursor->at].size];
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

static inline bool is_whole(const struct cursor *cursor)
{
    return cursor->events[cursor->at].kind == HS_BRIEF_WIDE;
}

// Takes brief events, the one that the cursor stands on and those behind it that are due before `limit`, as long as
// there is room. The cursor then stands on the last one taken.
static void take_brief(struct replay *replay, struct cursor *cursor, uint64_t limit)
{
    const struct hs_brief_event *brief = &cursor->events[cursor->at];
    const struct hs_brief_event *end = &cursor->events[cursor->count];
    struct hs_step *step = &replay->step[replay->steps], *room = &replay->step[HS_STEPS];
    uint64_t time = cursor->time, out_of_order = 0;
    const uint32_t stream = cursor->stream;
    for (;;) {
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
        step++;
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
    cursor->at = (size_t)(brief - 1 - cursor->events);
    cursor->time = time;
}

static int deliver(struct replay *replay)
{
    size_t count = replay->steps;
    replay->steps = 0;
    return count ? replay->visit(replay->context, replay->step, count) : 0;
}

// Delivers phases of the first cursor while it stays the earliest. Returns 1 at the end of its chunk.
static int run_first(struct replay *replay, int *result)
{
    struct cursor *cursor = replay->heap[0].cursor;
    uint64_t limit = limit_of(replay);
    do {
        if (replay->steps == HS_STEPS && (*result = deliver(replay)))
            return 0;
        if (is_whole(cursor))
            take_whole(cursor, &replay->step[replay->steps++]);
        else
            take_brief(replay, cursor, limit);
        cursor->last = cursor->time;
        if (cursor->phase == HS_PHASE_BEGIN) {
            cursor->phase = HS_PHASE_END;
            uint64_t time = cursor->events[cursor->at].time;
            cursor->time = time < cursor->last ? cursor->last : time;
        } else {
            if (++cursor->at == cursor->count) {
                *result = deliver(replay); // while its events are there
                return 1;
            }
            set_phase(replay, cursor);
        }
    } while (cursor->time < limit);
    replay->heap[0].time = cursor->time;
    return 0;
}

static void drop_first(struct replay *replay)
{
    struct cursor *cursor = replay->heap[0].cursor;
    replay->heap[0] = replay->heap[--replay->open];
    if (replay->open)
        sift_down(replay, 0);
    close_cursor(replay, cursor);
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
        if (run_first(replay, &result))
            drop_first(replay);
        else
            sift_down(replay, 0);
    }
    return result;
}

int hs_trace__replay_steps(const struct hs_trace *trace, hs_step_visitor visit, void *context,
                           struct hs_replay_counts *counts)
{
    struct replay replay = {.trace = trace, .counts = counts, .visit = visit, .context = context};
    *counts = (struct hs_replay_counts){0};
    replay.order = malloc((trace->chunks + 1) * sizeof *replay.order);
    if (!replay.order)
        return -ENOMEM;
    for (size_t i = 0; i < trace->chunks; i++)
        if (trace->chunk[i].kind == HS_CHUNK_EVENTS)
            replay.order[replay.chunks++] = &trace->chunk[i];
    qsort(replay.order, replay.chunks, sizeof *replay.order, compare_chunks);
    replay.ahead = hs_decode_ahead__start(trace, replay.order, replay.chunks);
    int result = replay.ahead ? run(&replay) : -ENOMEM;
    while (replay.open)
        drop_first(&replay);
    hs_decode_ahead__stop(replay.ahead);
    free(replay.heap);
    free(replay.order);
    return result;
}

// ---- whole events --------------------------------------------------------------------------------------------------

struct whole {
    hs_trace_visitor visit;
    void *context;
};

static int visit_whole(const struct whole *whole, const struct hs_step *step)
{
    const struct hs_event brief = {.time = step->time,
                                   .address = step->address,
                                   .size = step->size,
                                   .usable = step->usable,
                                   .stack = step->stack,
                                   .kind = step->kind};
    return whole->visit(whole->context, step->stream, step->event ? step->event : &brief, step->phase, step->time);
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
