// SPDX-License-Identifier: MIT OR Apache-2.0
#include "format/meta_codec.h"

#include "format/entropy.h"
#include "format/event_model.h"
#include "format/varint.h"

#define META_CODEC_VERSION 1
#define MAX_NODES          (HS_META_PACK_MAX / 3 + 2) // a node takes three bytes at least
#define BITS_SIZE          (64u << 10)
#define CONTEXTS           4096
#define ADDRESS_HASH       16384

enum {
    COLUMN_PARENT = 0,  // 0: a literal record; else 1 + number symbol of id - parent - 1
    COLUMN_ADDRESS = 1, // 2 columns: parent in this payload or not
    COLUMN_SEEN = 3,    // distance among the addresses seen
    COLUMN_NEW = 4,     // distance of a new address from the last new one
    COLUMN_COUNT = 5
};
enum { ADDRESS_GUESS = 0, ADDRESS_OLDER_GUESS = 1, ADDRESS_SEEN = 2, ADDRESS_NEW = 3 };

// Shared by both directions. Addresses and nodes are numbered in the order they appear in this payload.
struct meta_codec_state {
    uint32_t addresses, nodes;
    uint32_t next_id;
    uint64_t last_new, last_pc;
    struct hs_entropy_symbols column[COLUMN_COUNT];
    struct hs_entropy_scratch entropy;
    uint64_t address[MAX_NODES];
    uint16_t node_address[MAX_NODES]; // by node id - first id
    uint16_t guess[CONTEXTS][2];      // address numbers that followed this parent's address, newest first
    uint8_t symbols[];
};

struct packer {
    struct hs_bit_writer bits;
    uint16_t hash[ADDRESS_HASH];
};

#define SYMBOLS_SIZE (6u * MAX_NODES)
_Static_assert(sizeof(struct meta_codec_state) + SYMBOLS_SIZE + sizeof(struct packer) + 16 <= HS_META_SCRATCH_SIZE,
               "the packer fits its scratch memory");

static void start(struct meta_codec_state *state)
{
    __builtin_memset(state->guess, 0, sizeof state->guess);
    state->addresses = state->nodes = 0;
    state->next_id = 0;
    state->last_new = state->last_pc = 0;
}

// A node base starts the numbering of nodes anew.
static void set_base(struct meta_codec_state *state, uint32_t id)
{
    state->next_id = id;
    state->nodes = 0;
    state->last_pc = 0;
}

// The address number of the parent of the next node, 0 when the parent is not in this payload.
static uint32_t parent_address(const struct meta_codec_state *state, uint64_t back)
{
    return back && back <= state->nodes ? state->node_address[state->nodes - back] : 0;
}

static void learn(struct meta_codec_state *state, uint32_t parent, uint32_t number, uint64_t pc)
{
    uint16_t *guess = state->guess[parent % CONTEXTS];
    if (guess[0] != number) {
        guess[1] = guess[0];
        guess[0] = (uint16_t)number;
    }
    state->node_address[state->nodes++] = (uint16_t)number;
    state->next_id++;
    state->last_pc = pc;
}

// ---- packing -------------------------------------------------------------------------------------------------------

static void put_number(struct meta_codec_state *state, struct packer *packer, unsigned column, uint64_t value,
                       unsigned offset)
{
    unsigned symbol = hs_number_symbol(value);
    struct hs_entropy_symbols *symbols = &state->column[column];
    symbols->symbol[symbols->count++] = (uint8_t)(symbol + offset);
    hs_bits_put(&packer->bits, value, hs_number_extra_bits(symbol));
}

static void put(struct meta_codec_state *state, unsigned column, unsigned symbol)
{
    struct hs_entropy_symbols *symbols = &state->column[column];
    symbols->symbol[symbols->count++] = (uint8_t)symbol;
}

// The number of an address, 0 and its slot when it is new.
static uint32_t find_address(const struct meta_codec_state *state, const struct packer *packer, uint64_t pc,
                             uint32_t *slot)
{
    uint32_t at = ((uint32_t)pc ^ (uint32_t)(pc >> 32) * 0x85ebca77u) * 0x9e3779b1u >> 18;
    while (packer->hash[at] && state->address[packer->hash[at]] != pc)
        at = (at + 1) % ADDRESS_HASH;
    *slot = at;
    return packer->hash[at];
}

static void pack_node(struct meta_codec_state *state, struct packer *packer, uint64_t back, uint64_t pc)
{
    uint32_t slot, number = find_address(state, packer, pc, &slot), parent = parent_address(state, back);
    const uint16_t *guess = state->guess[parent % CONTEXTS];
    unsigned column = COLUMN_ADDRESS + !parent;
    put_number(state, packer, COLUMN_PARENT, back - 1, 1);
    if (number && guess[0] == number) {
        put(state, column, ADDRESS_GUESS);
    } else if (number && guess[1] == number) {
        put(state, column, ADDRESS_OLDER_GUESS);
    } else if (number) {
        put(state, column, ADDRESS_SEEN);
        put_number(state, packer, COLUMN_SEEN, state->addresses - number, 0);
    } else {
        put(state, column, ADDRESS_NEW);
        put_number(state, packer, COLUMN_NEW, hs_zigzag(pc - state->last_new), 0);
        number = ++state->addresses;
        state->address[number] = state->last_new = pc;
        packer->hash[slot] = (uint16_t)number;
    }
    learn(state, parent, number, pc);
}

// One record at `at`. Returns its end; NULL when it makes no sense.
static const uint8_t *pack_record(struct meta_codec_state *state, struct packer *packer, const uint8_t *at,
                                  const uint8_t *end)
{
    uint64_t first, second;
    if (*at == HS_META_NODE) {
        const uint8_t *after = hs_varint_get(at + 1, end, &first);
        after = after ? hs_varint_get(after, end, &second) : NULL;
        if (!after || !first || first > UINT32_MAX || state->nodes + 2 >= MAX_NODES)
            return NULL;
        pack_node(state, packer, first, state->last_pc + hs_unzigzag(second));
        return after;
    }
    const uint8_t *body = hs_varint_get(at + 1, end, &first);
    if (*at >= 0x80 || !body || first > (uint64_t)(end - body))
        return NULL;
    if (*at == HS_META_NODE_BASE && hs_varint_get(body, body + first, &second))
        set_base(state, (uint32_t)second);
    put(state, COLUMN_PARENT, 0);
    for (const uint8_t *byte = at; byte < body + first; byte++)
        hs_bits_put(&packer->bits, *byte, 8);
    return body + first;
}

size_t hs_meta_pack(const void *plain, size_t length, void *scratch, uint8_t *output, size_t capacity, size_t *taken)
{
    struct meta_codec_state *state = scratch;
    struct packer *packer = (void *)(((uintptr_t)(state->symbols + SYMBOLS_SIZE) + 15) & ~(uintptr_t)15);
    const uint8_t *at = plain, *end = at + length;
    uint8_t *out = output, *out_end = output + capacity;
    *taken = 0;
    if (length > HS_META_PACK_MAX || capacity < BITS_SIZE + 1024)
        return 0;
    start(state);
    __builtin_memset(packer->hash, 0, sizeof packer->hash);
    for (unsigned c = 0; c < COLUMN_COUNT; c++)
        state->column[c] = (struct hs_entropy_symbols){state->symbols + c * MAX_NODES, 0};
    uint8_t *bits = out_end - BITS_SIZE;
    hs_bits_start(&packer->bits, bits, out_end);
    while (at < end && *at != HS_META_END) {
        if (state->column[COLUMN_PARENT].count + 1 >= MAX_NODES)
            return 0;
        at = pack_record(state, packer, at, end);
        if (!at)
            return 0;
    }
    size_t bits_length = (size_t)(hs_bits_finish(&packer->bits) - bits);
    *out++ = META_CODEC_VERSION;
    out = hs_varint_put(out, bits, bits_length);
    out = hs_entropy_encode(state->column, COLUMN_COUNT, &state->entropy, out, bits);
    *taken = (size_t)(at - (const uint8_t *)plain);
    if (!out || packer->bits.full || (size_t)(out - output) + bits_length >= *taken)
        return 0;
    __builtin_memmove(out, bits, bits_length);
    return (size_t)(out - output) + bits_length;
}

// ---- unpacking -----------------------------------------------------------------------------------------------------

struct unpacker {
    struct meta_codec_state *state;
    struct hs_bit_reader bits;
    uint32_t at[COLUMN_COUNT];
    uint8_t *to, *end;
    int bad;
};

static unsigned get(struct unpacker *unpacker, unsigned column)
{
    const struct hs_entropy_symbols *symbols = &unpacker->state->column[column];
    if (unpacker->at[column] == symbols->count) {
        unpacker->bad = 1;
        return 0;
    }
    return symbols->symbol[unpacker->at[column]++];
}

static uint64_t get_number(struct unpacker *unpacker, unsigned symbol)
{
    return hs_number_base(symbol) + hs_bits_get(&unpacker->bits, hs_number_extra_bits(symbol));
}

static uint32_t get_address(struct unpacker *unpacker, uint32_t parent)
{
    struct meta_codec_state *state = unpacker->state;
    unsigned symbol = get(unpacker, COLUMN_ADDRESS + !parent);
    if (symbol <= ADDRESS_OLDER_GUESS)
        return state->guess[parent % CONTEXTS][symbol];
    if (symbol == ADDRESS_SEEN) {
        uint64_t distance = get_number(unpacker, get(unpacker, COLUMN_SEEN));
        return distance < state->addresses ? state->addresses - (uint32_t)distance : 0;
    }
    state->last_new += hs_unzigzag(get_number(unpacker, get(unpacker, COLUMN_NEW)));
    state->address[++state->addresses] = state->last_new;
    return state->addresses;
}

static void put_varint(struct unpacker *unpacker, uint64_t value)
{
    uint8_t *after = hs_varint_put(unpacker->to, unpacker->end, value);
    unpacker->bad |= !after;
    unpacker->to = after ? after : unpacker->to;
}

static void put_byte(struct unpacker *unpacker, uint8_t byte)
{
    if (unpacker->to < unpacker->end)
        *unpacker->to++ = byte;
    else
        unpacker->bad = 1;
}

static void unpack_node(struct unpacker *unpacker, unsigned symbol)
{
    struct meta_codec_state *state = unpacker->state;
    uint64_t back = get_number(unpacker, symbol - 1) + 1;
    uint32_t parent = parent_address(state, back);
    if (state->nodes + 2 >= MAX_NODES || state->addresses + 2 >= MAX_NODES) {
        unpacker->bad = 1;
        return;
    }
    uint32_t number = get_address(unpacker, parent);
    if (!number) {
        unpacker->bad = 1;
        return;
    }
    uint64_t pc = state->address[number];
    put_byte(unpacker, HS_META_NODE);
    put_varint(unpacker, back);
    put_varint(unpacker, hs_zigzag(pc - state->last_pc));
    learn(state, parent, number, pc);
}

static uint64_t copy_varint(struct unpacker *unpacker)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = (uint8_t)hs_bits_get(&unpacker->bits, 8);
        put_byte(unpacker, byte);
        value |= (uint64_t)(byte & 0x7f) << (shift < 64 ? shift : 63);
        if (byte < 0x80 || unpacker->bad)
            return value;
    }
    unpacker->bad = 1;
    return 0;
}

static void unpack_literal(struct unpacker *unpacker)
{
    uint8_t tag = (uint8_t)hs_bits_get(&unpacker->bits, 8);
    put_byte(unpacker, tag);
    uint64_t length = copy_varint(unpacker), id;
    const uint8_t *body = unpacker->to;
    if (unpacker->bad || length > (uint64_t)(unpacker->end - unpacker->to)) {
        unpacker->bad = 1;
        return;
    }
    for (uint64_t i = 0; i < length; i++)
        *unpacker->to++ = (uint8_t)hs_bits_get(&unpacker->bits, 8);
    if (tag == HS_META_NODE_BASE && hs_varint_get(body, unpacker->to, &id))
        set_base(unpacker->state, (uint32_t)id);
}

int hs_meta_unpack(const uint8_t *packed, size_t length, void *scratch, uint8_t *plain, size_t plain_length)
{
    struct meta_codec_state *state = scratch;
    struct unpacker unpacker = {.state = state, .to = plain, .end = plain + plain_length};
    const uint8_t *at = packed, *end = packed + length;
    uint64_t bits_length;
    if (!length || *at != META_CODEC_VERSION)
        return -1;
    at = hs_varint_get(at + 1, end, &bits_length);
    at = at ? hs_entropy_decode(state->column, COLUMN_COUNT, &state->entropy, state->symbols, SYMBOLS_SIZE, at, end)
            : NULL;
    if (!at || bits_length != (uint64_t)(end - at))
        return -1;
    start(state);
    hs_bits_open(&unpacker.bits, at, end);
    uint32_t records = state->column[COLUMN_PARENT].count;
    for (uint32_t i = 0; i < records && !unpacker.bad && !unpacker.bits.missing; i++) {
        unsigned symbol = get(&unpacker, COLUMN_PARENT);
        if (symbol)
            unpack_node(&unpacker, symbol);
        else
            unpack_literal(&unpacker);
    }
    return unpacker.bad || unpacker.bits.missing || unpacker.to != unpacker.end ? -1 : 0;
}
