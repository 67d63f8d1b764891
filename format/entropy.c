// SPDX-License-Identifier: MIT OR Apache-2.0
#include "format/entropy.h"

#include "format/varint.h"

#define STATE_LOW (1u << 15) // states stay below 2^31, where the multiplication in make_code is exact
#define STATES    4

_Static_assert(HS_ENTROPY_SCALE >= 4 * 256, "the table of slots holds four histograms");

// ---- frequencies ---------------------------------------------------------------------------------------------------

// A frequency is sent as a weight index: 2 per power of two (1, 2, 3, 4, 6, 8, 12, ...), 0 for a symbol that is absent.
static uint32_t weight_value(unsigned index)
{
    return index < 3 ? index : (2 + (index & 1)) << ((index >> 1) - 1);
}

static unsigned weight_index(uint32_t count)
{
    if (count > 49151)
        count = 49151; // indices fit five bits
    if (count < 3)
        return count;
    unsigned top = 31 - (unsigned)__builtin_clz(count);
    // Rounds to the nearer of the two weights around it.
    uint32_t quarter = count >> (top >= 2 ? top - 2 : 0);
    if (top < 2)
        return 3;
    switch (quarter) {
    case 4:
        return 2 * top;
    case 5:
    case 6:
        return 2 * top + 1;
    default:
        return 2 * top + 2;
    }
}

// Turns weights into frequencies that sum to HS_ENTROPY_SCALE, each at least 1. Both sides run this.
static void normalize(const uint8_t *weights, unsigned limit, uint16_t *frequency)
{
    uint32_t total = 0, sum = 0;
    for (unsigned i = 0; i < limit; i++)
        total += frequency[i] = (uint16_t)weight_value(weights[i]);
    uint64_t reciprocal = ((uint64_t)HS_ENTROPY_SCALE << 20) / total;
    unsigned largest = 0;
    for (unsigned i = 0; i < limit; i++) {
        if (!frequency[i])
            continue;
        uint32_t f = (uint32_t)(frequency[i] * reciprocal >> 20);
        f += !f;
        frequency[i] = (uint16_t)f;
        sum += f;
        if (f > frequency[largest])
            largest = i;
    }
    frequency[largest] = (uint16_t)(frequency[largest] + HS_ENTROPY_SCALE - sum);
    while (frequency[largest] == 0 || frequency[largest] > HS_ENTROPY_SCALE) {
        // The many rare symbols took more than the largest had: every one above 1 gives.
        frequency[largest] = 1;
        sum = 0;
        for (unsigned i = 0; i < limit; i++)
            sum += frequency[i];
        for (unsigned i = 0; i < limit && sum > HS_ENTROPY_SCALE; i++)
            if (frequency[i] > 1)
                frequency[i]--, sum--;
        if (sum <= HS_ENTROPY_SCALE)
            frequency[largest] = (uint16_t)(frequency[largest] + HS_ENTROPY_SCALE - sum);
        else
            frequency[largest] = 0;
    }
}

// For tables, of which each column of a chunk has one: small code counts more than speed.
static __attribute__((noinline)) void put_bits(struct hs_bit_writer *bits, uint64_t value, unsigned count)
{
    hs_bits_put(bits, value, count);
}

// Symbols that occur: the gap to the previous one as a unary-like code, then the weight index in five bits.
static void put_gap(struct hs_bit_writer *bits, unsigned gap)
{
    if (gap == 0)
        put_bits(bits, 1, 1);
    else if (gap < 5)
        put_bits(bits, 2 | (gap - 1) << 2, 4);
    else
        put_bits(bits, (gap - 5) << 2, 10);
}

static unsigned get_gap(struct hs_bit_reader *bits)
{
    if (hs_bits_get(bits, 1))
        return 0;
    if (hs_bits_get(bits, 1))
        return 1 + (unsigned)hs_bits_get(bits, 2);
    return 5 + (unsigned)hs_bits_get(bits, 8);
}

static void put_weights(struct hs_bit_writer *bits, const uint8_t *weights, unsigned limit)
{
    unsigned expected = 0;
    for (unsigned i = 0; i < limit; i++) {
        if (!weights[i])
            continue;
        put_gap(bits, i - expected);
        put_bits(bits, weights[i], 5);
        expected = i + 1;
    }
    // End: a weight of zero.
    put_gap(bits, 0);
    put_bits(bits, 0, 5);
}

// Returns one more than the largest symbol, or 0 when the bits are damaged.
static unsigned get_weights(struct hs_bit_reader *bits, uint8_t *weights)
{
    unsigned symbol = 0, symbol_end = 0;
    for (unsigned n = 0;; n++) {
        symbol += get_gap(bits);
        unsigned weight = (unsigned)hs_bits_get(bits, 5);
        if (!weight)
            return n && !bits->missing ? symbol_end : 0;
        if (symbol > 255 || bits->missing)
            return 0;
        for (unsigned i = symbol_end; i < symbol; i++)
            weights[i] = 0;
        weights[symbol++] = (uint8_t)weight;
        symbol_end = symbol;
    }
}

// ---- encoding ------------------------------------------------------------------------------------------------------

// Counts into scratch->histogram and returns one more than the largest symbol. By turns in four tables: what is counted
// up in one place again and again has each time to wait for the time before.
static unsigned count_symbols(const struct hs_entropy_symbols *column, struct hs_entropy_scratch *scratch)
{
    const uint8_t *symbol = column->symbol, *const end = symbol + column->count;
    uint32_t *table = scratch->table, any = 0;
    __builtin_memset(table, 0, 4 * 256 * sizeof *table);
    for (; (end - symbol) % 4; symbol++) {
        any |= *symbol;
        table[*symbol]++;
    }
    for (; symbol < end; symbol += 4) {
        uint32_t first = symbol[0], second = symbol[1], third = symbol[2], fourth = symbol[3];
        any |= first | second | third | fourth;
        table[first]++;
        table[256 + second]++;
        table[512 + third]++;
        table[768 + fourth]++;
    }
    unsigned limit = 1u << (32 - __builtin_clz(any | 1));
    for (unsigned k = 0; k < limit; k++)
        scratch->histogram[k] = table[k] + table[256 + k] + table[512 + k] + table[768 + k];
    while (!scratch->histogram[limit - 1])
        limit--;
    return limit;
}

// Division by the frequency becomes a multiplication: floor(x / f) for every x below 2^31.
static void make_code(struct hs_symbol_code *code, uint32_t start, uint32_t frequency)
{
    code->limit = frequency << (31 - HS_ENTROPY_SCALE_BITS);
    code->complement = (uint16_t)(HS_ENTROPY_SCALE - frequency);
    if (frequency < 2) {
        code->reciprocal = ~(uint32_t)0;
        code->shift = 0;
        code->bias = (uint16_t)(start + HS_ENTROPY_SCALE - 1);
        return;
    }
    unsigned shift = 32 - (unsigned)__builtin_clz(frequency - 1);
    code->reciprocal = (uint32_t)((((uint64_t)1 << (shift + 31)) + frequency - 1) / frequency);
    code->shift = (uint8_t)(shift - 1);
    code->bias = (uint16_t)start;
}

// Inline also where the rest is compiled for size: most of an encoder's time goes here.
static inline __attribute__((always_inline)) uint32_t put_symbol(uint32_t state, const struct hs_symbol_code *code,
                                                                 uint8_t **at)
{
    if (state >= code->limit) {
        *at -= 2;
        (*at)[0] = (uint8_t)state;
        (*at)[1] = (uint8_t)(state >> 8);
        state >>= 16;
    }
    uint32_t quotient = (uint32_t)((uint64_t)state * code->reciprocal >> 32) >> code->shift;
    return state + code->bias + quotient * code->complement;
}

// Codes a column from its end, so that the decoder goes forwards; words are laid down before `at`.
static uint8_t *put_column(const struct hs_entropy_symbols *column, const struct hs_symbol_code *code, uint32_t *state,
                           uint8_t *at)
{
    uint32_t i = column->count;
    const uint8_t *symbol = column->symbol;
    while (i % STATES) {
        i--;
        state[i % STATES] = put_symbol(state[i % STATES], &code[symbol[i]], &at);
    }
    uint32_t s0 = state[0], s1 = state[1], s2 = state[2], s3 = state[3];
    for (; i; i -= STATES) {
        s3 = put_symbol(s3, &code[symbol[i - 1]], &at);
        s2 = put_symbol(s2, &code[symbol[i - 2]], &at);
        s1 = put_symbol(s1, &code[symbol[i - 3]], &at);
        s0 = put_symbol(s0, &code[symbol[i - 4]], &at);
    }
    state[0] = s0, state[1] = s1, state[2] = s2, state[3] = s3;
    return at;
}

static void make_codes(const uint8_t *weights, unsigned limit, struct hs_entropy_scratch *scratch)
{
    uint32_t start = 0;
    normalize(weights, limit, scratch->frequency);
    for (unsigned i = 0; i < limit; i++) {
        if (scratch->frequency[i])
            make_code(&scratch->code[i], start, scratch->frequency[i]);
        start += scratch->frequency[i];
    }
}

// Writes a column's table; scratch->limit is 0 for a column without one.
static void put_table(struct hs_bit_writer *bits, const struct hs_entropy_symbols *column, unsigned c,
                      struct hs_entropy_scratch *scratch)
{
    uint8_t *weights = scratch->weights[c];
    scratch->limit[c] = 0;
    if (!column->count)
        return;
    unsigned limit = count_symbols(column, scratch);
    int single = scratch->histogram[limit - 1] == column->count;
    put_bits(bits, (uint64_t)single, 1);
    if (single) {
        put_bits(bits, limit - 1, 8);
        return;
    }
    for (unsigned i = 0; i < limit; i++)
        weights[i] = (uint8_t)weight_index(scratch->histogram[i]);
    put_weights(bits, weights, limit);
    scratch->limit[c] = (uint16_t)limit;
}

uint8_t *hs_entropy_encode(const struct hs_entropy_symbols *columns, unsigned column_count,
                           struct hs_entropy_scratch *scratch, uint8_t *output, uint8_t *end)
{
    struct hs_bit_writer bits;
    uint32_t symbols = 0;
    for (unsigned c = 0; c < column_count; c++) {
        output = hs_varint_put(output, end, columns[c].count);
        if (!output)
            return NULL;
        symbols += columns[c].count;
    }
    hs_bits_start(&bits, output, end);
    for (unsigned c = 0; c < column_count; c++)
        put_table(&bits, &columns[c], c, scratch);
    output = hs_bits_finish(&bits);
    // The worst symbol takes 10 bits; the states 16 bytes.
    size_t most = ((size_t)symbols * HS_ENTROPY_SCALE_BITS / 16 + STATES + 1) * 2 + 4 * STATES;
    if (bits.full || (size_t)(end - output) < most + 8)
        return NULL;
    // Words are produced backwards, behind the place where they will stand.
    uint8_t *stop = end, *at = end;
    uint32_t state[STATES] = {STATE_LOW, STATE_LOW, STATE_LOW, STATE_LOW};
    for (unsigned c = column_count; c--;) {
        if (!scratch->limit[c])
            continue;
        make_codes(scratch->weights[c], scratch->limit[c], scratch);
        at = put_column(&columns[c], scratch->code, state, at);
    }
    for (unsigned i = STATES; i--;) {
        at -= 4;
        for (unsigned b = 0; b < 4; b++)
            at[b] = (uint8_t)(state[i] >> (8 * b));
    }
    size_t length = (size_t)(stop - at);
    output = hs_varint_put(output, at, length);
    if (!output)
        return NULL;
    __builtin_memmove(output, at, length);
    return output + length;
}

// ---- decoding ------------------------------------------------------------------------------------------------------

static void make_table(const uint8_t *weights, unsigned limit, struct hs_entropy_scratch *scratch)
{
    uint32_t *slot = scratch->table;
    normalize(weights, limit, scratch->frequency);
    for (uint32_t i = 0; i < limit; i++) {
        // Several entries at once. The next symbol overwrites those that are too many: most frequencies are small.
        uint32_t frequency = scratch->frequency[i], entry = i | frequency << 8;
        for (uint32_t k = 0; k < frequency; k += HS_ENTROPY_TABLE_STEP)
            for (uint32_t n = k; n < k + HS_ENTROPY_TABLE_STEP; n++)
                slot[n] = entry | n << 20;
        slot += frequency;
    }
}

static inline uint32_t get_symbol(uint32_t state, const uint32_t *table, uint8_t *symbol)
{
    uint32_t entry = table[state & (HS_ENTROPY_SCALE - 1)];
    *symbol = (uint8_t)entry;
    return (entry >> 8 & 0xfff) * (state >> HS_ENTROPY_SCALE_BITS) + (entry >> 20);
}

static inline uint32_t refill(uint32_t state, const uint8_t **at)
{
    if (state < STATE_LOW) {
        state = state << 16 | (uint32_t)(*at)[0] | (uint32_t)(*at)[1] << 8;
        *at += 2;
    }
    return state;
}

// The same from the lowest word of `words`. Whether a state takes a word cannot be predicted: so there is no branch.
static inline uint32_t refill_from(uint32_t state, uint64_t *words, unsigned *taken)
{
    unsigned shift = (unsigned)(state < STATE_LOW) << 4;
    state = state << shift | ((uint32_t)*words & ((1u << shift) - 1));
    *words >>= shift;
    *taken += shift;
    return state;
}

// Decodes one column. Each symbol takes at most one word; where fewer remain than could be taken, each is checked.
static int get_column(struct hs_entropy_symbols *column, const uint32_t *table, uint32_t *state, const uint8_t **from,
                      const uint8_t *end)
{
    const uint8_t *at = *from;
    uint8_t *to = column->symbol;
    const uint32_t count = column->count;
    uint32_t i = 0, s0 = state[0], s1 = state[1], s2 = state[2], s3 = state[3];
    for (; i + STATES <= count && end - at >= 2 * STATES; i += STATES) {
        uint64_t words = hs_load_little64(at);
        unsigned taken = 0;
        s0 = get_symbol(s0, table, to + i);
        s1 = get_symbol(s1, table, to + i + 1);
        s2 = get_symbol(s2, table, to + i + 2);
        s3 = get_symbol(s3, table, to + i + 3);
        s0 = refill_from(s0, &words, &taken);
        s1 = refill_from(s1, &words, &taken);
        s2 = refill_from(s2, &words, &taken);
        s3 = refill_from(s3, &words, &taken);
        at += taken / 8;
    }
    state[0] = s0, state[1] = s1, state[2] = s2, state[3] = s3;
    for (; i < count; i++) {
        uint32_t *s = &state[i % STATES];
        *s = get_symbol(*s, table, to + i);
        if (*s >= STATE_LOW)
            continue;
        if (end - at < 2)
            return -1;
        *s = refill(*s, &at);
    }
    *from = at;
    return 0;
}

static void fill(struct hs_entropy_symbols *column, uint8_t symbol)
{
    for (uint32_t i = 0; i < column->count; i++)
        column->symbol[i] = symbol;
}

const uint8_t *hs_entropy_decode(struct hs_entropy_symbols *columns, unsigned column_count,
                                 struct hs_entropy_scratch *scratch, uint8_t *pool, size_t pool_size, const uint8_t *at,
                                 const uint8_t *end)
{
    uint64_t value;
    for (unsigned c = 0; c < column_count; c++) {
        at = hs_varint_get(at, end, &value);
        if (!at || value > pool_size)
            return NULL;
        columns[c].symbol = pool;
        columns[c].count = (uint32_t)value;
        pool += value;
        pool_size -= value;
    }
    struct hs_bit_reader bits;
    hs_bits_open(&bits, at, end);
    for (unsigned c = 0; c < column_count; c++) {
        scratch->limit[c] = 0;
        if (!columns[c].count)
            continue;
        if (hs_bits_get(&bits, 1)) {
            fill(&columns[c], (uint8_t)hs_bits_get(&bits, 8));
            continue;
        }
        scratch->limit[c] = (uint16_t)get_weights(&bits, scratch->weights[c]);
        if (!scratch->limit[c])
            return NULL;
    }
    if (bits.missing)
        return NULL;
    at = bits.at - bits.count / 8;
    at = hs_varint_get(at, end, &value);
    if (!at || value > (uint64_t)(end - at) || value < 4 * STATES)
        return NULL;
    end = at + value;
    uint32_t state[STATES];
    for (unsigned i = 0; i < STATES; i++, at += 4)
        state[i] = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    for (unsigned c = 0; c < column_count; c++) {
        if (!scratch->limit[c])
            continue;
        make_table(scratch->weights[c], scratch->limit[c], scratch);
        if (get_column(&columns[c], scratch->table, state, &at, end))
            return NULL;
    }
    for (unsigned i = 0; i < STATES; i++)
        if (state[i] != STATE_LOW)
            return NULL;
    return at == end ? end : NULL;
}
