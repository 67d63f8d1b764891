// SPDX-License-Identifier: MIT OR Apache-2.0
//
// From events to the records of a slot: for the host half, which writes traces of its own. (In the target half the
// recording thread writes records right away.)
#ifndef HEAPSONDE_FORMAT_RECORD_WRITE_H
#define HEAPSONDE_FORMAT_RECORD_WRITE_H

#include "format/event.h"
#include "format/event_codec.h"

#include <stdbool.h>
#include <string.h>

// The most words that a record and a record of the time before it take.
#define HS_RECORD_WORDS_MAX 9

static inline size_t hs_record__wide(const struct hs_event *e, uint64_t delta, uint64_t *w)
{
    uint64_t v[6] = {0};
    unsigned type = 0, count = 0;
    switch (e->kind) {
    case HS_EVENT_MMAP:
        type = HS_WIDE_MMAP, count = 6;
        v[0] = e->address, v[1] = e->size, v[2] = e->protection | (uint64_t)e->map_flags << 32;
        v[3] = (uint32_t)e->fd | (uint64_t)e->stack << 32, v[4] = e->offset, v[5] = e->asked;
        break;
    case HS_EVENT_MUNMAP:
        type = HS_WIDE_MUNMAP, count = 3;
        v[0] = e->address, v[1] = e->size, v[2] = e->stack;
        break;
    case HS_EVENT_MREMAP:
        type = HS_WIDE_MREMAP, count = 5;
        v[0] = e->old_address, v[1] = e->old_size, v[2] = e->address, v[3] = e->size;
        v[4] = e->map_flags | (uint64_t)e->stack << 32;
        break;
    case HS_EVENT_BRK:
        type = HS_WIDE_BRK, count = 3;
        v[0] = e->old_address, v[1] = e->address, v[2] = e->stack;
        break;
    case HS_EVENT_MALLOPT:
        type = HS_WIDE_MALLOPT, count = 2;
        v[0] = (uint32_t)e->parameter | (uint64_t)(uint32_t)e->argument << 32;
        v[1] = (uint32_t)e->result | (uint64_t)e->stack << 32;
        break;
    case HS_EVENT_POOL_ALLOC:
        type = HS_WIDE_POOL_ALLOC, count = 4;
        v[0] = e->pool, v[1] = e->address, v[2] = e->size, v[3] = e->stack;
        break;
    case HS_EVENT_POOL_FREE:
        type = HS_WIDE_POOL_FREE, count = 3;
        v[0] = e->pool, v[1] = e->address, v[2] = e->stack;
        break;
    case HS_EVENT_MARK:
        type = HS_WIDE_MARK, count = 1;
        v[0] = e->value;
        break;
    case HS_EVENT_SAMPLE:
        type = HS_WIDE_SAMPLE, count = 5;
        v[0] = e->sampled | (uint64_t)e->tid << 32, v[1] = e->stack | (uint64_t)e->duration << 32, v[2] = e->size;
        v[3] = e->address, v[4] = e->age;
        break;
    case HS_EVENT_FREE:
        type = HS_WIDE_FREE, count = 2;
        v[0] = e->address, v[1] = e->stack;
        break;
    case HS_EVENT_REALLOC:
        type = HS_WIDE_REALLOC, count = 6;
        v[0] = e->address, v[1] = e->size, v[2] = e->usable, v[3] = e->stack, v[4] = e->old_address;
        v[5] = e->time - e->begin_time;
        break;
    default:
        type = HS_WIDE_ALLOC, count = 4;
        v[0] = e->address, v[1] = e->size, v[2] = e->usable, v[3] = e->stack | (uint64_t)e->kind << 32;
    }
    w[0] = HS_RECORD_WIDE | type << 4 | count << 12 | delta << HS_RECORD_DELTA_POS;
    memcpy(w + 1, v, 8 * count);
    return 1 + count;
}

static inline bool hs_record__is_short(const struct hs_codec_target *target, const struct hs_event *e)
{
    uint64_t low = ((uint64_t)1 << target->address_shift) - 1;
    if (e->kind > HS_EVENT_REALLOC || e->address & low || e->address >> (44 + target->address_shift))
        return false;
    if (e->kind == HS_EVENT_FREE)
        return true;
    if (e->size >> 32)
        return false;
    return e->kind != HS_EVENT_REALLOC || (e->time - e->begin_time <= 0xffff && !(e->old_address >> 48));
}

static inline size_t hs_record__write(const struct hs_codec_target *target, const struct hs_event *e, uint64_t delta,
                                      uint64_t *w)
{
    if (!hs_record__is_short(target, e))
        return hs_record__wide(e, delta, w);
    uint64_t first = (e->address >> target->address_shift) << 4 | delta << HS_RECORD_DELTA_POS;
    if (e->kind == HS_EVENT_FREE) {
        w[0] = first | (e->stack ? HS_RECORD_FREE_STACK : HS_RECORD_FREE);
        w[1] = e->stack;
        return e->stack ? 2 : 1;
    }
    bool usable = e->usable != hs_usable_model(e->size, target->pointer_size);
    size_t n = 2;
    w[0] = first | e->kind | (usable ? HS_RECORD_USABLE : 0);
    w[1] = e->size | (uint64_t)e->stack << 32;
    if (e->kind == HS_EVENT_REALLOC)
        w[n++] = e->old_address | (e->time - e->begin_time) << 48;
    if (usable)
        w[n++] = e->usable;
    return n;
}

// Writes the record of an event that follows one at `*time`, which becomes the event's. Returns the words written.
static inline size_t hs_record__append(const struct hs_codec_target *target, const struct hs_event *event,
                                       uint64_t *time, uint64_t *words)
{
    size_t at = 0;
    uint64_t delta = event->time - *time;
    if (delta >= HS_RECORD_DELTA_LIMIT) {
        words[at++] = HS_RECORD_TIME | event->time << 4;
        delta = 0;
    }
    *time = event->time;
    return at + hs_record__write(target, event, delta, words + at);
}

#endif
