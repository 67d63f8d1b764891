// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reads the records of a slot for encoders, in this machine's byte order.
#ifndef HEAPSONDE_FORMAT_RECORD_READ_H
#define HEAPSONDE_FORMAT_RECORD_READ_H

#include "format/event_codec.h"

// A record of the short forms.
struct hs_short_record {
    uint64_t unit, usable;
    uint64_t old_unit;    // of a realloc
    uint32_t since;       // of a realloc: time since the call began
    uint32_t size, stack; // size is 0 for a free, and stack where none is given
    uint32_t kind;        // enum hs_record, with HS_RECORD_USABLE where the usable size is explicit
};

static inline int hs_record_is_realloc(unsigned kind)
{
    return (kind & ~HS_RECORD_USABLE) == HS_RECORD_REALLOC;
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

// Gives the records to `sink` up to the end record, the first invalid one, or the first for which there is no room. A
// realloc of a block that no unit names is given as the wide record that says the same. Sets all of *result but its
// length.
void hs_records_read(const struct hs_record_sink *sink, void *encoder, const struct hs_codec_target *target,
                     const uint64_t *word, size_t words, uint64_t time, struct hs_encoded *result);

#endif
