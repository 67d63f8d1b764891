// SPDX-License-Identifier: MIT OR Apache-2.0
//
// From an EVENTS payload to events. The payload may be anything: every read is checked against what there is, every
// number against what it names.
#include "format/columns.h"
#include "format/entropy.h"
#include "format/event_fast_decode.h"
#include "format/event_model.h"
#include "format/event_wide.h"
#include "format/varint.h"

struct event_decode_decoder {
    struct hs_model model;
    struct hs_entropy_scratch entropy;
    struct hs_entropy_symbols column[HS_COLUMN_COUNT];
    struct hs_bit_reader bits;
    const uint8_t *next[HS_COLUMN_COUNT];
    const uint8_t *end[HS_COLUMN_COUNT];
    const uint8_t *escape, *escape_end;
    uint64_t time;
    int free_stacks;
    int damaged;
    struct hs_fast_reader *fast; // in the place of the symbols when the payload is of the fast coding, else NULL
    _Alignas(16) uint8_t symbols[];
};

#define POOL_SIZE (HS_CODEC_SCRATCH_SIZE - sizeof(struct event_decode_decoder))
_Static_assert(sizeof(struct event_decode_decoder) + 24u * HS_CODEC_MAX_EVENTS <= HS_CODEC_SCRATCH_SIZE,
               "the decoder fits its scratch memory");

static inline unsigned get(struct event_decode_decoder *decoder, unsigned column)
{
    if (decoder->next[column] == decoder->end[column]) {
        decoder->damaged = 1;
        return 0;
    }
    return *decoder->next[column]++;
}

// hs_number_base and hs_number_extra_bits without a condition, which would be guessed wrong for a tenth of the events:
// symbols below 16 take no extra bits either way.
static inline __attribute__((always_inline)) uint64_t number_value(struct event_decode_decoder *decoder,
                                                                   unsigned symbol)
{
    unsigned small = 0u - (symbol < 16), extra = ((symbol >> 2) - 2) & ~small;
    uint64_t base = (uint64_t)((symbol & small) | ((4 | (symbol & 3)) & ~small)) << extra;
    return base + hs_bits_get(&decoder->bits, extra);
}

static inline __attribute__((always_inline)) uint64_t get_number(struct event_decode_decoder *decoder, unsigned column)
{
    unsigned symbol = get(decoder, column);
    return number_value(decoder, symbol);
}

// A block by its distance from the newest; 0 when there is no such block.
static inline uint32_t get_block(struct event_decode_decoder *decoder, unsigned column)
{
    uint64_t distance = get_number(decoder, column);
    if (distance >= decoder->model.block_count) {
        decoder->damaged = 1;
        return 0;
    }
    return decoder->model.block_count - (uint32_t)distance;
}

static inline void get_time(struct event_decode_decoder *decoder, uint32_t context, struct hs_event *event, int is_free)
{
    struct hs_model *model = &decoder->model;
    unsigned column = hs_time_column(model, context, is_free);
    unsigned symbol = get(decoder, column);
    decoder->time += number_value(decoder, symbol);
    hs_model_learn_time(model, context, symbol);
    event->time = decoder->time;
}

static uint64_t get_old(struct event_decode_decoder *decoder)
{
    struct hs_model *model = &decoder->model;
    unsigned symbol = get(decoder, HS_COLUMN_OLD), cursor = 0;
    uint64_t unit;
    if (symbol == HS_OLD_STEP) {
        unit = model->old_cursor[0] + model->old_step;
    } else if (symbol < HS_OLD_COUNT) {
        int down = symbol >= HS_OLD_DOWN;
        uint64_t distance = get_number(decoder, HS_COLUMN_OLD_DISTANCE);
        cursor = symbol - (down ? HS_OLD_DOWN : HS_OLD_UP);
        unit = model->old_cursor[cursor] + (down ? 0 - distance : distance);
    } else {
        decoder->damaged = 1;
        return 0;
    }
    hs_model_old_freed(model, cursor, unit);
    return unit;
}

// The live block of `local` that a rank names; 0 when there is none.
static inline uint32_t ranked_block(struct event_decode_decoder *decoder, uint32_t local, unsigned rank)
{
    const struct hs_model *model = &decoder->model;
    uint32_t number;
    if (rank == HS_RANK_BLOCK) {
        number = get_block(decoder, HS_COLUMN_BLOCK);
    } else if (rank == HS_RANK_OLDEST) {
        number = model->stack[local].oldest;
    } else {
        number = model->stack[local].newest;
        for (; rank && number; rank--)
            number = model->block[number].next;
    }
    if (!number || model->block[number].state != HS_BLOCK_LIVE) {
        decoder->damaged = 1;
        return 0;
    }
    return number;
}

static inline uint64_t unit_address(const struct event_decode_decoder *decoder, uint64_t unit)
{
    return unit << decoder->model.address_shift;
}

static void get_free_stack(struct event_decode_decoder *decoder, uint32_t local, struct hs_event *event)
{
    struct hs_model *model = &decoder->model;
    unsigned symbol = get(decoder, HS_COLUMN_FREE_STACK);
    if (symbol == HS_FREE_STACK_NONE)
        return;
    if (symbol == HS_FREE_STACK_SAME) {
        event->stack = model->stack[local].free_stack;
    } else {
        uint32_t distance = (uint32_t)get_number(decoder, HS_COLUMN_FREE_STACK_DISTANCE);
        event->stack = model->last_free_stack + (symbol == HS_FREE_STACK_DOWN ? 0 - distance : distance);
    }
    model->last_free_stack = model->stack[local].free_stack = event->stack;
}

// `number`: the live block, 0 for an older one.
static inline void decode_free(struct event_decode_decoder *decoder, uint32_t number, struct hs_event *event)
{
    struct hs_model *model = &decoder->model;
    event->kind = HS_EVENT_FREE;
    if (!number) {
        uint64_t unit = get_old(decoder);
        hs_model_add_unknown(model, unit);
        event->address = unit_address(decoder, unit);
        return;
    }
    event->address = unit_address(decoder, hs_block_unit(&model->block[number]));
    hs_model_unlink_live(model, number);
    hs_model_add_freed(model, number);
}

static inline uint32_t get_fresh_stack(struct event_decode_decoder *decoder)
{
    const struct hs_model *model = &decoder->model;
    unsigned symbol = get(decoder, HS_COLUMN_FRESH);
    uint32_t distance = (uint32_t)get_number(decoder, HS_COLUMN_FRESH_DISTANCE);
    if (symbol == HS_FRESH_ABOVE)
        return model->max_stack + 1 + distance;
    return model->last_stack + (symbol == HS_FRESH_DOWN ? 0 - distance : distance);
}

static inline uint32_t get_size(struct event_decode_decoder *decoder, struct hs_local_stack *local, int fresh)
{
    if (fresh || get(decoder, HS_COLUMN_SIZE_SAME)) {
        uint32_t high = (uint32_t)get_number(decoder, HS_COLUMN_SIZE_HIGH);
        local->size = high << 3 | (get(decoder, HS_COLUMN_SIZE_LOW) & 7);
    }
    return local->size;
}

static uint32_t get_old_block(struct event_decode_decoder *decoder, uint32_t local)
{
    struct hs_model *model = &decoder->model;
    unsigned rank = get(decoder, HS_COLUMN_REALLOC);
    if (rank >= HS_RANK_OLD) {
        uint32_t number = hs_model_new_block(model, get_old(decoder), 0, HS_BLOCK_GONE);
        model->block[number].stack = 0;
        return number;
    }
    uint32_t number = ranked_block(decoder, local, rank);
    if (number)
        hs_model_unlink_live(model, number);
    return number;
}

static inline uint64_t get_distant_place(struct event_decode_decoder *decoder, unsigned symbol, uint64_t usable)
{
    struct hs_model *model = &decoder->model;
    unsigned cursor = (symbol - HS_PLACE_CURSOR) & (HS_CURSORS - 1);
    uint64_t distance = 0;
    if (symbol >= HS_PLACE_UP) {
        cursor = (symbol - HS_PLACE_UP) & (HS_CURSORS - 1);
        distance = get_number(decoder, HS_COLUMN_PLACE_DISTANCE);
        if (symbol >= HS_PLACE_DOWN)
            distance = 0 - distance;
    }
    uint64_t unit = model->cursor[cursor] + distance;
    hs_cursor_push(model->cursor, cursor, hs_block_end(model, unit, usable));
    return unit;
}

static inline __attribute__((always_inline)) uint64_t get_place(struct event_decode_decoder *decoder, uint64_t usable,
                                                                uint32_t old, uint32_t local)
{
    struct hs_model *model = &decoder->model;
    unsigned size_class = hs_size_class(model, usable);
    uint16_t *head = &model->class_head[size_class];
    unsigned symbol = get(decoder, HS_COLUMN_PLACE + (*head != 0));
    uint32_t number = 0;
    uint64_t unit;
    if (symbol < HS_PLACE_UNKNOWN) {
        number = hs_model_take(model, head, symbol - HS_PLACE_CLASS);
    } else if (symbol < HS_PLACE_CURSOR) {
        number = hs_model_take(model, &model->unknown_head, symbol - HS_PLACE_UNKNOWN);
    } else if (symbol == HS_PLACE_BLOCK) {
        number = get_block(decoder, HS_COLUMN_PLACE_BLOCK);
        if (model->block[number].state < HS_BLOCK_FREED)
            decoder->damaged = 1;
        else
            model->block[number].state = HS_BLOCK_GONE;
    } else if (symbol == HS_PLACE_SAME) {
        number = old;
    }
    if (symbol <= HS_PLACE_BLOCK && (symbol < HS_PLACE_CURSOR || symbol == HS_PLACE_BLOCK) && !number)
        decoder->damaged = 1;
    if (symbol < HS_PLACE_CURSOR || symbol == HS_PLACE_BLOCK || symbol == HS_PLACE_SAME)
        unit = hs_block_unit(&model->block[number]);
    else if (symbol < HS_PLACE_COUNT)
        unit = get_distant_place(decoder, symbol, usable);
    else
        unit = 0, decoder->damaged = 1;
    hs_model_add_live(model, unit, size_class, local);
    return unit;
}

// The local stack of an allocation that no guess named.
static inline uint32_t get_stack(struct event_decode_decoder *decoder, unsigned op)
{
    struct hs_model *model = &decoder->model;
    if (op == HS_OP_ALLOC_FRESH) {
        if (model->stack_count + 2 > HS_MAX_STACKS) {
            decoder->damaged = 1;
            return 0;
        }
        uint32_t id = get_fresh_stack(decoder);
        return hs_model_new_stack(model, id, get(decoder, HS_COLUMN_FORM) % HS_FORM_COUNT);
    }
    uint32_t local = model->block[get_block(decoder, HS_COLUMN_STACK)].stack;
    if (op == HS_OP_ALLOC_FORM && local)
        model->stack[local].form = get(decoder, HS_COLUMN_FORM) % HS_FORM_COUNT;
    return local;
}

static inline __attribute__((always_inline)) void decode_allocation(struct event_decode_decoder *decoder, unsigned op,
                                                                    uint32_t local, struct hs_event *event,
                                                                    uint64_t *since)
{
    struct hs_model *model = &decoder->model;
    struct hs_local_stack *stack = &model->stack[local];
    unsigned form = stack->form, kind = form % HS_FORM_USABLE;
    uint32_t old = 0;
    model->last_stack = stack->id;
    event->kind = (uint8_t)(HS_EVENT_MALLOC + kind);
    event->stack = stack->id;
    event->size = get_size(decoder, stack, op == HS_OP_ALLOC_FRESH);
    event->usable = hs_usable_model(event->size, model->pointer_size);
    if (form >= HS_FORM_USABLE)
        event->usable += hs_unzigzag(get_number(decoder, HS_COLUMN_USABLE));
    if (kind == HS_FORM_REALLOC) {
        *since = get_number(decoder, HS_COLUMN_SINCE);
        old = get_old_block(decoder, local);
        event->old_address = unit_address(decoder, hs_block_unit(&model->block[old]));
    }
    uint64_t unit = get_place(decoder, event->usable, old, local);
    event->address = unit_address(decoder, unit);
    if (old && event->address != event->old_address)
        hs_model_add_freed(model, old);
}

// One escape: the rare records. An unknown type gives an event of kind 0.
static void decode_escape(struct event_decode_decoder *decoder, struct hs_event *event)
{
    uint64_t words[HS_WIDE_WORDS] = {0}, head = 0, word = 0;
    const uint8_t *at = hs_varint_get(decoder->escape, decoder->escape_end, &head);
    unsigned count = head >> 8 & 0xff;
    for (unsigned i = 0; at && i < count; i++) {
        at = hs_varint_get(at, decoder->escape_end, &word);
        if (i < HS_WIDE_WORDS)
            words[i] = word;
    }
    if (!at) {
        decoder->damaged = 1;
        return;
    }
    decoder->escape = at;
    get_time(decoder, hs_context3(&decoder->model), event, 1);
    hs_wide_event(head & 0xff, words, count, event);
}

// Decodes the next event into one that is all zero; event->kind stays 0 for one that this version does not know.
static inline __attribute__((always_inline)) void decode_event(struct event_decode_decoder *decoder,
                                                               struct hs_event *event)
{
    struct hs_model *model = &decoder->model;
    unsigned op = get(decoder, HS_COLUMN_OP + model->op_context);
    uint32_t c3 = hs_context3(model), c2 = hs_context2(model), c1 = hs_context1(model), token = 0;
    if (op < HS_OP_ALLOC) {
        token = op == HS_OP_GUESS_3   ? model->context3[c3]
                : op == HS_OP_GUESS_2 ? model->context2[c2]
                                      : model->context1[c1];
        decoder->damaged |= !token;
    } else if (op == HS_OP_ALLOC || op == HS_OP_ALLOC_FORM || op == HS_OP_ALLOC_FRESH) {
        token = get_stack(decoder, op);
        decoder->damaged |= !token;
    } else if (op == HS_OP_ESCAPE) {
        model->op_context = hs_next_op_context(op, 0);
        decode_escape(decoder, event);
        return;
    } else if (op >= HS_OP_COUNT) {
        decoder->damaged = 1;
    }
    if (decoder->damaged)
        return;
    int is_free = op == HS_OP_FREE || op == HS_OP_FREE_OLD || (token & HS_TOKEN_FREE);
    uint64_t since = 0;
    uint32_t local = token & ~HS_TOKEN_FREE;
    model->op_context = hs_next_op_context(op, is_free);
    if (is_free) {
        uint32_t number = 0;
        if (op == HS_OP_FREE) {
            // The distance names the block, the block its stack.
            number = get_block(decoder, HS_COLUMN_BLOCK);
            local = model->block[number].stack;
            if (model->block[number].state != HS_BLOCK_LIVE)
                decoder->damaged = 1;
        } else if (local) {
            number = ranked_block(decoder, local, get(decoder, HS_COLUMN_RANK));
        }
        if (decoder->damaged)
            return;
        decode_free(decoder, number, event);
        token = HS_TOKEN_FREE | local;
    } else {
        decode_allocation(decoder, op, local, event, &since);
    }
    hs_model_learn(model, c3, c2, c1, token);
    get_time(decoder, c3, event, is_free);
    if (is_free && decoder->free_stacks)
        get_free_stack(decoder, local, event);
    if (event->kind == HS_EVENT_REALLOC)
        event->begin_time = event->time - since;
}

// `at`: behind the version.
static const uint8_t *open_modelled(struct event_decode_decoder *decoder, const uint8_t *at, const uint8_t *end,
                                    uint64_t *count)
{
    uint64_t bits_length, escape_length;
    int packed = *at & HS_PAYLOAD_BIT_PACKED;
    decoder->free_stacks = *at & HS_PAYLOAD_FREE_STACKS;
    at = hs_varint_get(at + 1, end, count);
    at = at ? hs_varint_get(at, end, &decoder->time) : NULL;
    at = at ? hs_varint_get(at, end, &bits_length) : NULL;
    at = at ? hs_varint_get(at, end, &escape_length) : NULL;
    if (at && packed)
        at = hs_columns_unpack(decoder->column, HS_COLUMN_COUNT, decoder->symbols, POOL_SIZE, at, end);
    else if (at)
        at = hs_entropy_decode(decoder->column, HS_COLUMN_COUNT, &decoder->entropy, decoder->symbols, POOL_SIZE, at,
                               end);
    if (!at || *count > HS_CODEC_MAX_EVENTS || bits_length > (uint64_t)(end - at) ||
        escape_length != (uint64_t)(end - at) - bits_length)
        return NULL;
    hs_bits_open(&decoder->bits, at, at + bits_length);
    decoder->escape = at + bits_length;
    decoder->escape_end = end;
    for (unsigned c = 0; c < HS_COLUMN_COUNT; c++) {
        decoder->next[c] = decoder->column[c].symbol;
        decoder->end[c] = decoder->column[c].symbol + decoder->column[c].count;
    }
    return at;
}

// Returns how many events there are, or 0 when the payload makes no sense.
static uint64_t start(struct event_decode_decoder *decoder, const struct hs_codec_target *target,
                      const uint8_t *payload, size_t length)
{
    uint64_t count;
    decoder->damaged = 1;
    decoder->bits.missing = 0;
    decoder->fast = NULL;
    if (length < 2)
        return 0;
    if (payload[0] == HS_FAST_VERSION) {
        decoder->fast = (struct hs_fast_reader *)decoder->symbols;
        count = hs_fast_reader__start(decoder->fast, target, payload + 1, length - 1);
        decoder->damaged = decoder->fast->damaged;
        return count;
    }
    if (payload[0] != HS_CODEC_VERSION || !open_modelled(decoder, payload + 1, payload + length, &count))
        return 0;
    hs_model_start(&decoder->model, target);
    decoder->damaged = 0;
    return count;
}

// Decodes the next event as decode_event() does. Returns whether it made sense.
static inline __attribute__((always_inline)) int next_event(struct event_decode_decoder *decoder,
                                                            struct hs_event *event)
{
    if (decoder->fast) {
        hs_fast_reader__next(decoder->fast, event);
        decoder->damaged = decoder->fast->damaged;
    } else {
        decode_event(decoder, event);
    }
    return !decoder->damaged && !decoder->bits.missing;
}

size_t hs_events_decode(const struct hs_codec_target *target, const uint8_t *payload, size_t length, void *scratch,
                        struct hs_event *events, size_t max, int *damaged)
{
    struct event_decode_decoder *decoder = scratch;
    size_t delivered = 0;
    for (uint64_t left = start(decoder, target, payload, length); left && delivered < max; left--) {
        struct hs_event *event = &events[delivered];
        *event = (struct hs_event){0};
        if (!next_event(decoder, event))
            break;
        delivered += event->kind != 0;
    }
    *damaged = decoder->damaged || decoder->bits.missing;
    return delivered;
}

size_t hs_events_decode_brief(const struct hs_codec_target *target, const uint8_t *payload, size_t length,
                              void *scratch, struct hs_brief_event *events, size_t max, struct hs_event *wide,
                              size_t *wides, int *damaged)
{
    struct event_decode_decoder *decoder = scratch;
    size_t delivered = 0;
    *wides = 0;
    *wide = (struct hs_event){0};
    for (uint64_t left = start(decoder, target, payload, length); left && delivered < max; left--) {
        // The next event overwrites all members of a brief event except these.
        struct hs_event *event = &wide[*wides];
        event->address = event->size = event->usable = 0;
        event->stack = 0;
        event->kind = 0;
        if (!next_event(decoder, event))
            break;
        hs_event_shorten(event, &events[delivered]);
        if (__builtin_expect(!hs_event_is_wide(event), 1)) {
            delivered++;
            continue;
        }
        if (event->kind) {
            events[delivered].kind = HS_BRIEF_WIDE;
            events[delivered++].size = (uint32_t)(*wides)++;
        }
        wide[*wides] = (struct hs_event){0};
    }
    *damaged = decoder->damaged || decoder->bits.missing;
    return delivered;
}
