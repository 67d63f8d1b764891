// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// ---- counting
// ----------------------------------------------------------------------------------------------------------

struct counting {
    const struct hs_store *store;
    const struct hs_filter *filter;
    uint64_t *zone; // matching rows per zone
};

static int count_rows(void *argument, unsigned worker, uint64_t first, uint64_t end)
{
    struct counting *counting = argument;
    uint64_t matches = 0;
    (void)worker;
    for (uint64_t row = first; row < end; row++)
        matches += hs_filter__matches(counting->filter, counting->store, row);
    counting->zone[first / HS_ZONE_ROWS] = matches;
    return 0;
}

// Matching rows of each zone, in memory of the caller's to free.
static int count_zones(const struct hs_store *store, const struct hs_filter *filter,
                       const struct hs_query_control *control, uint64_t **zone, size_t *zones, struct hs_error *error)
{
    hs_store__zones(store, zones);
    *zone = calloc(*zones + 1, sizeof **zone);
    if (!*zone)
        return hs_error__set(error, ENOMEM, "query: out of memory");
    struct counting counting = {store, filter, *zone};
    const struct hs_scan scan = {store, filter, control, hs_scan__workers(store, control), count_rows, &counting};
    int failed = hs_scan__run(&scan, error);
    if (failed) {
        free(*zone);
        *zone = NULL;
    }
    return failed;
}

int hs_query__count(const struct hs_store *store, const struct hs_filter *filter,
                    const struct hs_query_control *control, uint64_t *count, struct hs_error *error)
{
    if (hs_store__summary(store)->has_sums)
        return hs_query__refuse_sums(error);
    struct hs_filter heap;
    uint64_t *zone;
    size_t zones;
    *count = 0;
    int failed = count_zones(store, hs_filter__or_heap(filter, &heap), control, &zone, &zones, error);
    for (size_t i = 0; !failed && i < zones; i++)
        *count += zone[i];
    free(failed ? NULL : zone);
    return failed;
}

// ---- collecting
// --------------------------------------------------------------------------------------------------------

struct collecting {
    const struct hs_store *store;
    const struct hs_filter *filter;
    const uint64_t *start; // of each zone's matches in `row`
    uint32_t *row;
};

static int collect_rows(void *argument, unsigned worker, uint64_t first, uint64_t end)
{
    struct collecting *collecting = argument;
    uint32_t *to = collecting->row + collecting->start[first / HS_ZONE_ROWS];
    (void)worker;
    for (uint64_t row = first; row < end; row++)
        if (hs_filter__matches(collecting->filter, collecting->store, row))
            *to++ = (uint32_t)row;
    return 0;
}

static int collect(const struct hs_store *store, const struct hs_filter *filter, const struct hs_query_control *control,
                   uint32_t **row, uint64_t *total, struct hs_error *error)
{
    uint64_t *zone, sum = 0;
    size_t zones;
    int failed = count_zones(store, filter, control, &zone, &zones, error);
    if (failed)
        return failed;
    for (size_t i = 0; i < zones; i++) {
        uint64_t matches = zone[i];
        zone[i] = sum;
        sum += matches;
    }
    *total = sum;
    *row = malloc((sum + 1) * sizeof **row);
    struct collecting collecting = {store, filter, zone, *row};
    const struct hs_scan scan = {store, filter, control, hs_scan__workers(store, control), collect_rows, &collecting};
    failed = *row ? hs_scan__run(&scan, error) : hs_error__set(error, ENOMEM, "query: out of memory");
    free(zone);
    if (failed)
        free(*row);
    return failed;
}

struct order {
    const struct hs_columns *columns;
    enum hs_row_key key;
    uint64_t end_time;
};

static uint64_t key_of(const struct order *order, uint32_t row)
{
    const struct hs_columns *columns = order->columns;
    switch (order->key) {
    case HS_ROW_BY_ADDRESS:
        return hs_row__address(columns, row);
    case HS_ROW_BY_SIZE:
        return hs_row__size(columns, row);
    case HS_ROW_BY_LIFETIME:
        return (hs_row__free_time(columns, row) == HS_NEVER ? order->end_time : hs_row__free_time(columns, row)) -
               hs_row__time(columns, row);
    default:
        return hs_row__time(columns, row);
    }
}

static int compare(const void *left, const void *right, void *context)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    uint64_t x = key_of(context, a), y = key_of(context, b);
    if (x != y)
        return x < y ? -1 : 1;
    return (a > b) - (a < b);
}

int hs_query__rows(const struct hs_store *store, const struct hs_filter *filter, enum hs_row_key key, bool descending,
                   uint64_t skip, uint64_t limit, const struct hs_query_control *control, struct hs_rows *rows,
                   struct hs_error *error)
{
    if (hs_store__summary(store)->has_sums)
        return hs_query__refuse_sums(error);
    struct hs_filter heap;
    uint32_t *all;
    *rows = (struct hs_rows){0};
    int failed = collect(store, hs_filter__or_heap(filter, &heap), control, &all, &rows->total, error);
    if (failed)
        return failed;
    struct order order = {hs_store__columns(store), key, hs_store__summary(store)->end_time};
    if (key != HS_ROW_BY_TIME && rows->total)
        qsort_r(all, rows->total, sizeof *all, compare, &order);
    if (skip > rows->total)
        skip = rows->total;
    rows->count = limit < rows->total - skip ? limit : rows->total - skip;
    rows->row = malloc((rows->count + 1) * sizeof *rows->row);
    for (uint64_t i = 0; rows->row && i < rows->count; i++)
        rows->row[i] = all[descending ? rows->total - 1 - skip - i : skip + i];
    free(all);
    return rows->row ? 0 : hs_error__set(error, ENOMEM, "query: out of memory");
}

void hs_rows__free(struct hs_rows *rows)
{
    free(rows->row);
    *rows = (struct hs_rows){0};
}

// ---- one after another
// -------------------------------------------------------------------------------------------------

struct each {
    const struct hs_store *store;
    const struct hs_filter *filter;
    int (*visit)(void *context, const struct hs_store *store, uint64_t row);
    void *context;
};

static int visit_rows(void *argument, unsigned worker, uint64_t first, uint64_t end)
{
    struct each *each = argument;
    int result = 0;
    (void)worker;
    for (uint64_t row = first; row < end && !result; row++)
        if (hs_filter__matches(each->filter, each->store, row))
            result = each->visit(each->context, each->store, row);
    return result;
}

int hs_query__each(const struct hs_store *store, const struct hs_filter *filter, const struct hs_query_control *control,
                   int (*visit)(void *context, const struct hs_store *store, uint64_t row), void *context,
                   struct hs_error *error)
{
    if (hs_store__summary(store)->has_sums)
        return hs_query__refuse_sums(error);
    struct hs_filter heap;
    filter = hs_filter__or_heap(filter, &heap);
    struct each each = {store, filter, visit, context};
    const struct hs_scan scan = {store, filter, control, 1, visit_rows, &each};
    return hs_scan__run(&scan, error);
}

// ---- histograms
// --------------------------------------------------------------------------------------------------------

struct histogram {
    const struct hs_store *store;
    const struct hs_filter *filter;
    struct order order;
    struct hs_histogram *partial;
};

static int fill_histogram(void *argument, unsigned worker, uint64_t first, uint64_t end)
{
    struct histogram *context = argument;
    struct hs_histogram *histogram = &context->partial[worker];
    for (uint64_t row = first; row < end; row++) {
        if (!hs_filter__matches(context->filter, context->store, row))
            continue;
        uint64_t value = key_of(&context->order, (uint32_t)row);
        unsigned bucket = value ? 64 - (unsigned)__builtin_clzll(value) : 0;
        histogram->count[bucket]++;
        histogram->bytes[bucket] += hs_row__size(context->order.columns, row);
    }
    return 0;
}

static int histogram_of(const struct hs_store *store, const struct hs_filter *filter, enum hs_row_key key,
                        const struct hs_query_control *control, struct hs_histogram *histogram, struct hs_error *error)
{
    if (hs_store__summary(store)->has_sums)
        return hs_query__refuse_sums(error);
    struct hs_filter heap;
    unsigned workers = hs_scan__workers(store, control);
    filter = hs_filter__or_heap(filter, &heap);
    struct histogram context = {
        store, filter, {hs_store__columns(store), key, hs_store__summary(store)->end_time}, NULL};
    *histogram = (struct hs_histogram){0};
    context.partial = calloc(workers, sizeof *context.partial);
    if (!context.partial)
        return hs_error__set(error, ENOMEM, "query: out of memory");
    const struct hs_scan scan = {store, filter, control, workers, fill_histogram, &context};
    int failed = hs_scan__run(&scan, error);
    for (unsigned w = 0; w < workers && !failed; w++)
        for (unsigned i = 0; i < 65; i++) {
            histogram->count[i] += context.partial[w].count[i];
            histogram->bytes[i] += context.partial[w].bytes[i];
        }
    free(context.partial);
    return failed;
}

int hs_query__size_histogram(const struct hs_store *store, const struct hs_filter *filter,
                             const struct hs_query_control *control, struct hs_histogram *histogram,
                             struct hs_error *error)
{
    return histogram_of(store, filter, HS_ROW_BY_SIZE, control, histogram, error);
}

int hs_query__lifetime_histogram(const struct hs_store *store, const struct hs_filter *filter,
                                 const struct hs_query_control *control, struct hs_histogram *histogram,
                                 struct hs_error *error)
{
    return histogram_of(store, filter, HS_ROW_BY_LIFETIME, control, histogram, error);
}
