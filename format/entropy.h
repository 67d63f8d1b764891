// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The entropy stage: columns of byte symbols, each with its own frequencies, in one interleaved rANS stream
// (asymmetric numeral systems, 31-bit states, 16-bit words). Used by event_codec and meta_codec.
#ifndef HEAPSONDE_FORMAT_ENTROPY_H
#define HEAPSONDE_FORMAT_ENTROPY_H

#include <stddef.h>
#include <stdint.h>

// ---- bits ----------------------------------------------------------------------------------------------------------

// Least significant bit first. A writer that reaches its end sets `full` and drops the rest.
struct hs_bit_writer {
    uint8_t *at, *end;
    uint64_t bits;
    unsigned count;
    int full;
};

static inline void hs_bits_start(struct hs_bit_writer *writer, uint8_t *at, uint8_t *end)
{
    *writer = (struct hs_bit_writer){at, end, 0, 0, 0};
}

static inline void hs_bits_put32(struct hs_bit_writer *writer, uint32_t value, unsigned count)
{
    writer->bits |= (uint64_t)value << writer->count;
    writer->count += count;
    if (writer->count < 32)
        return;
    if (writer->end - writer->at < 8) {
        writer->full = 1;
        writer->count -= 32;
        return;
    }
    uint8_t *at = writer->at;
    uint32_t word = (uint32_t)writer->bits; // a copy, which bytes that are stored cannot change
    at[0] = (uint8_t)word;
    at[1] = (uint8_t)(word >> 8);
    at[2] = (uint8_t)(word >> 16);
    at[3] = (uint8_t)(word >> 24);
    writer->at = at + 4;
    writer->bits >>= 32;
    writer->count -= 32;
}

// The low `count` (at most 64) bits of `value`.
static inline void hs_bits_put(struct hs_bit_writer *writer, uint64_t value, unsigned count)
{
    if (count > 32) {
        hs_bits_put32(writer, (uint32_t)value, 32);
        value >>= 32;
        count -= 32;
    }
    if (count)
        hs_bits_put32(writer, (uint32_t)(value & (((uint64_t)1 << count) - 1)), count);
}

// Pads to a byte and returns the end.
static inline uint8_t *hs_bits_finish(struct hs_bit_writer *writer)
{
    for (; writer->count && writer->at < writer->end; writer->count -= writer->count < 8 ? writer->count : 8) {
        *writer->at++ = (uint8_t)writer->bits;
        writer->bits >>= 8;
    }
    return writer->at;
}

struct hs_bit_reader {
    const uint8_t *at, *end;
    uint64_t bits;
    unsigned count;
    unsigned missing; // bits that were read after the end
};

static inline void hs_bits_open(struct hs_bit_reader *reader, const uint8_t *at, const uint8_t *end)
{
    *reader = (struct hs_bit_reader){at, end, 0, 0, 0};
}

static inline uint64_t hs_load_little64(const uint8_t *at)
{
    uint64_t word;
    __builtin_memcpy(&word, at, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline void hs_bits_refill_end(struct hs_bit_reader *reader, unsigned count)
{
    while (reader->count <= 56 && reader->at < reader->end) {
        reader->bits |= (uint64_t)*reader->at++ << reader->count;
        reader->count += 8;
    }
    if (reader->count < count) {
        reader->missing += count - reader->count;
        reader->count = count;
    }
}

// At most 56 bits. While eight bytes are left, the refill does not depend on the needed number of bits; bits above
// `count` may already be in `bits`, and are put there again unchanged by the next refill.
static inline uint64_t hs_bits_get56(struct hs_bit_reader *reader, unsigned count)
{
    if (reader->end - reader->at >= 8) {
        reader->bits |= hs_load_little64(reader->at) << reader->count;
        reader->at += (63 - reader->count) >> 3;
        reader->count |= 56;
    } else {
        if (reader->count < 56)
            reader->bits &= ((uint64_t)1 << reader->count) - 1;
        if (reader->count < count)
            hs_bits_refill_end(reader, count);
    }
    uint64_t value = reader->bits & (((uint64_t)1 << count) - 1);
    reader->bits >>= count;
    reader->count -= count;
    return value;
}

static inline uint64_t hs_bits_get(struct hs_bit_reader *reader, unsigned count)
{
    if (__builtin_expect(count <= 56, 1))
        return hs_bits_get56(reader, count);
    uint64_t low = hs_bits_get56(reader, 32);
    return low | hs_bits_get56(reader, count - 32) << 32;
}

// ---- columns -------------------------------------------------------------------------------------------------------

#define HS_ENTROPY_SCALE_BITS  10
#define HS_ENTROPY_SCALE       (1u << HS_ENTROPY_SCALE_BITS)
#define HS_ENTROPY_MAX_COLUMNS 32
#define HS_ENTROPY_TABLE_STEP  8 // slots of a table that are filled at once, maybe over its end

struct hs_entropy_symbols {
    uint8_t *symbol;
    uint32_t count;
};

struct hs_entropy_scratch {
    uint32_t histogram[256];
    uint16_t frequency[256];
    uint16_t limit[HS_ENTROPY_MAX_COLUMNS];
    uint8_t weights[HS_ENTROPY_MAX_COLUMNS][256];
    uint32_t table[HS_ENTROPY_SCALE + HS_ENTROPY_TABLE_STEP - 1];
    struct hs_symbol_code {
        uint32_t reciprocal, limit;
        uint16_t bias, complement;
        uint8_t shift;
    } code[256];
};

// Writes all columns to `output`: counts and frequencies, then the coded symbols. Returns the end, or NULL if it does
// not fit.
uint8_t *hs_entropy_encode(const struct hs_entropy_symbols *columns, unsigned column_count,
                           struct hs_entropy_scratch *scratch, uint8_t *output, uint8_t *end);

// Reads what hs_entropy_encode wrote from [at, end) into `pool` and sets the columns. Returns the end of the columns,
// or NULL if they are invalid or need more than `pool_size` symbols.
const uint8_t *hs_entropy_decode(struct hs_entropy_symbols *columns, unsigned column_count,
                                 struct hs_entropy_scratch *scratch, uint8_t *pool, size_t pool_size, const uint8_t *at,
                                 const uint8_t *end);

#endif
