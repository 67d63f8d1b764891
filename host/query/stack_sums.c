// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/stack_sums.h"

#include "host/base/numbers.h"
#include "host/query/block.h"
#include "host/query/drop_pages.h"
#include "host/query/large_pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// The columns of a block that are added up.
struct addends {
    const uint64_t *time, *end, *size, *slack, *stack, *state;
    unsigned pointer_size;
};

// Sums lie all over: they are fetched some rows before they are needed.
#define AHEAD 8

static bool is_in_heap(uint64_t state)
{
    return hs_kind_domain(hs_row__kind_of_state(state)) == HS_DOMAIN_HEAP;
}

static uint32_t new_place(struct hs_stack_sums *sums, uint32_t stack)
{
    sums->sum[++sums->count] =
        (struct hs_stack_sum){.size_min = UINT64_MAX, .first_time = UINT64_MAX, .lifetime_min = UINT64_MAX};
    return sums->place[stack] = (uint32_t)sums->count;
}

// The position of each row's sums; 0: the row is not in the heap.
static void find_places(struct hs_stack_sums *sums, const struct addends *addends, size_t count, uint32_t *place)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t next = i + AHEAD < count ? addends->stack[i + AHEAD] : 0;
        __builtin_prefetch(&sums->place[next < sums->stacks ? next : 0]);
        uint32_t stack = addends->stack[i] < sums->stacks ? (uint32_t)addends->stack[i] : 0;
        place[i] = 0;
        if (is_in_heap(addends->state[i]))
            place[i] = sums->place[stack] ? sums->place[stack] : new_place(sums, stack);
    }
}

static inline void add_end(struct hs_stack_sum *sum, uint64_t size, uint64_t slack, uint64_t time, uint64_t end)
{
    if (end == HS_NEVER) {
        sum->live_bytes += size;
        sum->live_slack += slack;
        sum->live_count++;
        return;
    }
    uint64_t lifetime = end - time;
    sum->lifetime_sum = hs_lifetimes__add(sum->lifetime_sum, lifetime);
    sum->lifetime_min = hs_number__least(sum->lifetime_min, lifetime);
    sum->lifetime_max = hs_number__most(sum->lifetime_max, lifetime);
}

static inline void add_row(struct hs_stack_sum *sum, const struct addends *addends, size_t i)
{
    uint64_t size = addends->size[i], slack = hs_row__stored_slack(addends->slack[i], size, addends->pointer_size);
    unsigned flags = hs_row__flags_of_state(addends->state[i]);
    uint64_t at_peak = (flags & HS_ROW_AT_PEAK) != 0, temporary = (flags & HS_ROW_TEMPORARY) != 0;
    sum->allocated_bytes += size;
    sum->allocated_slack += slack;
    sum->allocated_count++;
    sum->peak_bytes += size & (0 - at_peak);
    sum->peak_slack += slack & (0 - at_peak);
    sum->peak_count += (uint32_t)at_peak;
    sum->temporary_bytes += size & (0 - temporary);
    sum->temporary_count += (uint32_t)temporary;
    sum->size_min = hs_number__least(sum->size_min, size);
    sum->size_max = hs_number__most(sum->size_max, size);
    sum->first_time = hs_number__least(sum->first_time, addends->time[i]);
    sum->last_time = hs_number__most(sum->last_time, addends->time[i]);
    add_end(sum, size, slack, addends->time[i], addends->end[i]);
}

static void add_rows(struct hs_stack_sums *sums, const struct addends *addends, size_t count)
{
    uint32_t place[HS_PACKED_BLOCK + AHEAD] = {0};
    find_places(sums, addends, count, place);
    for (size_t i = 0; i < count; i++) {
        const char *next = (const char *)&sums->sum[place[i + AHEAD]];
        __builtin_prefetch(next, 1);
        __builtin_prefetch(next + 64, 1);
        if (place[i])
            add_row(&sums->sum[place[i]], addends, i);
    }
}

static struct addends addends_of(struct hs_column_block *block)
{
    return (struct addends){.time = hs_column_block__column(block, HS_BLOCK_TIME),
                            .end = hs_column_block__column(block, HS_BLOCK_FREE_TIME),
                            .size = hs_column_block__column(block, HS_BLOCK_SIZE),
                            .slack = hs_column_block__column(block, HS_BLOCK_SLACK),
                            .stack = hs_column_block__column(block, HS_BLOCK_STACK),
                            .state = hs_column_block__column(block, HS_BLOCK_STATE),
                            .pointer_size = block->columns->pointer_size};
}

static void add_block(struct hs_stack_sums *sums, struct hs_column_block *block)
{
    const struct addends addends = addends_of(block);
    add_rows(sums, &addends, block->count);
}

// ---- rows that match -----------------------------------------------------------------------------------------------

static uint32_t stack_of(const struct hs_stack_sums *sums, uint64_t stack)
{
    return stack < sums->stacks ? (uint32_t)stack : 0;
}

static void find_matching(struct hs_stack_sums *sums, const struct addends *addends, const struct hs_matcher *matcher,
                          uint32_t *place)
{
    for (size_t n = 0; n < matcher->count; n++) {
        const size_t ahead = n + AHEAD < matcher->count ? n + AHEAD : n;
        __builtin_prefetch(&sums->place[stack_of(sums, addends->stack[matcher->place[ahead]])]);
        const uint32_t stack = stack_of(sums, addends->stack[matcher->place[n]]);
        place[n] = sums->place[stack] ? sums->place[stack] : new_place(sums, stack);
    }
}

static void add_many(struct hs_stack_sums *sums, struct hs_matcher *matcher)
{
    uint32_t place[HS_PACKED_BLOCK + AHEAD] = {0};
    const struct addends addends = addends_of(&matcher->block);
    find_matching(sums, &addends, matcher, place);
    for (size_t n = 0; n < matcher->count; n++) {
        const char *next = (const char *)&sums->sum[place[n + AHEAD]];
        __builtin_prefetch(next, 1);
        __builtin_prefetch(next + 64, 1);
        add_row(&sums->sum[place[n]], &addends, matcher->place[n]);
    }
}

static void add_few(struct hs_stack_sums *sums, const struct hs_matcher *matcher)
{
    const struct hs_columns *columns = matcher->block.columns;
    for (size_t n = 0; n < matcher->count; n++) {
        const uint64_t row = hs_matcher__row(matcher, n);
        const uint64_t time = hs_row__time(columns, row), end = hs_row__free_time(columns, row);
        const uint64_t size = hs_row__size(columns, row), slack = hs_packed__at(&columns->slack, row);
        const uint64_t state = hs_packed__at(&columns->state, row);
        const struct addends addends = {.time = &time,
                                        .end = &end,
                                        .size = &size,
                                        .slack = &slack,
                                        .state = &state,
                                        .pointer_size = columns->pointer_size};
        const uint32_t stack = stack_of(sums, hs_row__stack(columns, row));
        add_row(&sums->sum[sums->place[stack] ? sums->place[stack] : new_place(sums, stack)], &addends, 0);
    }
}

#define FEW (HS_PACKED_BLOCK / 16)

void hs_stack_sums__add(struct hs_stack_sums *sums, struct hs_matcher *matcher)
{
    if (matcher->count > FEW)
        add_many(sums, matcher);
    else
        add_few(sums, matcher);
}

// ---- a part of the heap --------------------------------------------------------------------------------------------

int hs_stack_sums__start(struct hs_stack_sums *sums, const struct hs_store *store, uint64_t most)
{
    *sums = (struct hs_stack_sums){0};
    hs_store__nodes(store, &sums->stacks);
    sums->stacks += !sums->stacks;
    const uint64_t places = hs_number__least(most, sums->stacks) + 1;
    sums->place = hs_large_pages__get(sums->stacks * sizeof *sums->place);
    sums->sum = hs_large_pages__get(places * sizeof *sums->sum);
    if (!sums->place || !sums->sum) {
        hs_stack_sums__free(sums);
        return -ENOMEM;
    }
    // Written before it is read: a page that was only read is exchanged when it is written, and each time all
    // processors have to hear of it.
    memset(sums->place, 0, sums->stacks * sizeof *sums->place);
    return 0;
}

int hs_stack_sums__create(struct hs_stack_sums *sums, const struct hs_store *store, uint64_t first, uint64_t end)
{
    const struct hs_columns *columns = hs_store__columns(store);
    struct hs_column_block block;
    int failed = hs_column_block__create(&block, columns);
    if (failed || hs_stack_sums__start(sums, store, end - first)) {
        hs_column_block__free(&block);
        return -ENOMEM;
    }
    for (; first < end; first += HS_PACKED_BLOCK) {
        hs_column_block__move_to(&block, first / HS_PACKED_BLOCK);
        add_block(sums, &block);
        hs_columns__drop_pages_behind(columns, first / HS_PACKED_BLOCK);
    }
    hs_column_block__free(&block);
    return 0;
}

void hs_stack_sums__free(struct hs_stack_sums *sums)
{
    free(sums->place);
    free(sums->sum);
    *sums = (struct hs_stack_sums){0};
}

void hs_stack_sums__total(const struct hs_stack_sums *sums, uint32_t stack, struct hs_total *total)
{
    const struct hs_stack_sum *sum = &sums->sum[sums->place[stack]];
    *total = (struct hs_total){.stack = stack,
                               .allocated_bytes = sum->allocated_bytes,
                               .allocated_usable = sum->allocated_bytes + sum->allocated_slack,
                               .allocated_count = sum->allocated_count,
                               .live_bytes = sum->live_bytes,
                               .live_usable = sum->live_bytes + sum->live_slack,
                               .live_count = sum->live_count,
                               .peak_bytes = sum->peak_bytes,
                               .peak_usable = sum->peak_bytes + sum->peak_slack,
                               .peak_count = sum->peak_count,
                               .temporary_bytes = sum->temporary_bytes,
                               .temporary_count = sum->temporary_count,
                               .freed_bytes = sum->allocated_bytes - sum->live_bytes,
                               .freed_count = sum->allocated_count - sum->live_count,
                               .size_min = sum->size_min,
                               .size_max = sum->size_max,
                               .first_time = sum->first_time,
                               .last_time = sum->last_time,
                               .lifetime_min = sum->lifetime_min,
                               .lifetime_max = sum->lifetime_max,
                               .lifetime_sum = sum->lifetime_sum};
}
