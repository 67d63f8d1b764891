// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/cells.h"
#include "host/query/large_pages.h"
#include "host/query/match.h"
#include "host/query/scan.h"
#include "host/query/totals_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Each worker sums into a table by stack id, found through an index that grows with the ids it meets.
struct partial {
    uint32_t *index; // by stack: place in `total` + 1
    size_t stacks;
    struct hs_total *total;
    size_t count, capacity;
};

// What is added of a row.
struct addend {
    uint64_t size, usable, time, end;
    uint8_t flags;
};

struct context {
    const struct hs_store *store;
    const struct hs_columns *columns;
    const struct hs_filter *filter;
    struct partial *partial;
    struct hs_matcher **matchers;
    size_t stacks;
    const struct hs_cells *cells; // that know all that is asked; NULL: none
};

static void start_total(struct hs_total *total, uint32_t stack)
{
    *total =
        (struct hs_total){.stack = stack, .size_min = UINT64_MAX, .first_time = UINT64_MAX, .lifetime_min = UINT64_MAX};
}

static struct hs_total *total_of(struct partial *partial, uint32_t stack)
{
    if (stack >= partial->stacks)
        stack = 0;
    uint32_t place = partial->index[stack];
    if (place)
        return &partial->total[place - 1];
    if (partial->count == partial->capacity) {
        size_t capacity = partial->capacity ? 2 * partial->capacity : 1024;
        struct hs_total *grown = realloc(partial->total, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        partial->total = grown;
        partial->capacity = capacity;
    }
    struct hs_total *total = &partial->total[partial->count++];
    partial->index[stack] = (uint32_t)partial->count;
    start_total(total, stack);
    return total;
}

static inline void add_row(struct hs_total *total, const struct addend *row)
{
    uint64_t size = row->size, usable = row->usable, time = row->time, end = row->end;
    uint8_t flags = row->flags;
    total->allocated_bytes += size;
    total->allocated_usable += usable;
    total->allocated_count++;
    if (size < total->size_min)
        total->size_min = size;
    if (size > total->size_max)
        total->size_max = size;
    if (time < total->first_time)
        total->first_time = time;
    if (time > total->last_time)
        total->last_time = time;
    if (flags & HS_ROW_AT_PEAK) {
        total->peak_bytes += size;
        total->peak_usable += usable;
        total->peak_count++;
    }
    if (flags & HS_ROW_TEMPORARY) {
        total->temporary_bytes += size;
        total->temporary_count++;
    }
    if (end == HS_NEVER) {
        total->live_bytes += size;
        total->live_usable += usable;
        total->live_count++;
        return;
    }
    uint64_t lifetime = end - time;
    total->freed_bytes += size;
    total->freed_count++;
    total->lifetime_sum = hs_lifetimes__add(total->lifetime_sum, lifetime);
    if (lifetime < total->lifetime_min)
        total->lifetime_min = lifetime;
    if (lifetime > total->lifetime_max)
        total->lifetime_max = lifetime;
}

// Totals lie all over: their places are fetched some rows before they are needed.
#define NEAR 8
#define FAR  16

#define FEW (HS_PACKED_BLOCK / 16)

static inline void look_ahead(const struct partial *partial, const struct hs_matcher *matcher, const uint64_t *stack,
                              size_t i)
{
    uint64_t far = stack[matcher->place[(i + FAR) % HS_PACKED_BLOCK]];
    uint64_t near = stack[matcher->place[(i + NEAR) % HS_PACKED_BLOCK]];
    if (far < partial->stacks)
        __builtin_prefetch(&partial->index[far]);
    uint32_t place = near < partial->stacks ? partial->index[near] : 0;
    if (!place)
        return;
    const char *total = (const char *)&partial->total[place - 1];
    __builtin_prefetch(total, 1);
    __builtin_prefetch(total + 64, 1);
    __builtin_prefetch(total + 128, 1);
}

// Many rows of the block match: its columns are unpacked as a whole.
static int sum_many(const struct context *context, struct partial *partial, struct hs_matcher *matcher)
{
    const unsigned pointer_size = context->columns->pointer_size;
    const uint64_t *time = hs_block__column(&matcher->block, HS_BLOCK_TIME);
    const uint64_t *free_time = hs_block__column(&matcher->block, HS_BLOCK_FREE_TIME);
    const uint64_t *sizes = hs_block__column(&matcher->block, HS_BLOCK_SIZE);
    const uint64_t *slack = hs_block__column(&matcher->block, HS_BLOCK_SLACK);
    const uint64_t *stack = hs_block__column(&matcher->block, HS_BLOCK_STACK);
    const uint64_t *state = hs_block__column(&matcher->block, HS_BLOCK_STATE);
    for (size_t n = 0; n < matcher->count; n++) {
        size_t i = matcher->place[n];
        look_ahead(partial, matcher, stack, n);
        struct hs_total *total = total_of(partial, (uint32_t)stack[i]);
        if (!total)
            return -ENOMEM;
        const struct addend addend = {.size = sizes[i],
                                      .usable = sizes[i] + hs_row__stored_slack(slack[i], sizes[i], pointer_size),
                                      .time = time[i],
                                      .end = free_time[i],
                                      .flags = hs_row__flags_of_state(state[i])};
        add_row(total, &addend);
    }
    return 0;
}

static int sum_few(const struct context *context, struct partial *partial, const struct hs_matcher *matcher)
{
    const struct hs_columns *columns = context->columns;
    for (size_t n = 0; n < matcher->count; n++) {
        uint64_t row = hs_matcher__row(matcher, n);
        struct hs_total *total = total_of(partial, hs_row__stack(columns, row));
        if (!total)
            return -ENOMEM;
        uint64_t size = hs_row__size(columns, row);
        const struct addend addend = {.size = size,
                                      .usable = size + hs_row__slack_of(columns, row, size),
                                      .time = hs_row__time(columns, row),
                                      .end = hs_row__free_time(columns, row),
                                      .flags = hs_row__flags(columns, row)};
        add_row(total, &addend);
    }
    return 0;
}

static int sum_rows(void *argument, unsigned worker, uint64_t first, uint64_t end)
{
    const struct context *context = argument;
    struct hs_matcher *matcher = context->matchers[worker];
    int failed = 0;
    if (context->cells && hs_slice__is_whole(hs_cells__slice_of(context->cells, first), context->filter))
        return 0;
    for (uint64_t row = first; row < end && !failed; row += HS_PACKED_BLOCK) {
        size_t count = hs_matcher__match(matcher, row / HS_PACKED_BLOCK);
        failed = count > FEW ? sum_many(context, &context->partial[worker], matcher)
                             : sum_few(context, &context->partial[worker], matcher);
    }
    return failed;
}

static int add_cell(void *argument, const struct hs_cell *cell)
{
    struct hs_total *total = total_of(argument, cell->stack);
    if (!total)
        return -ENOMEM;
    hs_cell__add(cell, total);
    return 0;
}

static int sum_cells(const struct context *context, struct partial *partial)
{
    int failed = 0;
    for (size_t i = 0; context->cells && i < hs_cells__slices(context->cells); i++) {
        const struct hs_slice *slice = hs_cells__slice(context->cells, i);
        bool whole = hs_slice__is_whole(slice, context->filter);
        for (size_t k = 0; whole && k < slice->count && !failed; k++)
            if (hs_cell__matches(&slice->cell[k], context->filter))
                failed = add_cell(partial, &slice->cell[k]);
    }
    return failed;
}

void hs_total__add(struct hs_total *to, const struct hs_total *from)
{
    to->allocated_bytes += from->allocated_bytes;
    to->allocated_usable += from->allocated_usable;
    to->allocated_count += from->allocated_count;
    to->live_bytes += from->live_bytes;
    to->live_usable += from->live_usable;
    to->live_count += from->live_count;
    to->peak_bytes += from->peak_bytes;
    to->peak_usable += from->peak_usable;
    to->peak_count += from->peak_count;
    to->temporary_bytes += from->temporary_bytes;
    to->temporary_count += from->temporary_count;
    to->freed_bytes += from->freed_bytes;
    to->freed_count += from->freed_count;
    to->culled_bytes += from->culled_bytes;
    to->culled_count += from->culled_count;
    to->lifetime_sum = hs_lifetimes__add(to->lifetime_sum, from->lifetime_sum);
    if (from->size_min < to->size_min)
        to->size_min = from->size_min;
    if (from->size_max > to->size_max)
        to->size_max = from->size_max;
    if (from->first_time < to->first_time)
        to->first_time = from->first_time;
    if (from->last_time > to->last_time)
        to->last_time = from->last_time;
    if (from->lifetime_min < to->lifetime_min)
        to->lifetime_min = from->lifetime_min;
    if (from->lifetime_max > to->lifetime_max)
        to->lifetime_max = from->lifetime_max;
}

static void add_sums(struct hs_total *to, const struct hs_culled *sums)
{
    const struct hs_total total = {.allocated_bytes = sums->size,
                                   .allocated_usable = sums->usable,
                                   .allocated_count = sums->count,
                                   .live_bytes = sums->live.bytes,
                                   .live_usable = sums->live.usable,
                                   .live_count = sums->live.count,
                                   .peak_bytes = sums->peak.bytes,
                                   .peak_usable = sums->peak.usable,
                                   .peak_count = sums->peak.count,
                                   .temporary_bytes = sums->temporary_size,
                                   .temporary_count = sums->temporary_count,
                                   .freed_bytes = sums->size - sums->live.bytes,
                                   .freed_count = sums->count - sums->live.count,
                                   .first_time = sums->first_time,
                                   .last_time = sums->last_time,
                                   .lifetime_min = UINT64_MAX};
    hs_total__add(to, &total);
}

static int add_culled(const struct context *context, struct partial *partial)
{
    size_t count;
    const struct hs_culled *culled = hs_store__culled(context->store, &count);
    if (!hs_filter__asks_only_stacks(context->filter))
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (context->filter->stacks.words && !hs_set__has(&context->filter->stacks, culled[i].stack))
            continue;
        if (!(context->filter->domains >> culled[i].domain & 1))
            continue;
        struct hs_total *total = total_of(partial, culled[i].stack);
        if (!total)
            return -ENOMEM;
        if (culled[i].kind == HS_CULLED_SUMS) {
            add_sums(total, &culled[i]);
            continue;
        }
        total->allocated_bytes += culled[i].size;
        total->allocated_usable += culled[i].usable;
        total->allocated_count += culled[i].count;
        total->freed_bytes += culled[i].size;
        total->freed_count += culled[i].count;
        total->culled_bytes += culled[i].size;
        total->culled_count += culled[i].count;
        total->lifetime_sum = hs_lifetimes__add(total->lifetime_sum, culled[i].lifetime_ns);
    }
    return 0;
}

// In the order of stack ids, which the index has already.
static int order_totals(const struct partial *partial, struct hs_totals *totals)
{
    totals->total = malloc((partial->count + 1) * sizeof *totals->total);
    if (!totals->total)
        return -ENOMEM;
    for (size_t stack = 0; stack < partial->stacks; stack++) {
        if (!partial->index[stack])
            continue;
        const struct hs_total *total = &partial->total[partial->index[stack] - 1];
        hs_total__add(&totals->sum, total);
        totals->total[totals->count++] = *total;
    }
    return 0;
}

static int merge_partials(struct partial *partial, unsigned workers, struct hs_totals *totals)
{
    for (unsigned w = 1; w < workers; w++)
        for (size_t i = 0; i < partial[w].count; i++) {
            struct hs_total *to = total_of(&partial[0], partial[w].total[i].stack);
            if (!to)
                return -ENOMEM;
            hs_total__add(to, &partial[w].total[i]);
        }
    return order_totals(&partial[0], totals);
}

static int create_partials(struct context *context, unsigned workers)
{
    context->partial = calloc(workers, sizeof *context->partial);
    for (unsigned i = 0; context->partial && i < workers; i++) {
        struct partial *partial = &context->partial[i];
        partial->stacks = context->stacks;
        partial->index = hs_large_pages__get(context->stacks * sizeof *partial->index);
        if (!partial->index)
            return -ENOMEM;
        // Written before it is read: a page that was only read is exchanged when it is written, and each time all
        // processors have to hear of it.
        memset(partial->index, 0, context->stacks * sizeof *partial->index);
    }
    context->matchers = hs_matchers__create(context->store, context->filter, workers);
    return context->partial && context->matchers ? 0 : -ENOMEM;
}

static void free_partials(struct context *context, unsigned workers)
{
    for (unsigned i = 0; context->partial && i < workers; i++) {
        free(context->partial[i].index);
        free(context->partial[i].total);
    }
    free(context->partial);
    hs_matchers__destroy(context->matchers, workers);
}

int hs_query__totals(const struct hs_store *store, const struct hs_filter *filter,
                     const struct hs_query_control *control, struct hs_totals *totals, struct hs_error *error)
{
    struct hs_filter heap;
    struct context context = {
        .store = store, .columns = hs_store__columns(store), .filter = filter = hs_filter__or_heap(filter, &heap)};
    *totals = (struct hs_totals){0};
    start_total(&totals->sum, 0);
    if (hs_store__summary(store)->has_sums && !hs_filter__asks_only_stacks(filter))
        return hs_query__refuse_sums(error);
    const struct hs_packed *table = hs_totals_table__for(store, filter);
    int failed = table ? hs_totals_table__read(table, &filter->stacks, totals) : 0;
    if (table)
        return failed ? hs_error__set(error, -failed, "query: %s", strerror(-failed)) : 0;
    unsigned workers = hs_scan__workers(store, control);
    hs_store__nodes(store, &context.stacks);
    context.stacks += !context.stacks;
    context.cells = control && hs_cells__know(control->cells, store, filter) ? control->cells : NULL;
    failed = create_partials(&context, workers);
    if (failed)
        hs_error__set(error, -failed, "query: %s", strerror(-failed));
    const struct hs_scan scan = {store, filter, control, workers, sum_rows, &context, false, 0};
    if (!failed && control && hs_cells__know_lifetimes(control->cells, control->lifetimes, store, filter))
        failed = hs_cells__each_of_lifetimes(control->cells, control->lifetimes, filter, add_cell, &context.partial[0]);
    else if (!failed)
        failed = hs_scan__run(&scan, error);
    if (!failed)
        failed = sum_cells(&context, &context.partial[0]);
    if (!failed)
        failed = add_culled(&context, &context.partial[0]);
    if (!failed)
        failed = merge_partials(context.partial, workers, totals);
    free_partials(&context, workers);
    return failed;
}

void hs_totals__free(struct hs_totals *totals)
{
    free(totals->total);
    *totals = (struct hs_totals){0};
}

uint64_t hs_total__value(const struct hs_total *total, enum hs_total_key key)
{
    switch (key) {
    case HS_TOTAL_LIVE_BYTES:
        return total->live_bytes;
    case HS_TOTAL_LIVE_COUNT:
        return total->live_count;
    case HS_TOTAL_PEAK_BYTES:
        return total->peak_bytes;
    case HS_TOTAL_PEAK_COUNT:
        return total->peak_count;
    case HS_TOTAL_ALLOCATED_BYTES:
        return total->allocated_bytes;
    case HS_TOTAL_ALLOCATED_COUNT:
        return total->allocated_count;
    case HS_TOTAL_TEMPORARY_BYTES:
        return total->temporary_bytes;
    case HS_TOTAL_TEMPORARY_COUNT:
        return total->temporary_count;
    default:
        return UINT32_MAX - total->stack;
    }
}

static int compare(const void *left, const void *right, void *key)
{
    const struct hs_total *a = left, *b = right;
    uint64_t x = hs_total__value(a, *(enum hs_total_key *)key), y = hs_total__value(b, *(enum hs_total_key *)key);
    if (x != y)
        return x > y ? -1 : 1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

void hs_totals__sort(struct hs_totals *totals, enum hs_total_key key)
{
    if (totals->count)
        qsort_r(totals->total, totals->count, sizeof *totals->total, compare, &key);
}
