// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/events.h"

#include "host/base/array.h"
#include "host/base/id_map.h"
#include "host/import/step.h"
#include "host/import/ties.h"
#include "host/import/trace_clock.h"

#include <errno.h>
#include <stdlib.h>

struct events_block {
    uint64_t size;
    uint32_t stack; // of one that is gone: the next such block + 1
};

struct events_replay {
    const struct hs_fleet_events *events;
    struct hs_id_map block_of; // by address
    struct hs_array blocks;    // struct events_block
    uint32_t gone;             // one of them that is gone, + 1; 0: none
    unsigned part;             // ticks so far
    struct hs_ties ties;
    bool last; // what does not fit the live blocks waits no longer
    struct hs_clock_map clock;
    uint64_t now; // ns
    uint64_t damaged;
};

static int end_block(struct events_replay *replay, uint64_t address)
{
    uint32_t place = hs_id_map__find(&replay->block_of, address);
    if (place == UINT32_MAX)
        return 0;
    struct events_block *block = (struct events_block *)replay->blocks.data + place;
    int failed = replay->events->change(replay->events->context, block->stack, block->size, true);
    hs_id_map__remove(&replay->block_of, address);
    block->stack = replay->gone;
    replay->gone = place + 1;
    return failed;
}

static int begin_block(struct events_replay *replay, uint64_t address, uint64_t size, uint32_t stack)
{
    int failed = address ? end_block(replay, address) : 0; // its end was missed
    if (failed || !address)
        return failed;
    struct events_block *block = (struct events_block *)replay->blocks.data + (replay->gone ? replay->gone - 1 : 0);
    if (replay->gone)
        replay->gone = block->stack;
    else if (replay->blocks.count >= HS_FLEET_BLOCKS)
        return -E2BIG;
    else if (!(block = hs_array__add(&replay->blocks, sizeof(*block))))
        return -ENOMEM;
    *block = (struct events_block){size, stack};
    uint32_t place = (uint32_t)(block - (struct events_block *)replay->blocks.data);
    if (hs_id_map__set(&replay->block_of, address, place))
        return -ENOMEM;
    return replay->events->change(replay->events->context, stack, size, false);
}

static uint64_t end_of_part(const struct events_replay *replay)
{
    const struct hs_fleet_events *events = replay->events;
    return replay->part + 1 == events->parts ? events->last_time
                                             : events->last_time / events->parts * (replay->part + 1);
}

static int tick(struct events_replay *replay)
{
    uint64_t time = end_of_part(replay);
    replay->part++;
    return replay->events->tick(replay->events->context, time);
}

// The last part has all that is left.
static int go_to(struct events_replay *replay, uint64_t time)
{
    int failed = 0;
    while (!failed && replay->part + 1 < replay->events->parts && time > end_of_part(replay))
        failed = tick(replay);
    return failed;
}

static int take_block(struct events_replay *replay, const struct hs_step *step)
{
    bool ends = step->kind == HS_EVENT_FREE || (step->kind == HS_EVENT_REALLOC && step->phase == HS_PHASE_BEGIN);
    bool is_live = hs_id_map__find(&replay->block_of, step->address) != UINT32_MAX;
    if (!replay->last && step->address && is_live != ends)
        return HS_TIE_WAITS;
    // A step that waited has its own time still, which may be that of a part that is over.
    int failed = go_to(replay, step->slot);
    if (failed)
        return failed;
    return ends ? end_block(replay, step->address) : begin_block(replay, step->address, step->size, step->stack);
}

static int take(void *context, struct hs_step *step, bool last)
{
    struct events_replay *replay = context;
    switch (step->kind) {
    case HS_EVENT_FREE:
    case HS_EVENT_REALLOC:
    case HS_EVENT_MALLOC:
    case HS_EVENT_CALLOC:
    case HS_EVENT_ALIGNED:
        replay->last = last;
        return take_block(replay, step);
    default:
        return go_to(replay, step->slot);
    }
}

// As an import does, so that the blocks are those of its report.
static int visit(void *context, struct hs_step *steps, size_t count)
{
    struct events_replay *replay = context;
    struct hs_ties *ties = &replay->ties;
    int result = 0;
    for (size_t i = 0; i < count && !result; i++) {
        struct hs_step *step = &steps[i];
        if (step->stream >= HS_STREAM_LIMIT)
            step->stream = 0;
        step->slot = step->time;
        replay->now = step->time = hs_trace_clock__next(&replay->clock, replay->now, step->time);
        result = hs_ties__waits(ties) ? hs_ties__expire(ties, step->time) : 0;
        if (!result)
            result = hs_ties__waits(ties) ? hs_ties__visit(ties, step) : take(replay, step, false);
        if (result == HS_TIE_WAITS)
            result = hs_ties__hold(ties, step);
    }
    return result;
}

static int replay_trace(struct events_replay *replay, const struct hs_trace *trace)
{
    struct hs_replay_counts counts = {0};
    int failed = hs_trace_clock__create(&replay->clock, trace);
    if (failed)
        return failed;
    replay->ties.window = hs_trace_clock__window(&replay->clock);
    failed = hs_trace__replay_steps(trace, visit, replay, &counts);
    if (!failed)
        failed = hs_ties__settle(&replay->ties);
    for (unsigned i = 0; i < HS_DAMAGE_COUNT; i++)
        replay->damaged += counts.damage[i];
    return failed;
}

int hs_fleet_events__replay(const char *path, const struct hs_fleet_events *events, uint64_t *damaged,
                            struct hs_error *error)
{
    struct hs_trace *trace;
    struct events_replay replay = {.events = events};
    int failed = hs_trace__open(path, &trace, error);
    if (failed)
        return failed;
    replay.ties = (struct hs_ties){.take = take, .context = &replay};
    failed = replay_trace(&replay, trace);
    hs_trace__close(trace);
    while (!failed && replay.part < events->parts)
        failed = tick(&replay);
    hs_ties__free(&replay.ties);
    hs_clock_map__free(&replay.clock);
    hs_id_map__free(&replay.block_of);
    free(replay.blocks.data);
    *damaged = replay.damaged;
    return failed;
}
