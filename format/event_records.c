// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The raw records of a slot as events: what a killed process leaves behind.
#include "format/event_codec.h"
#include "format/event_wide.h"

static uint64_t load(const struct hs_codec_target *target, const void *records, size_t index)
{
    const uint8_t *at = (const uint8_t *)records + 8 * index;
    uint64_t word = 0;
    for (unsigned i = 0; i < 8; i++)
        word |= (uint64_t)at[i] << 8 * (target->byte_order == HS_BYTE_ORDER_BIG ? 7 - i : i);
    return word;
}

// Words that a short record takes; 0 for a kind that does not exist.
static size_t short_words(unsigned kind)
{
    static const uint8_t words[16] = {0, 1, 2, 2, 2, 3, 0, 0, 0, 2, 3, 3, 3, 4, 0, 0};
    return words[kind];
}

static void short_event(const struct hs_codec_target *target, const void *records, size_t at, struct hs_event *event)
{
    uint64_t first = load(target, records, at);
    unsigned kind = first & HS_RECORD_KIND_MASK, base = kind & ~HS_RECORD_USABLE;
    uint64_t unit = first >> HS_RECORD_ADDRESS_POS & (((uint64_t)1 << HS_RECORD_ADDRESS_BITS) - 1);
    event->address = unit << target->address_shift;
    event->kind = (uint8_t)base;
    if (base == HS_RECORD_FREE) {
        event->stack = kind == HS_RECORD_FREE_STACK ? (uint32_t)load(target, records, at + 1) : 0;
        return;
    }
    uint64_t second = load(target, records, at + 1);
    event->size = (uint32_t)second;
    event->stack = (uint32_t)(second >> 32);
    event->usable = kind & HS_RECORD_USABLE ? load(target, records, at + short_words(kind) - 1)
                                            : hs_usable_model(event->size, target->pointer_size);
    if (base == HS_RECORD_REALLOC) {
        uint64_t third = load(target, records, at + 2);
        event->old_address = third & (((uint64_t)1 << 48) - 1);
        event->begin_time = event->time - (third >> 48);
    }
}

static void wide_event(const struct hs_codec_target *target, const void *records, size_t at, struct hs_event *event)
{
    uint64_t first = load(target, records, at), words[HS_WIDE_WORDS] = {0};
    unsigned count = first >> 12 & 0xff;
    for (unsigned i = 0; i < count && i < HS_WIDE_WORDS; i++)
        words[i] = load(target, records, at + 1 + i);
    hs_wide_event(first >> 4 & 0xff, words, count, event);
}

size_t hs_records_decode(const struct hs_codec_target *target, const void *records, size_t words, uint64_t base_time,
                         struct hs_event *events, size_t max, int *damaged)
{
    size_t at = 0, delivered = 0;
    uint64_t time = base_time, first;
    *damaged = 0;
    while (at < words && delivered < max && (first = load(target, records, at)) != 0) {
        unsigned kind = first & HS_RECORD_KIND_MASK;
        if (kind == HS_RECORD_TIME) {
            time = first >> 4;
            at++;
            continue;
        }
        size_t taken = kind == HS_RECORD_WIDE ? 1 + (first >> 12 & 0xff) : short_words(kind);
        if (!taken || taken > words - at) {
            *damaged = 1;
            break;
        }
        time += first >> HS_RECORD_DELTA_POS;
        struct hs_event *event = &events[delivered];
        *event = (struct hs_event){.time = time};
        if (kind == HS_RECORD_WIDE)
            wide_event(target, records, at, event);
        else
            short_event(target, records, at, event);
        delivered += event->kind != 0;
        at += taken;
    }
    return delivered;
}
