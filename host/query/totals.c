// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/scan.h"

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

struct context {
    const struct hs_store *store;
    const struct hs_columns *columns;
    const struct hs_filter *filter;
    struct partial *partial;
    size_t stacks;
};

static void start_total(struct hs_total *total, uint32_t stack)
{
    *total = (struct hs_total){.stack = stack, .first_time = UINT64_MAX, .lifetime_min = UINT64_MAX};
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

static void add_row(struct hs_total *total, const struct hs_columns *columns, uint64_t row)
{
    uint64_t size = hs_row__size(columns, row), usable = size + hs_row__slack_of(columns, row, size);
    uint64_t time = hs_row__time(columns, row), end = hs_row__free_time(columns, row);
    uint8_t flags = hs_row__flags(columns, row);
    total->allocated_bytes += size;
    total->allocated_usable += usable;
    total->allocated_count++;
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
    total->lifetime_sum += lifetime;
    if (lifetime < total->lifetime_min)
        total->lifetime_min = lifetime;
    if (lifetime > total->lifetime_max)
        total->lifetime_max = lifetime;
}

static int sum_rows(void *argument, unsigned worker, uint64_t first, uint64_t end)
{
    struct context *context = argument;
    struct partial *partial = &context->partial[worker];
    for (uint64_t row = first; row < end; row++) {
        if (!hs_filter__matches(context->filter, context->store, row))
            continue;
        struct hs_total *total = total_of(partial, hs_row__stack(context->columns, row));
        if (!total)
            return -ENOMEM;
        add_row(total, context->columns, row);
    }
    return 0;
}

static void merge(struct hs_total *to, const struct hs_total *from)
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
    to->lifetime_sum += from->lifetime_sum;
    if (from->first_time < to->first_time)
        to->first_time = from->first_time;
    if (from->last_time > to->last_time)
        to->last_time = from->last_time;
    if (from->lifetime_min < to->lifetime_min)
        to->lifetime_min = from->lifetime_min;
    if (from->lifetime_max > to->lifetime_max)
        to->lifetime_max = from->lifetime_max;
}

// Whether `filter` leaves all but the stacks open.
static bool admits_culled(const struct hs_filter *filter)
{
    struct hs_filter open;
    hs_filter__init(&open);
    return filter->domains & HS_FILTER_HEAP && filter->kinds == open.kinds && !filter->time_min && !filter->free_min &&
           !filter->size_min && !filter->address_min && !filter->lifetime_min && filter->time_max == open.time_max &&
           filter->free_max == open.free_max && filter->size_max == open.size_max &&
           filter->address_max == open.address_max && filter->lifetime_max == open.lifetime_max &&
           !filter->alive_count && !filter->flags_all && !filter->flags_none && !filter->freed_only &&
           !filter->never_freed_only && !filter->not_own_thread_only && !filter->free_stacks.words &&
           !filter->streams.words && !filter->chain_never_freed_only && !filter->chain_length_min &&
           filter->chain_length_max == open.chain_length_max && !filter->position_min &&
           filter->position_max == open.position_max && !filter->accept && !filter->detail_given;
}

static int add_culled(const struct context *context, struct partial *partial)
{
    size_t count;
    const struct hs_culled *culled = hs_store__culled(context->store, &count);
    if (!admits_culled(context->filter))
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (context->filter->stacks.words && !hs_set__has(&context->filter->stacks, culled[i].stack))
            continue;
        struct hs_total *total = total_of(partial, culled[i].stack);
        if (!total)
            return -ENOMEM;
        total->allocated_bytes += culled[i].size;
        total->allocated_usable += culled[i].usable;
        total->allocated_count += culled[i].count;
        total->freed_bytes += culled[i].size;
        total->freed_count += culled[i].count;
        total->culled_bytes += culled[i].size;
        total->culled_count += culled[i].count;
        total->lifetime_sum += culled[i].lifetime_ns;
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
        merge(&totals->sum, total);
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
            merge(to, &partial[w].total[i]);
        }
    return order_totals(&partial[0], totals);
}

int hs_query__totals(const struct hs_store *store, const struct hs_filter *filter,
                     const struct hs_query_control *control, struct hs_totals *totals, struct hs_error *error)
{
    struct hs_filter heap;
    struct context context = {
        .store = store, .columns = hs_store__columns(store), .filter = filter = hs_filter__or_heap(filter, &heap)};
    unsigned workers = hs_scan__workers(store, control);
    *totals = (struct hs_totals){0};
    start_total(&totals->sum, 0);
    hs_store__nodes(store, &context.stacks);
    context.stacks += !context.stacks;
    context.partial = calloc(workers, sizeof *context.partial);
    int failed = context.partial ? 0 : -ENOMEM;
    for (unsigned i = 0; i < workers && !failed; i++) {
        context.partial[i].stacks = context.stacks;
        context.partial[i].index = calloc(context.stacks, sizeof *context.partial[i].index);
        failed = context.partial[i].index ? 0 : -ENOMEM;
    }
    if (failed)
        hs_error__set(error, -failed, "query: %s", strerror(-failed));
    const struct hs_scan scan = {store, filter, control, workers, sum_rows, &context};
    if (!failed)
        failed = hs_scan__run(&scan, error);
    if (!failed)
        failed = add_culled(&context, &context.partial[0]);
    if (!failed)
        failed = merge_partials(context.partial, workers, totals);
    for (unsigned i = 0; context.partial && i < workers; i++) {
        free(context.partial[i].index);
        free(context.partial[i].total);
    }
    free(context.partial);
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
