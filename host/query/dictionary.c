// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/dictionary.h"

#include "host/query/block.h"
#include "host/query/drop_pages.h"
#include "host/query/scan.h"
#include "host/query/scratch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct hs_dictionary_limits hs_dictionary_limits = {64, (uint64_t)1 << 20};

// There may be this many in any case.
enum { FEW_CODES = 4096 };

// ---- making --------------------------------------------------------------------------------------------------------

struct dictionary_making {
    struct hs_dictionary *dictionary;
    size_t most;
    uint32_t *slot; // code + 1
    size_t slots;
    struct hs_column_block block;
    struct hs_packed_writer writer;
    uint64_t of_row[HS_PACKED_BLOCK];
};

static uint64_t hash_of(const struct hs_code *code)
{
    uint64_t hash = (code->size << 16 ^ code->state ^ (uint64_t)code->freed << 15) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 32 ^ code->stack ^ (uint64_t)code->stream << 32) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ hash >> 32) + (code->usable - code->size) * 0x94d049bb133111ebu;
    return hash ^ hash >> 32;
}

static bool equals(const struct hs_code *a, const struct hs_code *b)
{
    return a->stack == b->stack && a->size == b->size && a->usable == b->usable && a->stream == b->stream &&
           a->state == b->state && a->freed == b->freed;
}

// UINT32_MAX: there are too many.
static uint32_t code_of(struct dictionary_making *making, const struct hs_code *code)
{
    struct hs_dictionary *dictionary = making->dictionary;
    size_t slot = hash_of(code) & (making->slots - 1);
    for (; making->slot[slot]; slot = (slot + 1) & (making->slots - 1))
        if (equals(&dictionary->code[making->slot[slot] - 1], code))
            return making->slot[slot] - 1;
    if (dictionary->count == making->most)
        return UINT32_MAX;
    dictionary->code[dictionary->count++] = *code;
    making->slot[slot] = (uint32_t)dictionary->count;
    return (uint32_t)dictionary->count - 1;
}

static int add_block(struct dictionary_making *making)
{
    struct hs_column_block *block = &making->block;
    const unsigned pointer_size = block->columns->pointer_size;
    const uint64_t *end = hs_column_block__column(block, HS_BLOCK_FREE_TIME);
    const uint64_t *size = hs_column_block__column(block, HS_BLOCK_SIZE);
    const uint64_t *slack = hs_column_block__column(block, HS_BLOCK_SLACK);
    const uint64_t *stack = making->dictionary->by_stacks ? hs_column_block__column(block, HS_BLOCK_STACK) : NULL;
    const uint64_t *state = hs_column_block__column(block, HS_BLOCK_STATE);
    const uint64_t *stream = hs_column_block__column(block, HS_BLOCK_STREAM);
    for (size_t i = 0; i < block->count; i++) {
        const struct hs_code code = {.size = size[i],
                                     .usable = size[i] + hs_row__stored_slack(slack[i], size[i], pointer_size),
                                     .stack = stack ? (uint32_t)stack[i] : 0,
                                     .stream = (uint32_t)stream[i],
                                     .state = (uint16_t)state[i],
                                     .freed = end[i] != HS_NEVER};
        uint32_t number = code_of(making, &code);
        if (number == UINT32_MAX)
            return -E2BIG;
        making->dictionary->code[number].rows++;
        making->of_row[i] = number;
    }
    hs_packed_writer__add(&making->writer, making->of_row, block->count);
    return 0;
}

static int add_rows(struct dictionary_making *making, const struct hs_query_control *control)
{
    const int *cancel = control ? control->cancel : NULL;
    const uint64_t rows = hs_store__columns(making->dictionary->store)->rows;
    int failed = 0;
    for (uint64_t block = 0; !failed && block * HS_PACKED_BLOCK < rows; block++) {
        hs_column_block__move_to(&making->block, block);
        failed = cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED) ? -ECANCELED : add_block(making);
        hs_columns__drop_pages_behind(making->block.columns, block);
    }
    return failed;
}

static int write_codes(struct dictionary_making *making, const struct hs_query_control *control)
{
    struct hs_scratch scratch;
    int failed = hs_scratch__make(&scratch, "dictionary");
    if (!failed)
        failed = hs_packed_writer__create(&making->writer, scratch.fd, "codes");
    if (!failed && (failed = add_rows(making, control)))
        hs_packed_writer__abandon(&making->writer);
    else if (!failed)
        failed = hs_packed_writer__finish(&making->writer);
    if (!failed)
        failed = hs_packed__open(&making->dictionary->of_row, scratch.fd, "codes",
                                 hs_store__columns(making->dictionary->store)->rows);
    hs_scratch__unlink(&scratch, "codes");
    hs_scratch__remove(&scratch);
    return failed;
}

static int make_room(struct dictionary_making *making)
{
    const uint64_t rows = hs_store__columns(making->dictionary->store)->rows;
    const uint64_t most = rows / hs_dictionary_limits.rows + FEW_CODES;
    making->most = most < hs_dictionary_limits.codes ? most : hs_dictionary_limits.codes;
    for (making->slots = 1; making->slots < 2 * making->most;)
        making->slots *= 2;
    making->dictionary->code = malloc((making->most + 1) * sizeof(*making->dictionary->code));
    making->slot = calloc(making->slots, sizeof(*making->slot));
    return making->dictionary->code && making->slot ? 0 : -ENOMEM;
}

int hs_dictionary__make(struct hs_dictionary **result, const struct hs_store *store,
                        const struct hs_query_control *control, struct hs_error *error)
{
    *result = NULL;
    if (hs_store__summary(store)->is_aggregate)
        return hs_query__refuse_aggregate(error);
    struct hs_dictionary *dictionary = calloc(1, sizeof(*dictionary));
    struct dictionary_making *making = calloc(1, sizeof(*making));
    int failed = dictionary && making ? 0 : -ENOMEM;
    if (!failed) {
        dictionary->store = store;
        dictionary->by_stacks = true;
        making->dictionary = dictionary;
        failed = hs_column_block__create(&making->block, hs_store__columns(store));
    }
    if (!failed)
        failed = make_room(making);
    if (!failed)
        failed = write_codes(making, control);
    if (failed == -E2BIG && dictionary->count) {
        dictionary->by_stacks = false;
        dictionary->count = 0;
        memset(making->slot, 0, making->slots * sizeof(*making->slot));
        failed = write_codes(making, control);
    }
    if (making) {
        hs_column_block__free(&making->block);
        free(making->slot);
    }
    free(making);
    if (!failed) {
        *result = dictionary;
        return 0;
    }
    hs_dictionary__destroy(dictionary);
    return hs_error__set(error, -failed, "dictionary: %s", strerror(-failed));
}

uint64_t hs_dictionary__bytes(const struct hs_dictionary *dictionary)
{
    return (dictionary->count + 1) * sizeof(*dictionary->code);
}

void hs_dictionary__destroy(struct hs_dictionary *dictionary)
{
    if (!dictionary)
        return;
    if (dictionary->of_row.bytes)
        hs_packed__close(&dictionary->of_row);
    free(dictionary->code);
    free(dictionary);
}

// ---- asking --------------------------------------------------------------------------------------------------------

bool hs_dictionary__knows(const struct hs_dictionary *dictionary, const struct hs_store *store,
                          const struct hs_filter *filter)
{
    struct hs_filter rest = hs_filter__without_states(filter);
    rest.streams = (struct hs_set){0};
    return dictionary && dictionary->store == store && (dictionary->by_stacks || !filter->stacks.words) &&
           hs_filter__asks_only_stacks(&rest);
}

uint64_t hs_dictionary__count(const struct hs_dictionary *dictionary, const struct hs_filter *filter)
{
    uint64_t rows = 0;
    for (size_t i = 0; i < dictionary->count; i++)
        rows += hs_code__matches(&dictionary->code[i], filter) ? dictionary->code[i].rows : 0;
    return rows;
}

bool hs_code__matches(const struct hs_code *code, const struct hs_filter *filter)
{
    return hs_filter__matches_state(filter, code->state, code->freed) && code->size >= filter->size_min &&
           code->size <= filter->size_max && (!filter->stacks.words || hs_set__has(&filter->stacks, code->stack)) &&
           (!filter->streams.words || hs_set__has(&filter->streams, code->stream));
}
