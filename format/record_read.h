// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The records of a slot as encoders go through them, in this machine's byte order.
#ifndef HEAPSONDE_FORMAT_RECORD_READ_H
#define HEAPSONDE_FORMAT_RECORD_READ_H

#include "format/event_codec.h"

// A record of the short forms.
struct hs_short_record {
    uint64_t unit, usable;
    uint64_t old_address; // of a realloc
    uint32_t since;       // of a realloc: time since the call began
    uint32_t size, stack; // size is 0 for a free, and stack where none is given
    uint32_t kind;        // enum hs_record, with HS_RECORD_USABLE where the usable size is explicit
};

static inline int hs_record_is_realloc(unsigned kind)
{
    return (kind & ~HS_RECORD_USABLE) == HS_RECORD_REALLOC;
}

// Reads the record at `word`, of which there are `left` words. Returns how many it takes, 0 when it makes no sense.
static inline __attribute__((always_inline)) size_t
hs_short_record_read(const uint64_t *word, size_t left, unsigned pointer_size, struct hs_short_record *record)
{
    unsigned kind = word[0] & HS_RECORD_KIND_MASK;
    record->kind = kind;
    record->unit = word[0] >> HS_RECORD_ADDRESS_POS & (((uint64_t)1 << HS_RECORD_ADDRESS_BITS) - 1);
    record->size = record->stack = 0;
    record->usable = 0;
    if (kind == HS_RECORD_FREE)
        return 1;
    size_t words = hs_record_is_realloc(kind) ? 3 : 2;
    if (kind >= HS_RECORD_MALLOC_USABLE)
        words++;
    if (left < words)
        return 0;
    if (kind == HS_RECORD_FREE_STACK) {
        record->stack = (uint32_t)word[1];
        return words;
    }
    record->size = (uint32_t)word[1];
    record->stack = (uint32_t)(word[1] >> 32);
    record->usable = kind & HS_RECORD_USABLE ? word[words - 1] : hs_usable_model(record->size, pointer_size);
    if (hs_record_is_realloc(kind)) {
        record->old_address = word[2] & (((uint64_t)1 << 48) - 1);
        record->since = (uint32_t)(word[2] >> 48);
    }
    return words;
}

// A realloc whose old block no short coding can name, as the words of a wide record.
#define HS_WIDENED_WORDS 6
static inline void hs_short_record_widen(const struct hs_short_record *record, unsigned address_shift, uint64_t *words)
{
    words[0] = record->unit << address_shift;
    words[1] = record->size;
    words[2] = record->usable;
    words[3] = record->stack;
    words[4] = record->old_address;
    words[5] = record->since;
}

// What encodes the records that hs_records_read() finds. Each returns whether there was room for it.
struct hs_record_sink {
    int (*short_record)(void *encoder, const struct hs_short_record *record, uint64_t time);
    int (*wide_record)(void *encoder, unsigned type, const uint64_t *words, unsigned count, uint64_t time);
};

// Kinds that a record begins with, apart from the time's.
#define HS_RECORD_KINDS                                                                                                \
    (1u << HS_RECORD_FREE | 1u << HS_RECORD_FREE_STACK | 1u << HS_RECORD_WIDE |                                        \
     (1u + (1u << HS_RECORD_USABLE)) *                                                                                 \
         (1u << HS_RECORD_MALLOC | 1u << HS_RECORD_CALLOC | 1u << HS_RECORD_ALIGNED | 1u << HS_RECORD_REALLOC))

// When the first event began.
static __attribute__((cold, noinline)) uint64_t hs_record_begin(const uint64_t *word, size_t taken, uint64_t time)
{
    unsigned kind = word[0] & HS_RECORD_KIND_MASK;
    if (hs_record_is_realloc(kind))
        return time - (word[2] >> 48);
    if (kind == HS_RECORD_WIDE && (word[0] >> 4 & 0xff) == HS_WIDE_REALLOC && taken > 6)
        return time - word[6];
    return time;
}

// Gives the records to `sink` up to the end record, the first that makes no sense, or the first for which there is no
// room. Sets all of *result but its length. `sink` is a constant in each use, so that what it names is called directly.
static inline __attribute__((always_inline)) void hs_records_read(const struct hs_record_sink *sink, void *encoder,
                                                                  unsigned pointer_size, const uint64_t *word,
                                                                  size_t words, uint64_t time,
                                                                  struct hs_encoded *result)
{
    const uint64_t *const begin = word, *const end = word + words;
    *result = (struct hs_encoded){.last_time = time};
    while (word < end) {
        uint64_t first = *word;
        unsigned kind = first & HS_RECORD_KIND_MASK;
        size_t taken, left = (size_t)(end - word);
        if (kind == HS_RECORD_TIME) {
            time = first >> 4;
            word++;
            continue;
        }
        time += first >> HS_RECORD_DELTA_POS;
        if (!(HS_RECORD_KINDS >> kind & 1))
            break;
        if (kind == HS_RECORD_WIDE) {
            taken = 1 + (first >> 12 & 0xff);
            if (taken > left || !sink->wide_record(encoder, first >> 4 & 0xff, word + 1, (unsigned)taken - 1, time))
                break;
        } else {
            struct hs_short_record record;
            taken = hs_short_record_read(word, left, pointer_size, &record);
            if (!taken || !sink->short_record(encoder, &record, time))
                break;
        }
        if (result->count++ == 0)
            result->first_time = hs_record_begin(word, taken, time);
        result->last_time = time;
        word += taken;
    }
    result->words = (uint32_t)(word - begin);
}

#endif
