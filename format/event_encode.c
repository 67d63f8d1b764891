// SPDX-License-Identifier: MIT OR Apache-2.0
//
// From the records of a slot to an EVENTS payload: one pass over the records fills the columns and the raw bits, then
// the entropy stage writes the columns.
#include "format/entropy.h"
#include "format/event_model.h"
#include "format/record_read.h"
#include "format/varint.h"

#define BLOCK_HASH_BITS     13
#define STACK_HASH_BITS     12
#define FREE_COLUMN(words)  (words)
#define ALLOC_COLUMN(words) ((words) / 2 + 2)
#define BITS_SIZE           (40u << 10)
#define ESCAPE_SIZE         (48u << 10)

// What nearly every event needs is inlined. What few events need exists once, compiled for size.
#define OFTEN static inline __attribute__((always_inline))
#define RARE  static __attribute__((cold, noinline))

// The tables are behind the rest, which short instructions reach.
struct encoder {
    struct hs_bit_writer bits;
    uint64_t time;
    uint32_t context; // of the event in progress, for its time
    int free_stacks;
    uint32_t frees;
    struct hs_model model;
    uint8_t *escape, *escape_end;
    struct hs_entropy_symbols column[HS_COLUMN_COUNT];
    union {
        struct {
            uint16_t block_hash[1 << BLOCK_HASH_BITS];
            uint16_t stack_hash[1 << STACK_HASH_BITS];
        };
        struct hs_entropy_scratch entropy; // when all events have been through
    };
    uint8_t symbols[];
};

// The columns that frees use have room for an event per word; the others for one per two words.
static int is_free_column(unsigned column)
{
    return column <= HS_COLUMN_OLD_DISTANCE || column >= HS_COLUMN_FREE_STACK;
}

_Static_assert(sizeof(struct encoder) + 18u * FREE_COLUMN(HS_CODEC_MAX_EVENTS) +
                       14u * ALLOC_COLUMN(HS_CODEC_MAX_EVENTS) <=
                   HS_CODEC_SCRATCH_SIZE,
               "the encoder fits its scratch memory");

// Until the end a column's pointer is where its next symbol goes.
OFTEN void put(struct encoder *encoder, unsigned column, unsigned symbol)
{
    *encoder->column[column].symbol++ = (uint8_t)symbol;
}

RARE unsigned put_many_bits(struct encoder *encoder, uint64_t value, unsigned symbol)
{
    hs_bits_put(&encoder->bits, value, hs_number_extra_bits(symbol));
    return symbol;
}

static __attribute__((noinline)) unsigned put_number(struct encoder *encoder, unsigned column, uint64_t value)
{
    if (value < 16) {
        put(encoder, column, (unsigned)value);
        return (unsigned)value;
    }
    unsigned symbol = hs_number_symbol(value), count = hs_number_extra_bits(symbol);
    put(encoder, column, symbol);
    if (count > 31)
        return put_many_bits(encoder, value, symbol);
    hs_bits_put32(&encoder->bits, (uint32_t)value & (((uint32_t)1 << count) - 1), count);
    return symbol;
}

// ---- finding blocks and stacks -------------------------------------------------------------------------------------

static inline uint32_t hash_unit(uint64_t unit)
{
    return ((uint32_t)unit ^ (uint32_t)(unit >> 32) * 0x85ebca77u) * 0x9e3779b1u >> (32 - BLOCK_HASH_BITS);
}

OFTEN uint32_t find_block(const struct encoder *encoder, uint64_t unit, uint32_t *slot)
{
    uint32_t at = hash_unit(unit);
    for (;; at = (at + 1) & ((1u << BLOCK_HASH_BITS) - 1)) {
        uint32_t number = encoder->block_hash[at];
        const struct hs_event_block *block = &encoder->model.block[number];
        if (!number || (block->unit_low == (uint32_t)unit && block->unit_high == unit >> 32)) {
            *slot = at;
            return number;
        }
    }
}

OFTEN uint32_t find_stack(const struct encoder *encoder, uint32_t id, uint32_t *slot)
{
    uint32_t at = id * 0x9e3779b1u >> (32 - STACK_HASH_BITS);
    for (;; at = (at + 1) & ((1u << STACK_HASH_BITS) - 1)) {
        uint32_t number = encoder->stack_hash[at];
        if (!number || encoder->model.stack[number].id == id) {
            *slot = at;
            return number;
        }
    }
}

// ---- which event ---------------------------------------------------------------------------------------------------

// Says what the event is: by a guess when one is right, else by `op`. Returns the op that was written.
OFTEN unsigned put_op(struct encoder *encoder, uint32_t token, unsigned op, int is_free)
{
    struct hs_model *model = &encoder->model;
    uint32_t c3 = hs_context3(model), c2 = hs_context2(model), c1 = hs_context1(model);
    if (op == HS_OP_ALLOC || op == HS_OP_FREE || op == HS_OP_FREE_OLD) {
        if (model->context3[c3] == token)
            op = HS_OP_GUESS_3;
        else if (model->context2[c2] == token)
            op = HS_OP_GUESS_2;
        else if (model->context1[c1] == token)
            op = HS_OP_GUESS_1;
    }
    put(encoder, HS_COLUMN_OP + model->op_context, op);
    model->op_context = hs_next_op_context(op, is_free);
    encoder->context = c3;
    hs_model_learn(model, c3, c2, c1, token);
    return op;
}

RARE void put_rare_op(struct encoder *encoder, uint32_t token, unsigned op, int is_free)
{
    put_op(encoder, token, op, is_free);
}

OFTEN void put_time(struct encoder *encoder, uint64_t time, int is_free)
{
    uint32_t context = encoder->context;
    unsigned symbol = put_number(encoder, hs_time_column(&encoder->model, context, is_free), time - encoder->time);
    hs_model_learn_time(&encoder->model, context, symbol);
    encoder->time = time;
}

// Rank of a live block among those of its stack, or what else names it.
static inline unsigned find_rank(const struct hs_model *model, uint32_t number)
{
    const struct hs_local_stack *local = &model->stack[model->block[number].stack];
    uint32_t at = local->newest;
    for (unsigned rank = 0; rank < HS_RANK_WALK && at; rank++, at = model->block[at].next)
        if (at == number)
            return rank;
    return local->oldest == number ? HS_RANK_OLDEST : HS_RANK_BLOCK;
}

RARE void put_old(struct encoder *encoder, uint64_t unit)
{
    struct hs_model *model = &encoder->model;
    unsigned best = 0;
    uint64_t least = UINT64_MAX;
    for (unsigned k = 0; k < HS_CURSORS; k++) {
        uint64_t distance = hs_zigzag(unit - model->old_cursor[k]);
        if (distance < least)
            least = distance, best = k;
    }
    if (unit == model->old_cursor[0] + model->old_step) {
        put(encoder, HS_COLUMN_OLD, HS_OLD_STEP);
        best = 0;
    } else {
        uint64_t difference = unit - model->old_cursor[best];
        int down = (int)(difference >> 63);
        put(encoder, HS_COLUMN_OLD, (down ? HS_OLD_DOWN : HS_OLD_UP) + best);
        put_number(encoder, HS_COLUMN_OLD_DISTANCE, down ? 0 - difference : difference);
    }
    hs_model_old_freed(model, best, unit);
}

// ---- frees ---------------------------------------------------------------------------------------------------------

RARE void put_given_free_stack(struct encoder *encoder, uint32_t local, uint32_t stack)
{
    struct hs_model *model = &encoder->model;
    if (stack == model->stack[local].free_stack) {
        put(encoder, HS_COLUMN_FREE_STACK, HS_FREE_STACK_SAME);
    } else {
        uint32_t up = stack - model->last_free_stack;
        int down = (int)(up >> 31);
        put(encoder, HS_COLUMN_FREE_STACK, down ? HS_FREE_STACK_DOWN : HS_FREE_STACK_UP);
        put_number(encoder, HS_COLUMN_FREE_STACK_DISTANCE, down ? 0 - up : up);
    }
    model->last_free_stack = model->stack[local].free_stack = stack;
}

RARE void put_free_stack(struct encoder *encoder, uint32_t local, int given, uint32_t stack)
{
    if (!encoder->free_stacks) {
        encoder->free_stacks = 1;
        for (uint32_t i = 0; i < encoder->frees; i++)
            put(encoder, HS_COLUMN_FREE_STACK, HS_FREE_STACK_NONE);
    }
    if (given)
        put_given_free_stack(encoder, local, stack);
    else
        put(encoder, HS_COLUMN_FREE_STACK, HS_FREE_STACK_NONE);
}

static void encode_free(struct encoder *encoder, uint64_t unit, uint64_t time, int stack_given, uint32_t stack)
{
    struct hs_model *model = &encoder->model;
    uint32_t slot, number = find_block(encoder, unit, &slot), local = 0;
    if (number && model->block[number].state == HS_BLOCK_LIVE) {
        local = model->block[number].stack;
        unsigned op = put_op(encoder, HS_TOKEN_FREE | local, HS_OP_FREE, 1);
        unsigned rank = op == HS_OP_FREE ? HS_RANK_BLOCK : find_rank(model, number);
        if (op != HS_OP_FREE)
            put(encoder, HS_COLUMN_RANK, rank);
        if (rank == HS_RANK_BLOCK)
            put_number(encoder, HS_COLUMN_BLOCK, model->block_count - number);
        hs_model_unlink_live(model, number);
        hs_model_add_freed(model, number);
    } else {
        put_rare_op(encoder, HS_TOKEN_FREE, HS_OP_FREE_OLD, 1);
        put_old(encoder, unit);
        encoder->block_hash[slot] = (uint16_t)hs_model_add_unknown(model, unit);
    }
    put_time(encoder, time, 1);
    if (stack_given || encoder->free_stacks)
        put_free_stack(encoder, local, stack_given, stack);
    encoder->frees++;
}

// ---- allocations ---------------------------------------------------------------------------------------------------

struct event_encode_allocation {
    uint64_t unit, usable, old_unit, since;
    uint32_t size, stack;
    unsigned form;
};

RARE void put_fresh_stack(struct encoder *encoder, uint32_t id)
{
    struct hs_model *model = &encoder->model;
    uint32_t up = id - model->last_stack;
    int down = (int)(up >> 31);
    uint32_t distance = down ? 0 - up : up;
    if (id > model->max_stack && id - model->max_stack <= distance) {
        put(encoder, HS_COLUMN_FRESH, HS_FRESH_ABOVE);
        distance = id - model->max_stack - 1;
    } else {
        put(encoder, HS_COLUMN_FRESH, down ? HS_FRESH_DOWN : HS_FRESH_UP);
    }
    put_number(encoder, HS_COLUMN_FRESH_DISTANCE, distance);
}

static inline void put_size(struct encoder *encoder, struct hs_local_stack *local, int fresh, uint32_t size)
{
    if (!fresh) {
        put(encoder, HS_COLUMN_SIZE_SAME, local->size != size);
        if (local->size == size)
            return;
    }
    put_number(encoder, HS_COLUMN_SIZE_HIGH, size >> 3);
    put(encoder, HS_COLUMN_SIZE_LOW, size & 7);
    local->size = size;
}

// Writes which stack allocates, and returns its local number.
static inline uint32_t put_stack(struct encoder *encoder, const struct event_encode_allocation *allocation)
{
    struct hs_model *model = &encoder->model;
    uint32_t slot, number = find_stack(encoder, allocation->stack, &slot);
    int fresh = !number;
    if (fresh) {
        put_rare_op(encoder, model->stack_count + 1, HS_OP_ALLOC_FRESH, 0);
        put_fresh_stack(encoder, allocation->stack);
        put(encoder, HS_COLUMN_FORM, allocation->form);
        number = hs_model_new_stack(model, allocation->stack, allocation->form);
        encoder->stack_hash[slot] = (uint16_t)number;
    } else {
        int same = model->stack[number].form == allocation->form;
        unsigned op = put_op(encoder, number, same ? HS_OP_ALLOC : HS_OP_ALLOC_FORM, 0);
        if (op >= HS_OP_ALLOC)
            put_number(encoder, HS_COLUMN_STACK, model->block_count - model->stack[number].last);
        if (op == HS_OP_ALLOC_FORM) {
            put(encoder, HS_COLUMN_FORM, allocation->form);
            model->stack[number].form = (uint8_t)allocation->form;
        }
    }
    model->last_stack = allocation->stack;
    put_size(encoder, &model->stack[number], fresh, allocation->size);
    return number;
}

// Writes which block is reallocated and takes it out of the live ones. Returns its number.
RARE uint32_t put_old_block(struct encoder *encoder, uint32_t local, uint64_t unit)
{
    struct hs_model *model = &encoder->model;
    uint32_t slot, number = find_block(encoder, unit, &slot);
    if (!number || model->block[number].state != HS_BLOCK_LIVE) {
        put(encoder, HS_COLUMN_REALLOC, HS_RANK_OLD);
        put_old(encoder, unit);
        number = hs_model_new_block(model, unit, 0, HS_BLOCK_GONE);
        model->block[number].stack = 0;
        encoder->block_hash[slot] = (uint16_t)number;
        return number;
    }
    unsigned rank = model->block[number].stack == local ? find_rank(model, number) : HS_RANK_BLOCK;
    put(encoder, HS_COLUMN_REALLOC, rank);
    if (rank == HS_RANK_BLOCK)
        put_number(encoder, HS_COLUMN_BLOCK, model->block_count - number);
    hs_model_unlink_live(model, number);
    return number;
}

// Rank of a freed block in its list among those that are not gone, or HS_PLACE_WALK.
static __attribute__((noinline)) unsigned find_freed(const struct hs_model *model, uint32_t head, uint32_t number)
{
    unsigned rank = 0;
    for (unsigned steps = 0; steps < 3 * HS_PLACE_WALK && head && rank < HS_PLACE_WALK; steps++) {
        if (head == number)
            return rank;
        rank += model->block[head].state != HS_BLOCK_GONE;
        head = model->block[head].next;
    }
    return HS_PLACE_WALK;
}

static __attribute__((noinline)) void put_distant_place(struct encoder *encoder, unsigned column, uint64_t unit,
                                                        uint64_t end)
{
    struct hs_model *model = &encoder->model;
    unsigned best = 0;
    uint64_t least = UINT64_MAX;
    for (unsigned k = 0; k < HS_CURSORS; k++) {
        uint64_t distance = hs_zigzag(unit - model->cursor[k]);
        if (distance < least)
            least = distance, best = k;
    }
    uint64_t difference = unit - model->cursor[best];
    int down = (int)(difference >> 63);
    if (!difference) {
        put(encoder, column, HS_PLACE_CURSOR + best);
    } else {
        put(encoder, column, (down ? HS_PLACE_DOWN : HS_PLACE_UP) + best);
        put_number(encoder, HS_COLUMN_PLACE_DISTANCE, down ? 0 - difference : difference);
    }
    hs_cursor_push(model->cursor, best, end);
}

static inline void put_place(struct encoder *encoder, const struct event_encode_allocation *allocation, uint32_t local)
{
    struct hs_model *model = &encoder->model;
    uint64_t unit = allocation->unit;
    unsigned size_class = hs_size_class(model, allocation->usable);
    uint16_t *head = &model->class_head[size_class];
    unsigned column = HS_COLUMN_PLACE + (*head != 0), rank;
    uint32_t slot, number = find_block(encoder, unit, &slot);
    unsigned state = number ? model->block[number].state : HS_BLOCK_GONE;
    if (allocation->form % HS_FORM_USABLE == HS_FORM_REALLOC && unit == allocation->old_unit) {
        put(encoder, column, HS_PLACE_SAME);
    } else if (state == HS_BLOCK_FREED && model->block[number].size_class == size_class &&
               (rank = find_freed(model, *head, number)) < HS_PLACE_WALK) {
        put(encoder, column, HS_PLACE_CLASS + rank);
        hs_model_take(model, head, rank);
    } else if (state == HS_BLOCK_UNKNOWN && (rank = find_freed(model, model->unknown_head, number)) < HS_PLACE_WALK) {
        put(encoder, column, HS_PLACE_UNKNOWN + rank);
        hs_model_take(model, &model->unknown_head, rank);
    } else if (state >= HS_BLOCK_FREED) {
        put(encoder, column, HS_PLACE_BLOCK);
        put_number(encoder, HS_COLUMN_PLACE_BLOCK, model->block_count - number);
        model->block[number].state = HS_BLOCK_GONE;
    } else {
        put_distant_place(encoder, column, unit, hs_block_end(model, unit, allocation->usable));
    }
    hs_model_add_live(model, unit, size_class, local);
    encoder->block_hash[slot] = (uint16_t)model->block_count;
}

static void encode_allocation(struct encoder *encoder, const struct event_encode_allocation *allocation, uint64_t time)
{
    struct hs_model *model = &encoder->model;
    int reallocation = allocation->form % HS_FORM_USABLE == HS_FORM_REALLOC;
    uint32_t old = 0, local = put_stack(encoder, allocation);
    if (allocation->form >= HS_FORM_USABLE) {
        uint64_t expected = hs_usable_model(allocation->size, model->pointer_size);
        put_number(encoder, HS_COLUMN_USABLE, hs_zigzag(allocation->usable - expected));
    }
    if (reallocation) {
        put_number(encoder, HS_COLUMN_SINCE, allocation->since);
        old = put_old_block(encoder, local, allocation->old_unit);
    }
    put_place(encoder, allocation, local);
    if (reallocation && allocation->unit != allocation->old_unit)
        hs_model_add_freed(model, old);
    put_time(encoder, time, 0);
}

// ---- records -------------------------------------------------------------------------------------------------------

// The rare records: their words as they are, as varints behind everything else.
RARE int encode_wide(void *sink, unsigned type, const uint64_t *words, unsigned count, uint64_t time)
{
    struct encoder *encoder = sink;
    if (encoder->bits.full || (size_t)(encoder->escape_end - encoder->escape) < (count + 1u) * HS_VARINT_MAX)
        return 0;
    put(encoder, HS_COLUMN_OP + encoder->model.op_context, HS_OP_ESCAPE);
    encoder->model.op_context = hs_next_op_context(HS_OP_ESCAPE, 0);
    encoder->context = hs_context3(&encoder->model);
    encoder->escape = hs_varint_put(encoder->escape, encoder->escape_end, type | count << 8);
    for (unsigned i = 0; i < count; i++)
        encoder->escape = hs_varint_put(encoder->escape, encoder->escape_end, words[i]);
    put_time(encoder, time, 1);
    return 1;
}

static int encode_short(void *sink, const struct hs_short_record *record, uint64_t time)
{
    struct encoder *encoder = sink;
    unsigned kind = record->kind;
    if (encoder->bits.full)
        return 0;
    if (kind == HS_RECORD_FREE || kind == HS_RECORD_FREE_STACK) {
        encode_free(encoder, record->unit, time, kind == HS_RECORD_FREE_STACK, record->stack);
        return 1;
    }
    struct event_encode_allocation allocation = {.unit = record->unit,
                                                 .usable = record->usable,
                                                 .size = record->size,
                                                 .stack = record->stack,
                                                 .form = kind - HS_RECORD_MALLOC};
    if (kind >= HS_RECORD_MALLOC_USABLE)
        allocation.form = kind - HS_RECORD_MALLOC_USABLE + HS_FORM_USABLE;
    if (hs_record_is_realloc(kind)) {
        allocation.old_unit = record->old_unit;
        allocation.since = record->since;
    }
    encode_allocation(encoder, &allocation, time);
    return 1;
}

// Sets each column's pointer to its begin, and its count to how far the pointer was from there.
RARE void lay_out_columns(struct encoder *encoder, size_t words)
{
    uint8_t *symbols = encoder->symbols;
    for (unsigned c = 0; c < HS_COLUMN_COUNT; c++) {
        uintptr_t count = (uintptr_t)encoder->column[c].symbol - (uintptr_t)symbols;
        encoder->column[c] = (struct hs_entropy_symbols){symbols, (uint32_t)count};
        symbols += is_free_column(c) ? FREE_COLUMN(words) : ALLOC_COLUMN(words);
    }
}

static void start(struct encoder *encoder, const struct hs_codec_target *target, size_t words, uint8_t *output)
{
    hs_model_start(&encoder->model, target);
    __builtin_memset(encoder->block_hash, 0, sizeof encoder->block_hash);
    __builtin_memset(encoder->stack_hash, 0, sizeof encoder->stack_hash);
    lay_out_columns(encoder, words);
    // Raw bits and escapes wait at the end of the output until the columns are written.
    encoder->escape_end = output + HS_CODEC_MAX_OUTPUT;
    encoder->escape = encoder->escape_end - ESCAPE_SIZE;
    hs_bits_start(&encoder->bits, encoder->escape - BITS_SIZE, encoder->escape);
    encoder->free_stacks = 0;
    encoder->frees = 0;
}

// Once for a chunk: writes the columns, and behind them the raw bits and the escapes.
RARE void finish(struct encoder *encoder, size_t words, uint64_t base_time, uint8_t *output, struct hs_encoded *result)
{
    const uint8_t *bits = output + HS_CODEC_MAX_OUTPUT - ESCAPE_SIZE - BITS_SIZE;
    const uint8_t *escape = output + HS_CODEC_MAX_OUTPUT - ESCAPE_SIZE;
    size_t bits_length = (size_t)(hs_bits_finish(&encoder->bits) - bits);
    size_t escape_length = (size_t)(encoder->escape - escape);
    uint8_t *at = output, *end = output + HS_CODEC_MAX_OUTPUT - ESCAPE_SIZE - BITS_SIZE;
    lay_out_columns(encoder, words);
    *at++ = HS_CODEC_VERSION;
    *at++ = (uint8_t)(encoder->free_stacks ? HS_PAYLOAD_FREE_STACKS : 0);
    const uint64_t numbers[] = {result->count, base_time, bits_length, escape_length};
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        at = hs_varint_put(at, end, numbers[i]);
    at = hs_entropy_encode(encoder->column, HS_COLUMN_COUNT, &encoder->entropy, at, end);
    if (!at) {
        result->count = 0;
        return;
    }
    __builtin_memcpy(at, bits, bits_length);
    at += bits_length;
    __builtin_memcpy(at, escape, escape_length);
    at += escape_length;
    result->length = (uint32_t)(at - output);
}

void hs_events_encode(const struct hs_codec_target *target, const uint64_t *records, size_t words, uint64_t base_time,
                      void *scratch, uint8_t *output, struct hs_encoded *result)
{
    static const struct hs_record_sink sink = {encode_short, encode_wide};
    struct encoder *encoder = scratch;
    if (words > HS_CODEC_MAX_EVENTS)
        words = HS_CODEC_MAX_EVENTS;
    start(encoder, target, words, output);
    encoder->time = base_time;
    hs_records_read(&sink, encoder, target, records, words, base_time, result);
    if (result->count)
        finish(encoder, words, base_time, output, result);
}
