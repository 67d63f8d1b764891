// SPDX-License-Identifier: MIT OR Apache-2.0
#include "format/record_read.h"

#define OLD_ADDRESS (((uint64_t)1 << 48) - 1)

// Reads the record at `word`; `left` words can be read. Returns how many the record takes, 0 if it is damaged.
static inline size_t read_short(const uint64_t *word, size_t left, const struct hs_codec_target *target,
                                struct hs_short_record *record)
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
    record->usable = kind & HS_RECORD_USABLE ? word[words - 1] : hs_usable_model(record->size, target->pointer_size);
    if (hs_record_is_realloc(kind)) {
        record->old_unit = (word[2] & OLD_ADDRESS) >> target->address_shift;
        record->since = (uint32_t)(word[2] >> 48);
    }
    return words;
}

// When the first event began.
static __attribute__((cold, noinline)) uint64_t first_begin(const uint64_t *word, size_t taken, uint64_t time)
{
    unsigned kind = word[0] & HS_RECORD_KIND_MASK;
    if (hs_record_is_realloc(kind))
        return time - (word[2] >> 48);
    if (kind == HS_RECORD_WIDE && (word[0] >> 4 & 0xff) == HS_WIDE_REALLOC && taken > 6)
        return time - word[6];
    return time;
}

// A realloc whose old block is not where blocks are.
static inline int has_odd_block(const struct hs_codec_target *target, const struct hs_short_record *record,
                                const uint64_t *word)
{
    return hs_record_is_realloc(record->kind) && word[2] & OLD_ADDRESS & (((uint64_t)1 << target->address_shift) - 1);
}

static __attribute__((cold, noinline)) int give_widened(const struct hs_record_sink *sink, void *encoder,
                                                        const struct hs_codec_target *target,
                                                        const struct hs_short_record *record, const uint64_t *word,
                                                        uint64_t time)
{
    const uint64_t words[] = {record->unit << target->address_shift,
                              record->size,
                              record->usable,
                              record->stack,
                              word[2] & OLD_ADDRESS,
                              record->since};
    return sink->wide_record(encoder, HS_WIDE_REALLOC, words, sizeof words / sizeof words[0], time);
}

// Returns the words that the record took, 0: it makes no sense, or there was no room for it.
static inline size_t give_short(const struct hs_record_sink *sink, void *encoder, const struct hs_codec_target *target,
                                const uint64_t *word, size_t left, uint64_t time)
{
    struct hs_short_record record;
    size_t taken = read_short(word, left, target, &record);
    if (!taken)
        return 0;
    int given = has_odd_block(target, &record, word) ? give_widened(sink, encoder, target, &record, word, time)
                                                     : sink->short_record(encoder, &record, time);
    return given ? taken : 0;
}

void hs_records_read(const struct hs_record_sink *sink, void *encoder, const struct hs_codec_target *target,
                     const uint64_t *word, size_t words, uint64_t time, struct hs_encoded *result)
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
            taken = give_short(sink, encoder, target, word, left, time);
            if (!taken)
                break;
        }
        if (result->count++ == 0)
            result->first_time = first_begin(word, taken, time);
        result->last_time = time;
        word += taken;
    }
    result->words = (uint32_t)(word - begin);
}
