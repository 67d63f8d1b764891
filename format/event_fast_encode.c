// SPDX-License-Identifier: MIT OR Apache-2.0
#include "format/event_fast.h"
#include "format/event_model.h"
#include "format/record_read.h"
#include "format/varint.h"

#define OFTEN static inline __attribute__((always_inline))
#define RARE  static __attribute__((cold, noinline))

struct event_fast_encode_writer {
    struct hs_fast fast; // first: what is set to zero
    uint8_t *at;         // in a variable of its own while bytes are written, as they might change it
    const uint8_t *end;
};

// A wide record of 255 words, each ten bytes long.
enum { EVENT_BYTES = 16 + 256 * HS_VARINT_MAX };

_Static_assert(sizeof(struct event_fast_encode_writer) <= HS_CODEC_SCRATCH_SIZE, "the writer fits its scratch memory");
// A record of one word becomes at most 20 bytes: head, long time, whole address.
_Static_assert(20 * HS_CODEC_MAX_EVENTS + EVENT_BYTES < HS_CODEC_MAX_OUTPUT, "a slot fits the output");

OFTEN uint8_t *put_2(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
    return at + 2;
}

OFTEN uint8_t *put_4(uint8_t *at, uint32_t value)
{
    return put_2(put_2(at, value & 0xffff), value >> 16);
}

static __attribute__((noinline)) uint8_t *put_number(uint8_t *at, uint64_t value)
{
    return hs_varint_put(at, at + HS_VARINT_MAX, value);
}

// Where a unit was found. Finding it also stores it in an entry.
struct event_fast_encode_place {
    unsigned where;
    uint64_t unit, distance;
};

static struct event_fast_encode_place find_unit(struct hs_fast *fast, uint64_t unit)
{
    struct event_fast_encode_place place = {.where = hs_fast_entry(unit), .unit = unit};
    uint64_t *entry = &fast->address[place.where];
    if (*entry == unit)
        return place;
    *entry = unit;
    place.distance = hs_zigzag(unit - fast->last_address);
    fast->last_address = unit;
    place.where = place.distance >> 16 ? HS_FAST_WHOLE : HS_FAST_NEAR;
    return place;
}

static __attribute__((noinline)) uint8_t *put_unit(uint8_t *at, const struct event_fast_encode_place *place)
{
    if (place->where == HS_FAST_NEAR)
        return put_2(at, (unsigned)place->distance);
    return put_4(put_4(at, (uint32_t)place->unit), (uint32_t)(place->unit >> 32));
}

static inline uint8_t *put_place(uint8_t *at, const struct event_fast_encode_place *place)
{
    return place->where >= HS_FAST_ENTRIES_FROM ? at : put_unit(at, place);
}

// `entry`: of the table of allocations, for AGAIN.
static __attribute__((noinline)) uint8_t *put_head(struct hs_fast *fast, uint8_t *at, unsigned what, unsigned entry,
                                                   unsigned where, uint64_t time)
{
    uint64_t passed = time - fast->time;
    unsigned more = entry >> 8, limit = what == HS_FAST_AGAIN ? 0x100 : HS_FAST_TIME_LONG << 8;
    int is_long = passed >= limit;
    fast->time = time;
    if (what != HS_FAST_AGAIN)
        more = is_long ? HS_FAST_TIME_LONG : (unsigned)(passed >> 8);
    else if (is_long)
        more |= HS_FAST_AGAIN_LONG;
    at = put_2(at, what | more << HS_FAST_MORE_POS | where << HS_FAST_ADDRESS_POS);
    if (is_long)
        return put_number(at, passed);
    *at = (uint8_t)passed;
    return at + 1;
}

// `bytes`: 0, 1, 2 or 4.
static uint8_t *put_bytes(uint8_t *at, uint32_t value, unsigned bytes)
{
    for (; bytes; bytes--, value >>= 8)
        *at++ = (uint8_t)value;
    return at;
}

static inline unsigned bytes_of(uint32_t value)
{
    return !value ? 0 : value < 0x100 ? 1 : value < 0x10000 ? 2 : 4;
}

// How the stack is written, and in *written what is written of it. Also stores it in an entry.
static inline unsigned stack_form(struct hs_fast *fast, uint32_t stack, uint32_t *written)
{
    uint32_t *entry = &fast->stack[hs_fast_stack_entry(stack)];
    *written = hs_fast_stack_entry(stack);
    if (*entry == stack)
        return HS_FAST_STACK_ENTRY;
    uint32_t up = stack - fast->last_stack;
    *entry = fast->last_stack = stack;
    *written = (up << 1) ^ (0 - (up >> 31));
    if (*written < 0x10000)
        return HS_FAST_STACK_NEAR;
    *written = stack;
    return HS_FAST_STACK_WHOLE;
}

// What no entry holds. Also stores it in an entry.
static __attribute__((noinline)) uint8_t *put_details(struct event_fast_encode_writer *writer, uint8_t *at,
                                                      const struct hs_short_record *record)
{
    struct hs_fast *fast = &writer->fast;
    uint32_t stack;
    unsigned form = stack_form(fast, record->stack, &stack), bytes = bytes_of(record->size);
    *at++ = (uint8_t)(record->kind | form << HS_FAST_STACK_POS | (bytes > 2 ? 3 : bytes) << HS_FAST_SIZE_POS);
    at = put_bytes(at, stack, 1u << form);
    at = put_bytes(at, record->size, bytes);
    fast->allocation[hs_fast_allocation_entry(record->stack, record->size)] =
        (struct hs_fast_allocation){record->usable, record->stack, record->size, record->kind};
    return record->kind < HS_RECORD_MALLOC_USABLE ? at : put_number(at, record->usable - record->size);
}

RARE int put_wide(void *encoder, unsigned type, const uint64_t *words, unsigned count, uint64_t time)
{
    struct event_fast_encode_writer *writer = encoder;
    uint8_t *at = writer->at;
    if (at >= writer->end)
        return 0;
    at = put_number(put_head(&writer->fast, at, HS_FAST_WIDE, 0, 0, time), type | count << 8);
    for (unsigned i = 0; i < count; i++)
        at = put_number(at, words[i]);
    writer->at = at;
    return 1;
}

// Which block a realloc ends, and how long before the end of the call.
RARE uint8_t *put_old_block(struct event_fast_encode_writer *writer, uint8_t *at, const struct hs_short_record *record)
{
    struct event_fast_encode_place old = find_unit(&writer->fast, record->old_unit);
    return put_place(put_2(put_2(at, record->since), old.where), &old);
}

static inline int is_again(const struct hs_fast_allocation *entry, const struct hs_short_record *record)
{
    return entry->stack == record->stack && entry->size == record->size && entry->kind == record->kind &&
           entry->usable == record->usable && !hs_record_is_realloc(record->kind);
}

OFTEN uint8_t *put_block(struct event_fast_encode_writer *writer, uint8_t *at, const struct hs_short_record *record,
                         uint64_t time)
{
    struct hs_fast *fast = &writer->fast;
    struct event_fast_encode_place place = find_unit(fast, record->unit);
    unsigned what = HS_FAST_FREE, entry = 0;
    if (record->kind != HS_RECORD_FREE) {
        entry = hs_fast_allocation_entry(record->stack, record->size);
        what = is_again(&fast->allocation[entry], record) ? HS_FAST_AGAIN : HS_FAST_DETAIL;
    }
    at = put_place(put_head(fast, at, what, entry, place.where, time), &place);
    if (what == HS_FAST_DETAIL)
        return put_details(writer, at, record);
    *at = (uint8_t)entry; // of a free there is no more: the next head comes over it
    return at + (what == HS_FAST_AGAIN);
}

static int put_short(void *encoder, const struct hs_short_record *record, uint64_t time)
{
    struct event_fast_encode_writer *writer = encoder;
    if (writer->at >= writer->end)
        return 0;
    uint8_t *at = put_block(writer, writer->at, record, time);
    writer->at = hs_record_is_realloc(record->kind) ? put_old_block(writer, at, record) : at;
    return 1;
}

void hs_events_encode_fast(const struct hs_codec_target *target, const uint64_t *records, size_t words,
                           uint64_t base_time, void *scratch, uint8_t *output, struct hs_encoded *result)
{
    static const struct hs_record_sink sink = {put_short, put_wide};
    struct event_fast_encode_writer *writer = scratch;
    __builtin_memset(&writer->fast, 0, sizeof writer->fast);
    writer->fast.time = base_time;
    writer->end = output + HS_CODEC_MAX_OUTPUT - EVENT_BYTES;
    writer->at = output + HS_FAST_HEADER;
    if (words > HS_CODEC_MAX_EVENTS)
        words = HS_CODEC_MAX_EVENTS;
    hs_records_read(&sink, writer, target, records, words, base_time, result);
    if (!result->count)
        return;
    output[0] = HS_FAST_VERSION;
    put_2(output + 1, result->count);
    put_4(put_4(output + 3, (uint32_t)base_time), (uint32_t)(base_time >> 32));
    result->length = (uint32_t)(writer->at - output);
}
