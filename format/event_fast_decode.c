// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The payload may be anything: every read is checked against what there is.
#include "format/event_fast_decode.h"

#include "format/event_model.h"
#include "format/event_wide.h"
#include "format/record_read.h"
#include "format/varint.h"

typedef struct hs_fast_reader Reader;

static inline int has(Reader *reader, size_t bytes)
{
    if ((size_t)(reader->end - reader->at) >= bytes)
        return 1;
    reader->damaged = 1;
    return 0;
}

// Little-endian; 0 if fewer bytes are left.
static inline uint64_t get(Reader *reader, unsigned bytes)
{
    uint64_t value = 0;
    if (!has(reader, bytes))
        return 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)reader->at[i] << 8 * i;
    reader->at += bytes;
    return value;
}

static uint64_t get_number(Reader *reader)
{
    uint64_t value = 0;
    const uint8_t *at = hs_varint_get(reader->at, reader->end, &value);
    if (!at) {
        reader->damaged = 1;
        return 0;
    }
    reader->at = at;
    return value;
}

static inline uint64_t get_unit(Reader *reader, unsigned where)
{
    struct hs_fast *fast = &reader->fast;
    if (where >= HS_FAST_ENTRIES_FROM)
        return fast->address[where];
    uint64_t unit = where == HS_FAST_NEAR ? fast->last_address + hs_unzigzag(get(reader, 2)) : get(reader, 8);
    fast->last_address = unit;
    fast->address[hs_fast_entry(unit)] = unit;
    return unit;
}

static inline uint64_t get_address(Reader *reader, unsigned where)
{
    return get_unit(reader, where) << reader->target->address_shift;
}

static inline void set_event(const struct hs_fast_allocation *entry, struct hs_event *event)
{
    event->kind = (uint8_t)(entry->kind & ~HS_RECORD_USABLE);
    event->size = entry->size;
    event->usable = entry->usable;
    event->stack = entry->stack;
}

static inline void get_again(Reader *reader, unsigned high, struct hs_event *event)
{
    const struct hs_fast_allocation *entry = &reader->fast.allocation[high << 8 | get(reader, 1)];
    reader->damaged |= !entry->kind || hs_record_is_realloc(entry->kind);
    set_event(entry, event);
}

static uint32_t get_stack(Reader *reader, unsigned form)
{
    struct hs_fast *fast = &reader->fast;
    if (form == HS_FAST_STACK_ENTRY)
        return fast->stack[get(reader, 1)];
    if (form == HS_FAST_STACK_NEAR)
        fast->last_stack += (uint32_t)hs_unzigzag(get(reader, 2));
    else
        fast->last_stack = (uint32_t)get(reader, 4);
    fast->stack[hs_fast_stack_entry(fast->last_stack)] = fast->last_stack;
    return fast->last_stack;
}

static void get_old_block(Reader *reader, struct hs_event *event)
{
    event->begin_time = event->time - get(reader, 2);
    event->old_address = get_address(reader, (unsigned)get(reader, 2) & (HS_FAST_ADDRESSES - 1));
}

static inline void get_details(Reader *reader, struct hs_event *event)
{
    unsigned details = (unsigned)get(reader, 1), kind = details & HS_RECORD_KIND_MASK;
    if (!(HS_RECORD_KINDS >> kind & 1) || kind == HS_RECORD_WIDE || kind == HS_RECORD_FREE) {
        reader->damaged = 1;
        return;
    }
    uint32_t stack = get_stack(reader, details >> HS_FAST_STACK_POS & 3);
    unsigned form = details >> HS_FAST_SIZE_POS;
    uint32_t size = form ? (uint32_t)get(reader, 1u << (form - 1)) : 0;
    uint64_t usable = kind == HS_RECORD_FREE_STACK      ? 0
                      : kind >= HS_RECORD_MALLOC_USABLE ? size + get_number(reader)
                                                        : hs_usable_model(size, reader->target->pointer_size);
    struct hs_fast_allocation *entry = &reader->fast.allocation[hs_fast_allocation_entry(stack, size)];
    *entry = (struct hs_fast_allocation){usable, stack, size, kind};
    set_event(entry, event);
    if (hs_record_is_realloc(kind))
        get_old_block(reader, event);
}

static void get_wide(Reader *reader, struct hs_event *event)
{
    uint64_t words[HS_WIDE_WORDS] = {0}, head = get_number(reader), word;
    unsigned count = head >> 8 & 0xff;
    for (unsigned i = 0; i < count && !reader->damaged; i++) {
        word = get_number(reader);
        if (i < HS_WIDE_WORDS)
            words[i] = word;
    }
    if (!reader->damaged)
        hs_wide_event(head & 0xff, words, count, event);
}

void hs_fast_reader__next(Reader *reader, struct hs_event *event)
{
    unsigned head = (unsigned)get(reader, 2), what = head & 3, more = head >> HS_FAST_MORE_POS & HS_FAST_TIME_LONG;
    unsigned high = what == HS_FAST_AGAIN ? 0 : more;
    int is_long = what == HS_FAST_AGAIN ? more >= HS_FAST_AGAIN_LONG : more == HS_FAST_TIME_LONG;
    reader->fast.time += is_long ? get_number(reader) : high << 8 | get(reader, 1);
    event->time = reader->fast.time;
    if (what == HS_FAST_WIDE) {
        get_wide(reader, event);
        return;
    }
    event->address = get_address(reader, head >> HS_FAST_ADDRESS_POS);
    if (what == HS_FAST_FREE)
        event->kind = HS_EVENT_FREE;
    else if (what == HS_FAST_AGAIN)
        get_again(reader, more & HS_FAST_AGAIN_HIGH, event);
    else
        get_details(reader, event);
}

uint32_t hs_fast_reader__start(Reader *reader, const struct hs_codec_target *target, const uint8_t *payload,
                               size_t length)
{
    reader->fast = (struct hs_fast){0};
    reader->at = payload;
    reader->end = payload + length;
    reader->target = target;
    reader->damaged = 0;
    uint32_t count = (uint32_t)get(reader, 2);
    reader->fast.time = get(reader, 8);
    reader->damaged |= count > HS_CODEC_MAX_EVENTS;
    return reader->damaged ? 0 : count;
}
