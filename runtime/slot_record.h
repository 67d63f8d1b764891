// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Parses the records of a slot (format/trace_format.h) in the process itself.
#ifndef HEAPSONDE_RUNTIME_SLOT_RECORD_H
#define HEAPSONDE_RUNTIME_SLOT_RECORD_H

#include "arch/arch.h"
#include "format/trace_format.h"

#include <stdbool.h>

struct hs_slot_record {
    uint32_t kind; // without the usable bit
    uint32_t words;
    bool has_usable;
    uint64_t address; // of short records
    uint64_t time;
};

// The number of words of a record with this first word.
static inline uint32_t hs_record_words(uint64_t first)
{
    switch (first & HS_RECORD_KIND_MASK) {
    case HS_RECORD_FREE:
    case HS_RECORD_TIME:
        return 1;
    case HS_RECORD_FREE_STACK:
    case HS_RECORD_MALLOC:
    case HS_RECORD_CALLOC:
    case HS_RECORD_ALIGNED:
        return 2;
    case HS_RECORD_WIDE:
        return 1 + (uint32_t)(first >> 12 & 0xff);
    case HS_RECORD_REALLOC_USABLE:
        return 4;
    default:
        return 3;
    }
}

// `first`: the record's first word. `clock`: recorded time of the previous record; it is updated.
static inline struct hs_slot_record hs_slot_record__read(uint64_t first, uint64_t *clock)
{
    struct hs_slot_record record = {.kind = first & HS_RECORD_KIND_MASK, .words = hs_record_words(first)};
    if (record.kind == HS_RECORD_TIME) {
        *clock = first >> HS_RECORD_ADDRESS_POS;
        return record;
    }
    *clock += first >> HS_RECORD_DELTA_POS;
    record.time = *clock;
    record.has_usable = record.kind > HS_RECORD_FREE_STACK;
    if (record.has_usable)
        record.kind -= HS_RECORD_USABLE;
    record.address = (first >> HS_RECORD_ADDRESS_POS & ((1ull << HS_RECORD_ADDRESS_BITS) - 1)) << HS_ARCH_ADDRESS_SHIFT;
    return record;
}

// For short allocations.
static inline uint64_t hs_slot_record__size(const uint64_t *at)
{
    return (uint32_t)at[1];
}

static inline uint64_t hs_slot_record__usable(const uint64_t *at, const struct hs_slot_record *record)
{
    return record->has_usable ? at[record->words - 1] : hs_usable_model(hs_slot_record__size(at), sizeof(void *));
}

#endif
