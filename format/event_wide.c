// SPDX-License-Identifier: MIT OR Apache-2.0
#include "format/event_wide.h"

#include "format/trace_format.h"

static const uint8_t words_needed[] = {
    [HS_WIDE_ALLOC] = 4,      [HS_WIDE_REALLOC] = 6,   [HS_WIDE_FREE] = 2, [HS_WIDE_MMAP] = 6,
    [HS_WIDE_MUNMAP] = 3,     [HS_WIDE_MREMAP] = 5,    [HS_WIDE_BRK] = 3,  [HS_WIDE_MALLOPT] = 2,
    [HS_WIDE_POOL_ALLOC] = 4, [HS_WIDE_POOL_FREE] = 3, [HS_WIDE_MARK] = 1, [HS_WIDE_SAMPLE] = 5,
};

static uint32_t high(uint64_t word)
{
    return (uint32_t)(word >> 32);
}

static void block_event(unsigned type, const uint64_t *w, struct hs_event *event)
{
    switch (type) {
    case HS_WIDE_ALLOC:
        event->kind = high(w[3]) == HS_RECORD_CALLOC    ? HS_EVENT_CALLOC
                      : high(w[3]) == HS_RECORD_ALIGNED ? HS_EVENT_ALIGNED
                                                        : HS_EVENT_MALLOC;
        break;
    case HS_WIDE_REALLOC:
        event->kind = HS_EVENT_REALLOC;
        event->old_address = w[4];
        event->begin_time = event->time - w[5];
        break;
    default:
        event->kind = HS_EVENT_FREE;
        event->address = w[0];
        event->stack = (uint32_t)w[1];
        return;
    }
    event->address = w[0];
    event->size = w[1];
    event->usable = w[2];
    event->stack = (uint32_t)w[3];
}

static void map_event(unsigned type, const uint64_t *w, struct hs_event *event)
{
    event->address = w[0];
    event->size = w[1];
    switch (type) {
    case HS_WIDE_MMAP:
        event->kind = HS_EVENT_MMAP;
        event->protection = (uint32_t)w[2];
        event->map_flags = high(w[2]);
        event->fd = (int32_t)(uint32_t)w[3];
        event->stack = high(w[3]);
        event->offset = w[4];
        event->asked = w[5];
        break;
    case HS_WIDE_MUNMAP:
        event->kind = HS_EVENT_MUNMAP;
        event->stack = (uint32_t)w[2];
        break;
    case HS_WIDE_MREMAP:
        event->kind = HS_EVENT_MREMAP;
        event->old_address = w[0];
        event->old_size = w[1];
        event->address = w[2];
        event->size = w[3];
        event->map_flags = (uint32_t)w[4];
        event->stack = high(w[4]);
        break;
    default:
        event->kind = HS_EVENT_BRK;
        event->old_address = w[0];
        event->address = w[1];
        event->size = 0;
        event->stack = (uint32_t)w[2];
    }
}

static void other_event(unsigned type, const uint64_t *w, struct hs_event *event)
{
    switch (type) {
    case HS_WIDE_MALLOPT:
        event->kind = HS_EVENT_MALLOPT;
        event->parameter = (int32_t)(uint32_t)w[0];
        event->argument = (int32_t)high(w[0]);
        event->result = (int32_t)(uint32_t)w[1];
        event->stack = high(w[1]);
        break;
    case HS_WIDE_POOL_ALLOC:
        event->kind = HS_EVENT_POOL_ALLOC;
        event->pool = w[0];
        event->address = w[1];
        event->size = event->usable = w[2];
        event->stack = (uint32_t)w[3];
        break;
    case HS_WIDE_POOL_FREE:
        event->kind = HS_EVENT_POOL_FREE;
        event->pool = w[0];
        event->address = w[1];
        event->stack = (uint32_t)w[2];
        break;
    case HS_WIDE_SAMPLE:
        event->kind = HS_EVENT_SAMPLE;
        event->sampled = (uint32_t)w[0];
        event->tid = high(w[0]);
        event->stack = (uint32_t)w[1];
        event->duration = high(w[1]);
        event->size = w[2];
        event->address = w[3];
        event->age = w[4];
        break;
    default:
        event->kind = HS_EVENT_MARK;
        event->value = w[0];
    }
}

void hs_wide_event(unsigned type, const uint64_t *words, unsigned count, struct hs_event *event)
{
    if (type >= sizeof words_needed || !words_needed[type] || count < words_needed[type])
        return;
    if (type <= HS_WIDE_FREE)
        block_event(type, words, event);
    else if (type <= HS_WIDE_BRK)
        map_event(type, words, event);
    else
        other_event(type, words, event);
}
