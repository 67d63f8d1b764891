// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/array.h"
#include "host/query/large_pages.h"
#include "host/query/match.h"
#include "host/query/planner.h"
#include "host/query/scan.h"
#include "host/query/scratch.h"
#include "host/query/stack_sums.h"
#include "host/query/stack_totals_column.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Totals that are known without reading rows: by stack, in the order of the first occurrence of stacks.
struct totals_known {
    uint32_t *index; // by stack: place in `total` + 1; NULL: nothing is
    size_t stacks;
    struct hs_total *total;
    size_t count, capacity;
};

struct context {
    const struct hs_store *store;
    const struct hs_filter *filter;
    size_t stacks;
    const struct hs_rollups *rollups; // by time, of the plan; NULL: rows are read
    struct totals_known known;
    // The rows that each worker has read.
    unsigned workers;
    struct hs_stack_sums *sums;
    struct hs_matcher **matchers;
};

static void start_total(struct hs_total *total, uint32_t stack)
{
    *total =
        (struct hs_total){.stack = stack, .size_min = UINT64_MAX, .first_time = UINT64_MAX, .lifetime_min = UINT64_MAX};
}

static bool start_known(struct totals_known *known)
{
    if (!known->index)
        known->index = calloc(known->stacks, sizeof *known->index);
    return known->index;
}

static struct hs_total *total_of(struct totals_known *known, uint32_t stack)
{
    if (stack >= known->stacks)
        stack = 0;
    if (!start_known(known))
        return NULL;
    uint32_t place = known->index[stack];
    if (place)
        return &known->total[place - 1];
    if (!HS_ARRAY_HAS_ROOM(known->total, known->count, known->capacity))
        return NULL;
    struct hs_total *total = &known->total[known->count++];
    known->index[stack] = (uint32_t)known->count;
    start_total(total, stack);
    return total;
}

static int sum_rows(void *argument, unsigned worker, uint64_t first, uint64_t end)
{
    const struct context *context = argument;
    struct hs_matcher *matcher = context->matchers[worker];
    if (context->rollups && hs_slice__is_whole(hs_rollups__slice_of(context->rollups, first), context->filter))
        return 0;
    for (uint64_t row = first; row < end; row += HS_PACKED_BLOCK)
        if (hs_matcher__match(matcher, row / HS_PACKED_BLOCK))
            hs_stack_sums__add(&context->sums[worker], matcher);
    return 0;
}

static int add_rollup(void *argument, const struct hs_rollup *rollup)
{
    struct hs_total *total = total_of(argument, rollup->stack);
    if (!total)
        return -ENOMEM;
    hs_rollup__add(rollup, total);
    return 0;
}

static int sum_rollups(struct context *context)
{
    int failed = 0;
    for (size_t i = 0; context->rollups && i < hs_rollups__slices(context->rollups); i++) {
        const struct hs_slice *slice = hs_rollups__slice(context->rollups, i);
        bool whole = hs_slice__is_whole(slice, context->filter);
        for (size_t k = 0; whole && k < slice->count && !failed; k++)
            if (hs_rollup__matches(&slice->rollup[k], context->filter))
                failed = add_rollup(&context->known, &slice->rollup[k]);
    }
    return failed;
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

static int add_culled(struct context *context)
{
    size_t count;
    const struct hs_culled *culled = hs_store__culled(context->store, &count);
    if (!hs_filter__asks_only_stacks(context->filter))
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (context->filter->stacks.words && !hs_set__has(&context->filter->stacks, culled[i].stack))
            continue;
        if (!(context->filter->domains >> culled[i].domain & 1) || !culled[i].count)
            continue;
        struct hs_total *total = total_of(&context->known, culled[i].stack);
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

// ---- in the order of stacks ----------------------------------------------------------------------------------------

// Sums lie in the order in which stacks came first: they are fetched some stacks before they are needed.
#define STACKS_AHEAD 16

static bool find_total(const struct context *context, uint32_t stack, struct hs_total *total)
{
    bool found = context->known.index && context->known.index[stack];
    if (found)
        *total = context->known.total[context->known.index[stack] - 1];
    for (unsigned worker = 0; worker < context->workers; worker++) {
        struct hs_total of_worker;
        if (!context->sums[worker].place[stack])
            continue;
        hs_stack_sums__total(&context->sums[worker], stack, found ? &of_worker : total);
        if (found)
            hs_total__add(total, &of_worker);
        found = true;
    }
    return found;
}

static int each_total(const struct context *context, hs_total_visitor visit, void *visitor)
{
    int result = 0;
    for (size_t stack = 0; stack < context->stacks && !result; stack++) {
        struct hs_total total;
        const size_t ahead = stack + STACKS_AHEAD < context->stacks ? stack + STACKS_AHEAD : stack;
        for (unsigned worker = 0; worker < context->workers; worker++)
            hs_stack_sums__fetch(&context->sums[worker], ahead);
        if (find_total(context, (uint32_t)stack, &total))
            result = visit(visitor, &total);
    }
    return result;
}

static size_t most_totals(const struct context *context)
{
    size_t most = context->known.count;
    for (unsigned worker = 0; worker < context->workers; worker++)
        most += context->sums[worker].count;
    return most < context->stacks ? most : context->stacks;
}

// ---- adding up -----------------------------------------------------------------------------------------------------

// Each worker has room for all stacks' numbers: with many processors that would be more than is won.
#define MOST_INDEX_BYTES ((size_t)256 << 20)

static unsigned workers_for(const struct context *context, const struct hs_query_control *control)
{
    const unsigned workers = hs_scan__workers(context->store, control);
    const size_t most = MOST_INDEX_BYTES / (context->stacks * sizeof(uint32_t)) + 1;
    return workers < most ? workers : (unsigned)most;
}

static int start_sums(struct context *context, unsigned workers)
{
    const uint64_t rows = hs_store__columns(context->store)->rows;
    context->sums = calloc(workers, sizeof *context->sums);
    if (!context->sums)
        return -ENOMEM;
    for (; context->workers < workers; context->workers++)
        if (hs_stack_sums__start(&context->sums[context->workers], context->store, rows))
            return -ENOMEM;
    context->matchers = hs_matchers__create(context->store, context->filter, workers);
    return context->matchers ? 0 : -ENOMEM;
}

static void end(struct context *context)
{
    hs_matchers__destroy(context->matchers, context->workers);
    for (unsigned worker = 0; worker < context->workers; worker++)
        hs_stack_sums__free(&context->sums[worker]);
    free(context->sums);
    free(context->known.index);
    free(context->known.total);
}

static int look_at_rows(struct context *context, const struct hs_query_control *control, const struct hs_plan *plan)
{
    const struct hs_scan scan = {context->store, context->filter, control, context->workers,
                                 sum_rows,       context,         false,   0};
    if (plan->by == HS_BY_LIFETIME_ROLLUPS)
        return hs_rollups__each_of_lifetimes(plan->rollups, plan->sorted_index, context->filter, add_rollup,
                                             &context->known);
    return hs_scan__run(&scan, NULL);
}

static int fail(int failed, struct hs_error *error)
{
    return failed ? hs_error__set(error, -failed, "query: %s", failed == -ECANCELED ? "cancelled" : strerror(-failed))
                  : 0;
}

// Afterwards each_total tells what there is. `end` frees it in either case.
static int add_up(struct context *context, const struct hs_query_control *control, const struct hs_plan *plan,
                  struct hs_error *error)
{
    context->rollups = plan->by == HS_BY_ROLLUPS ? plan->rollups : NULL;
    int failed = start_sums(context, workers_for(context, control));
    if (!failed)
        failed = look_at_rows(context, control, plan);
    if (!failed)
        failed = sum_rollups(context);
    if (!failed)
        failed = add_culled(context);
    return fail(failed, error);
}

static struct context context_of(const struct hs_store *store, const struct hs_filter *filter)
{
    struct context context = {.store = store, .filter = filter};
    hs_store__nodes(store, &context.stacks);
    context.stacks += !context.stacks;
    context.known.stacks = context.stacks;
    return context;
}

int hs_query__totals(const struct hs_store *store, const struct hs_filter *filter,
                     const struct hs_query_control *control, struct hs_totals *totals, struct hs_error *error)
{
    struct hs_filter heap;
    filter = hs_filter__or_heap(filter, &heap);
    *totals = (struct hs_totals){0};
    start_total(&totals->sum, 0);
    if (hs_store__summary(store)->is_aggregate && !hs_filter__asks_only_stacks(filter))
        return hs_query__refuse_aggregate(error);
    const struct hs_plan plan = hs_planner__choose(control, store, filter, HS_ASKED_TOTALS);
    if (plan.by == HS_BY_STACK_TOTALS)
        return fail(hs_stack_totals_column__read(plan.stack_totals, &filter->stacks, totals), error);
    struct context context = context_of(store, filter);
    int failed = add_up(&context, control, &plan, error);
    if (!failed) {
        totals->total = hs_large_pages__get(most_totals(&context) * sizeof *totals->total);
        failed = fail(totals->total ? each_total(&context, hs_totals__take, totals) : -ENOMEM, error);
        if (!failed)
            totals->total = hs_large_pages__fit(totals->total, totals->count * sizeof *totals->total);
    }
    end(&context);
    return failed;
}

static int write_table(const struct context *context, struct hs_packed *table)
{
    struct hs_scratch scratch;
    struct hs_stack_totals_writer writer;
    int failed = hs_scratch__make(&scratch, "totals");
    if (!failed) {
        failed = hs_stack_totals_writer__create(&writer, scratch.fd);
        if (!failed)
            failed = each_total(context, hs_stack_totals_writer__add, &writer);
        failed = hs_stack_totals_writer__finish(&writer, failed);
    }
    if (!failed)
        failed = hs_packed__open(table, scratch.fd, "totals", UINT64_MAX);
    hs_scratch__unlink(&scratch, "totals");
    hs_scratch__remove(&scratch);
    return failed;
}

int hs_query__stack_totals_column(const struct hs_store *store, const struct hs_filter *filter,
                                  const struct hs_query_control *control, const struct hs_plan *plan,
                                  struct hs_packed *table, struct hs_error *error)
{
    if (hs_store__summary(store)->is_aggregate && !hs_filter__asks_only_stacks(filter))
        return hs_query__refuse_aggregate(error);
    struct context context = context_of(store, filter);
    int failed = add_up(&context, control, plan, error);
    if (!failed) {
        failed = write_table(&context, table);
        if (failed == -ENOMEM)
            fail(failed, error);
        else if (failed)
            failed = hs_error__set(error, EIO, "query: a temporary file (TMPDIR, else /tmp): %s", strerror(-failed));
    }
    end(&context);
    return failed;
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
