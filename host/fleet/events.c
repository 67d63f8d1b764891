// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/events.h"

#include "host/base/array.h"
#include "host/base/id_map.h"
#include "host/import/import.h"

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

static int visit(void *context, uint32_t stream, const struct hs_event *event, int phase, uint64_t time)
{
    struct events_replay *replay = context;
    (void)stream;
    int failed = go_to(replay, time);
    if (failed)
        return failed;
    switch (event->kind) {
    case HS_EVENT_FREE:
        return end_block(replay, event->address);
    case HS_EVENT_REALLOC:
        if (phase == HS_PHASE_BEGIN)
            return end_block(replay, event->old_address);
        return begin_block(replay, event->address, event->size, event->stack);
    case HS_EVENT_MALLOC:
    case HS_EVENT_CALLOC:
    case HS_EVENT_ALIGNED:
        return begin_block(replay, event->address, event->size, event->stack);
    default:
        return 0;
    }
}

int hs_fleet_events__replay(const char *path, const struct hs_fleet_events *events, struct hs_error *error)
{
    struct hs_trace *trace;
    struct hs_replay_counts counts = {0};
    struct events_replay replay = {.events = events};
    int failed = hs_trace__open(path, &trace, error);
    if (failed)
        return failed;
    failed = hs_trace__replay(trace, visit, &replay, &counts);
    hs_trace__close(trace);
    while (!failed && replay.part < events->parts)
        failed = tick(&replay);
    hs_id_map__free(&replay.block_of);
    free(replay.blocks.data);
    return failed;
}
