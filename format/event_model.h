// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the encoder and the decoder of EVENTS payloads both know while they go through the events of a chunk, and how
// that knowledge changes with each event. docs/format.md, "Encoded events", describes it; both sides must do exactly
// the same steps, so the steps are here.
#ifndef HEAPSONDE_FORMAT_EVENT_MODEL_H
#define HEAPSONDE_FORMAT_EVENT_MODEL_H

#include "format/event_codec.h"

#define HS_CODEC_VERSION 1

// ---- numbers as symbol and extra bits ----------------------------------------------------------------------------

// Values below 16 are their own symbol; above, the symbol gives the highest set bit and the two bits below it, and the
// remaining bits follow raw. 256 symbols cover 64 bits.
static inline unsigned hs_number_extra_bits(unsigned symbol)
{
    return symbol < 16 ? 0 : (symbol >> 2) - 2;
}

static inline unsigned hs_number_symbol(uint64_t value)
{
    if (value < 16)
        return (unsigned)value;
    unsigned top = 63 ^ (unsigned)__builtin_clzll(value);
    return 4 * top - 4 + (unsigned)(value >> (top - 2)); // the highest bit adds the missing 4
}

static inline uint64_t hs_number_base(unsigned symbol)
{
    return symbol < 16 ? symbol : (uint64_t)(4 | ((symbol - 16) & 3)) << (((symbol - 16) >> 2) + 2);
}

static inline uint64_t hs_zigzag(uint64_t difference)
{
    return (difference << 1) ^ (0 - (difference >> 63));
}

static inline uint64_t hs_unzigzag(uint64_t value)
{
    return (value >> 1) ^ (0 - (value & 1));
}

// ---- columns -------------------------------------------------------------------------------------------------------

// Each symbol of an event goes to the column that its context selects; each column has its own frequencies.
enum hs_event_column {
    HS_COLUMN_OP = 0,     // 4 columns, by the previous event (hs_model.op_context)
    HS_COLUMN_TIME = 4,   // 8 columns: alloc or free, and the magnitude of the last time in this context
    HS_COLUMN_RANK = 12,  // predicted free: which live block of that stack
    HS_COLUMN_BLOCK = 13, // free of a block of this chunk: distance
    HS_COLUMN_OLD = 14,   // free of an older block: from where
    HS_COLUMN_OLD_DISTANCE = 15,
    HS_COLUMN_STACK = 16, // stack seen in this chunk: distance
    HS_COLUMN_FRESH = 17, // stack new in this chunk: from where
    HS_COLUMN_FRESH_DISTANCE = 18,
    HS_COLUMN_FORM = 19,
    HS_COLUMN_SIZE_SAME = 20,
    HS_COLUMN_SIZE_HIGH = 21,
    HS_COLUMN_SIZE_LOW = 22,
    HS_COLUMN_USABLE = 23,
    HS_COLUMN_PLACE = 24, // 2 columns: the size class has a free block known or not
    HS_COLUMN_PLACE_BLOCK = 26,
    HS_COLUMN_PLACE_DISTANCE = 27,
    HS_COLUMN_REALLOC = 28, // which block is reallocated
    HS_COLUMN_SINCE = 29,
    HS_COLUMN_FREE_STACK = 30,
    HS_COLUMN_FREE_STACK_DISTANCE = 31,
    HS_COLUMN_COUNT = 32
};

enum hs_op {
    HS_OP_GUESS_3 = 0, // what followed the last three events the last time
    HS_OP_GUESS_2 = 1,
    HS_OP_GUESS_1 = 2,
    HS_OP_ALLOC = 3,       // stack seen in this chunk, with the form it had
    HS_OP_FREE = 4,        // block of this chunk
    HS_OP_FREE_OLD = 5,    // older block
    HS_OP_ALLOC_FRESH = 6, // stack new in this chunk
    HS_OP_ALLOC_FORM = 7,  // stack seen in this chunk, another form
    HS_OP_ESCAPE = 8,      // words as they are
    HS_OP_COUNT = 9
};

enum { HS_RANK_WALK = 6, HS_RANK_OLDEST = 6, HS_RANK_BLOCK = 7, HS_RANK_OLD = 8, HS_RANK_COUNT = 9 };

enum {
    HS_PLACE_CLASS = 0,   // 0-7: rank in the size class's list of freed blocks
    HS_PLACE_UNKNOWN = 8, // 8-15: rank in the list of freed blocks of unknown size
    HS_PLACE_CURSOR = 16, // 16-19: exactly where cursor k stands
    HS_PLACE_BLOCK = 20,  // a freed block of this chunk, by distance
    HS_PLACE_UP = 21,     // 21-24: distance above cursor k
    HS_PLACE_DOWN = 25,   // 25-28: distance below cursor k
    HS_PLACE_SAME = 29,   // realloc in place
    HS_PLACE_COUNT = 30
};
#define HS_PLACE_WALK 8
#define HS_CURSORS    4

enum { HS_OLD_STEP = 0, HS_OLD_UP = 1, HS_OLD_DOWN = 5, HS_OLD_COUNT = 9 };
enum { HS_FREE_STACK_NONE = 0, HS_FREE_STACK_SAME = 1, HS_FREE_STACK_UP = 2, HS_FREE_STACK_DOWN = 3 };
enum { HS_PAYLOAD_FREE_STACKS = 1, HS_PAYLOAD_BIT_PACKED = 2 }; // flags of a payload
enum { HS_FRESH_ABOVE = 0, HS_FRESH_UP = 1, HS_FRESH_DOWN = 2, HS_FRESH_COUNT = 3 };

// Forms of an allocation record: kind - HS_RECORD_MALLOC, plus HS_FORM_USABLE when the usable size is explicit.
enum { HS_FORM_REALLOC = 3, HS_FORM_USABLE = 4, HS_FORM_COUNT = 8 };

// ---- state ---------------------------------------------------------------------------------------------------------

enum { HS_BLOCK_GONE = 0, HS_BLOCK_LIVE = 1, HS_BLOCK_FREED = 2, HS_BLOCK_UNKNOWN = 3 };

// A block that this chunk has mentioned. Number 0 is none. `next` and `previous` link the live blocks of one stack,
// newest first; `next` links the freed blocks of a size class, last freed first.
struct hs_event_block {
    uint32_t unit_low;
    uint16_t unit_high;
    uint8_t state;
    uint8_t size_class;
    uint16_t stack; // local number
    uint16_t next, previous;
    uint16_t reserved;
};

// A stack that this chunk has mentioned.
struct hs_local_stack {
    uint32_t id;
    uint32_t size;           // of its last allocation
    uint16_t newest, oldest; // live blocks
    uint16_t last;           // block of its last allocation
    uint8_t form;
    uint8_t reserved;
    uint32_t free_stack; // that freed a block of it last
};

#define HS_MAX_BLOCKS (HS_CODEC_MAX_EVENTS + 2)
#define HS_MAX_STACKS (HS_CODEC_MAX_EVENTS / 2 + 2)
#define HS_CONTEXTS_3 4096
#define HS_CONTEXTS_2 4096
#define HS_CONTEXTS_1 2048

// What an event was, for the contexts: the local stack of an allocation, or HS_TOKEN_FREE + the local stack of the
// freed block, or HS_TOKEN_FREE + 0 for an older block. Escapes leave the history as it is.
#define HS_TOKEN_FREE 0x2000u

struct hs_model {
    uint32_t block_count, stack_count;
    uint32_t token[3];   // of the last events, newest first
    uint32_t op_context; // which OP column is next
    uint32_t max_stack, last_stack, last_free_stack;
    uint32_t unit_bytes; // 1 << address_shift
    uint32_t pointer_size;
    uint32_t address_shift;
    uint64_t cursor[HS_CURSORS];     // ends of blocks that came from nowhere known, newest first
    uint64_t old_cursor[HS_CURSORS]; // older blocks freed, newest first
    uint64_t old_step;
    uint16_t class_head[256];
    uint16_t unknown_head;
    uint16_t context3[HS_CONTEXTS_3];
    uint16_t context2[HS_CONTEXTS_2];
    uint16_t context1[HS_CONTEXTS_1];
    uint8_t time_class[HS_CONTEXTS_3];
    struct hs_local_stack stack[HS_MAX_STACKS];
    struct hs_event_block block[HS_MAX_BLOCKS];
};

static inline void hs_model_start(struct hs_model *model, const struct hs_codec_target *target)
{
    __builtin_memset(model, 0, offsetof(struct hs_model, stack));
    // Number 0 stands for older blocks and their stack; the other entries are filled when they are added.
    model->stack[0] = (struct hs_local_stack){0};
    model->block[0] = (struct hs_event_block){0};
    model->pointer_size = target->pointer_size;
    model->address_shift = target->address_shift;
    model->unit_bytes = 1u << target->address_shift;
}

static inline uint64_t hs_block_unit(const struct hs_event_block *block)
{
    return block->unit_low | (uint64_t)block->unit_high << 32;
}

// The allocator's size class of a usable size, as far as this model tells them apart.
static inline unsigned hs_size_class(const struct hs_model *model, uint64_t usable)
{
    uint64_t units = (usable + model->pointer_size) >> (model->pointer_size == 8 ? 4 : 3);
    return units < 128 ? (unsigned)units : 128 + ((unsigned)(units * 0x9e3779b1u >> 8) & 127);
}

static inline uint32_t hs_context3(const struct hs_model *model)
{
    uint32_t hash = (model->token[0] * 0x9e3779b1u) ^ (model->token[1] * 0x85ebca77u) ^ (model->token[2] * 0xc2b2ae3du);
    return (hash ^ hash >> 15) * 0x2c1b3c6du >> 20;
}

static inline uint32_t hs_context2(const struct hs_model *model)
{
    uint32_t hash = (model->token[0] * 0x9e3779b1u) ^ (model->token[1] * 0x85ebca77u);
    return (hash ^ hash >> 15) * 0x2c1b3c6du >> 20;
}

static inline uint32_t hs_context1(const struct hs_model *model)
{
    return model->token[0] * 0x9e3779b1u >> 21;
}

static inline void hs_model_learn(struct hs_model *model, uint32_t c3, uint32_t c2, uint32_t c1, uint32_t token)
{
    model->context3[c3] = (uint16_t)token;
    model->context2[c2] = (uint16_t)token;
    model->context1[c1] = (uint16_t)token;
    model->token[2] = model->token[1];
    model->token[1] = model->token[0];
    model->token[0] = token;
}

// The TIME column of the event whose token was just learnt, and what is learnt from its time.
static inline unsigned hs_time_column(const struct hs_model *model, uint32_t context, int is_free)
{
    return HS_COLUMN_TIME + (is_free ? 4 : 0) + model->time_class[context];
}

static inline void hs_model_learn_time(struct hs_model *model, uint32_t context, unsigned symbol)
{
    model->time_class[context] = symbol < 16 + 6 ? 1 : symbol < 16 + 14 ? 2 : 3;
}

static inline unsigned hs_next_op_context(unsigned op, int is_free)
{
    return op == HS_OP_GUESS_3 ? 0 : op < HS_OP_ALLOC ? 1 : is_free ? 2 : 3;
}

// ---- lists ---------------------------------------------------------------------------------------------------------

static inline uint32_t hs_model_new_block(struct hs_model *model, uint64_t unit, unsigned size_class, unsigned state)
{
    uint32_t number = ++model->block_count;
    struct hs_event_block *block = &model->block[number];
    block->unit_low = (uint32_t)unit;
    block->unit_high = (uint16_t)(unit >> 32);
    block->state = (uint8_t)state;
    block->size_class = (uint8_t)size_class;
    return number;
}

static inline void hs_model_add_live(struct hs_model *model, uint64_t unit, unsigned size_class, uint32_t stack)
{
    uint32_t number = hs_model_new_block(model, unit, size_class, HS_BLOCK_LIVE);
    struct hs_event_block *block = &model->block[number];
    struct hs_local_stack *local = &model->stack[stack];
    block->stack = (uint16_t)stack;
    block->previous = 0;
    block->next = local->newest;
    if (local->newest)
        model->block[local->newest].previous = (uint16_t)number;
    else
        local->oldest = (uint16_t)number;
    local->newest = (uint16_t)number;
    local->last = (uint16_t)number;
}

static inline void hs_model_unlink_live(struct hs_model *model, uint32_t number)
{
    struct hs_event_block *block = &model->block[number];
    struct hs_local_stack *local = &model->stack[block->stack];
    if (block->previous)
        model->block[block->previous].next = block->next;
    else
        local->newest = block->next;
    if (block->next)
        model->block[block->next].previous = block->previous;
    else
        local->oldest = block->previous;
    block->state = HS_BLOCK_GONE;
}

static inline void hs_model_add_freed(struct hs_model *model, uint32_t number)
{
    struct hs_event_block *block = &model->block[number];
    uint16_t *head = &model->class_head[block->size_class];
    block->state = HS_BLOCK_FREED;
    block->next = *head;
    *head = (uint16_t)number;
}

static inline uint32_t hs_model_add_unknown(struct hs_model *model, uint64_t unit)
{
    uint32_t number = hs_model_new_block(model, unit, 0, HS_BLOCK_UNKNOWN);
    model->block[number].next = model->unknown_head;
    model->block[number].stack = 0;
    model->unknown_head = (uint16_t)number;
    return number;
}

// Takes the block behind `rank` others out of a freed list, dropping the entries that are gone; 0 when there is none.
static inline uint32_t hs_model_take(struct hs_model *model, uint16_t *head, unsigned rank)
{
    uint16_t *link = head;
    while (*link) {
        struct hs_event_block *block = &model->block[*link];
        if (block->state == HS_BLOCK_GONE) {
            *link = block->next;
            continue;
        }
        if (!rank--) {
            uint32_t number = *link;
            *link = block->next;
            block->state = HS_BLOCK_GONE;
            return number;
        }
        link = &block->next;
    }
    return 0;
}

// Moves cursor `used` to the front with a new value.
static inline void hs_cursor_push(uint64_t *cursor, unsigned used, uint64_t value)
{
    for (unsigned i = used; i; i--)
        cursor[i] = cursor[i - 1];
    cursor[0] = value;
}

// ---- steps that both sides take ------------------------------------------------------------------------------------

static inline uint32_t hs_model_new_stack(struct hs_model *model, uint32_t id, unsigned form)
{
    uint32_t number = ++model->stack_count;
    model->stack[number] = (struct hs_local_stack){.id = id, .form = (uint8_t)form};
    if (id > model->max_stack)
        model->max_stack = id;
    return number;
}

static inline void hs_model_old_freed(struct hs_model *model, unsigned cursor, uint64_t unit)
{
    model->old_step = unit - model->old_cursor[cursor];
    hs_cursor_push(model->old_cursor, cursor, unit);
}

static inline uint64_t hs_block_end(const struct hs_model *model, uint64_t unit, uint64_t usable)
{
    return unit + ((usable + model->pointer_size + model->unit_bytes - 1) >> model->address_shift);
}

#endif
