// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/order.h"
#include "host/query/planner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// ---- matching rows in their own order ------------------------------------------------------------------------------

enum { DIGITS = 4096 };

// Matching rows whose keys lie within bounds.
struct choosing {
    const struct hs_store *store;
    const struct hs_filter *filter;
    const struct hs_query_control *control;
    enum hs_row_key by;
    struct hs_bounds bounds;          // of keys; by time: any
    const struct hs_rollups *rollups; // by time, of the plan; NULL: rows are counted
    unsigned workers;
    struct hs_matcher **matchers;
    uint64_t *zone;      // rows of each zone; when they are collected, where its rows begin
    uint64_t first, end; // ranks of those that are collected
    struct hs_keyed_row *row;
    unsigned shift;             // of a key above the least: then it is a digit
    uint64_t (*digits)[DIGITS]; // by worker: how many rows have each
};

static bool has_bounds(const struct choosing *choosing)
{
    return choosing->bounds.least || choosing->bounds.most != UINT64_MAX;
}

static bool zone_has_keys(const struct choosing *choosing, uint64_t row)
{
    size_t zones;
    const struct hs_zone *zone = &hs_store__zones(choosing->store, &zones)[row / HS_ZONE_ROWS];
    struct hs_bounds keys = hs_order__zone(zone, choosing->by, hs_store__summary(choosing->store)->end_time);
    return keys.least <= choosing->bounds.most && keys.most >= choosing->bounds.least;
}

static bool block_has_keys(const struct choosing *choosing, uint64_t row)
{
    struct hs_bounds keys = hs_order__block(hs_store__columns(choosing->store), row / HS_PACKED_BLOCK, choosing->by,
                                            hs_store__summary(choosing->store)->end_time);
    return keys.least <= choosing->bounds.most && keys.most >= choosing->bounds.least;
}

static size_t count_keys(const struct choosing *choosing, const uint64_t *key, size_t count)
{
    size_t within = 0;
    for (size_t i = 0; i < count; i++)
        within += key[i] - choosing->bounds.least <= choosing->bounds.most - choosing->bounds.least;
    return within;
}

static int count_rows(void *argument, unsigned worker, uint64_t first, uint64_t end)
{
    struct choosing *choosing = argument;
    struct hs_matcher *matcher = choosing->matchers[worker];
    uint64_t room[HS_PACKED_BLOCK], matches = 0;
    bool bounded = has_bounds(choosing);
    if (bounded && !zone_has_keys(choosing, first))
        return 0;
    if (choosing->rollups && hs_slice__is_whole(hs_rollups__slice_of(choosing->rollups, first), choosing->filter))
        return 0;
    for (uint64_t row = first; row < end; row += HS_PACKED_BLOCK) {
        if (!bounded) {
            matches += hs_matcher__count(matcher, row / HS_PACKED_BLOCK);
            continue;
        }
        if (!block_has_keys(choosing, row))
            continue;
        hs_matcher__match(matcher, row / HS_PACKED_BLOCK);
        matches += count_keys(choosing, hs_order__keys(matcher, choosing->by, room), matcher->count);
    }
    choosing->zone[first / HS_ZONE_ROWS] = matches;
    return 0;
}

// Adds those of the block that have a rank that is wanted, and returns the rank behind the last.
static uint64_t collect_block(const struct choosing *choosing, struct hs_matcher *matcher, uint64_t rank)
{
    uint64_t room[HS_PACKED_BLOCK];
    const uint64_t *key = hs_order__keys(matcher, choosing->by, room);
    for (size_t i = 0; i < matcher->count; i++) {
        if (key[i] < choosing->bounds.least || key[i] > choosing->bounds.most)
            continue;
        if (rank >= choosing->first && rank < choosing->end)
            choosing->row[rank - choosing->first] =
                (struct hs_keyed_row){key[i], (uint32_t)hs_matcher__row(matcher, i)};
        rank++;
    }
    return rank;
}

static int collect_rows(void *argument, unsigned worker, uint64_t first, uint64_t end)
{
    const struct choosing *choosing = argument;
    struct hs_matcher *matcher = choosing->matchers[worker];
    uint64_t rank = choosing->zone[first / HS_ZONE_ROWS], behind = choosing->zone[first / HS_ZONE_ROWS + 1];
    if (behind <= choosing->first || rank >= choosing->end)
        return 0;
    for (uint64_t row = first; row < end && rank < behind; row += HS_PACKED_BLOCK)
        if (block_has_keys(choosing, row) && hs_matcher__match(matcher, row / HS_PACKED_BLOCK))
            rank = collect_block(choosing, matcher, rank);
    return 0;
}

static int run(struct choosing *choosing, hs_scan_work work, struct hs_error *error)
{
    const struct hs_scan scan = {
        choosing->store, choosing->filter, choosing->control, choosing->workers, work, choosing, false, 0};
    return hs_scan__run(&scan, error);
}

static int start_choosing(struct choosing *choosing, const struct hs_store *store, const struct hs_filter *filter,
                          const struct hs_query_control *control, struct hs_error *error)
{
    size_t zones;
    hs_store__zones(store, &zones);
    *choosing = (struct choosing){.store = store,
                                  .filter = filter,
                                  .control = control,
                                  .by = HS_ROW_BY_TIME,
                                  .bounds = {0, UINT64_MAX},
                                  .workers = hs_scan__workers(store, control)};
    choosing->matchers = hs_matchers__create(store, filter, choosing->workers);
    choosing->zone = malloc((zones + 1) * sizeof(*choosing->zone));
    return choosing->matchers && choosing->zone ? 0 : hs_error__set(error, ENOMEM, "query: out of memory");
}

static void end_choosing(struct choosing *choosing)
{
    hs_matchers__destroy(choosing->matchers, choosing->workers);
    free(choosing->zone);
}

// How many rows match, and where in their order those of each zone begin.
static int rank_zones(struct choosing *choosing, uint64_t *total, struct hs_error *error)
{
    size_t zones;
    hs_store__zones(choosing->store, &zones);
    memset(choosing->zone, 0, (zones + 1) * sizeof(*choosing->zone));
    int failed = run(choosing, count_rows, error);
    uint64_t sum = 0;
    for (size_t i = 0; i <= zones; i++) {
        uint64_t matches = i < zones ? choosing->zone[i] : 0;
        choosing->zone[i] = sum;
        sum += matches;
    }
    *total = sum;
    return failed;
}

// After rank_zones: the rows with the ranks [first, end) in the order of rows.
static int take_ranks(struct choosing *choosing, uint64_t first, uint64_t end, struct hs_keyed_row *to,
                      struct hs_error *error)
{
    choosing->first = first;
    choosing->end = end;
    choosing->row = to;
    return first < end ? run(choosing, collect_rows, error) : 0;
}

static uint64_t count_rollups(const struct hs_rollups *rollups, const struct hs_filter *filter)
{
    uint64_t count = 0;
    for (size_t i = 0; rollups && i < hs_rollups__slices(rollups); i++) {
        const struct hs_slice *slice = hs_rollups__slice(rollups, i);
        bool whole = hs_slice__is_whole(slice, filter);
        for (size_t k = 0; whole && k < slice->count; k++)
            count += hs_rollup__matches(&slice->rollup[k], filter) ? slice->rollup[k].count : 0;
    }
    return count;
}

static int count_rollup(void *context, const struct hs_rollup *rollup)
{
    *(uint64_t *)context += rollup->count;
    return 0;
}

static int count_by_rows(const struct hs_store *store, const struct hs_filter *filter,
                         const struct hs_query_control *control, const struct hs_rollups *rollups, uint64_t *count,
                         struct hs_error *error)
{
    struct choosing choosing;
    int failed = start_choosing(&choosing, store, filter, control, error);
    choosing.rollups = rollups;
    if (!failed)
        failed = rank_zones(&choosing, count, error);
    if (!failed)
        *count += count_rollups(choosing.rollups, filter);
    end_choosing(&choosing);
    return failed;
}

int hs_query__count_as_planned(const struct hs_store *store, const struct hs_filter *filter,
                               const struct hs_query_control *control, const struct hs_plan *plan, uint64_t *count,
                               struct hs_error *error)
{
    *count = 0;
    switch (plan->by) {
    case HS_BY_DICTIONARY:
        *count = hs_dictionary__count(plan->dictionary, filter);
        return 0;
    case HS_BY_SORTED_INDEX:
        *count = hs_sorted_index__within(plan->sorted_index, plan->keys);
        return 0;
    case HS_BY_LIFETIME_ROLLUPS:
        return hs_rollups__each_of_lifetimes(plan->rollups, plan->sorted_index, filter, count_rollup, count);
    default:
        return count_by_rows(store, filter, control, plan->rollups, count, error);
    }
}

int hs_query__count(const struct hs_store *store, const struct hs_filter *filter,
                    const struct hs_query_control *control, uint64_t *count, struct hs_error *error)
{
    struct hs_filter heap;
    *count = 0;
    if (hs_store__summary(store)->is_aggregate)
        return hs_query__refuse_aggregate(error);
    filter = hs_filter__or_heap(filter, &heap);
    const struct hs_plan plan = hs_planner__choose(control, store, filter, HS_ASKED_COUNT);
    return hs_query__count_as_planned(store, filter, control, &plan, count, error);
}

// ---- in the order of a key -----------------------------------------------------------------------------------------

struct hs_order_limits hs_order_limits = {(uint64_t)1 << 20, (uint64_t)1 << 22, (uint64_t)1 << 20};

static void count_block_digits(const struct choosing *choosing, const uint64_t *key, size_t rows, uint64_t *count)
{
    const uint64_t least = choosing->bounds.least, span = choosing->bounds.most - least;
    const unsigned shift = choosing->shift;
    for (size_t i = 0; i < rows; i++)
        if (key[i] - least <= span)
            count[(key[i] - least) >> shift]++;
}

static int count_digits(void *argument, unsigned worker, uint64_t first, uint64_t end)
{
    const struct choosing *choosing = argument;
    struct hs_matcher *matcher = choosing->matchers[worker];
    uint64_t room[HS_PACKED_BLOCK];
    if (!zone_has_keys(choosing, first))
        return 0;
    for (uint64_t row = first; row < end; row += HS_PACKED_BLOCK)
        if (block_has_keys(choosing, row) && hs_matcher__match(matcher, row / HS_PACKED_BLOCK))
            count_block_digits(choosing, hs_order__keys(matcher, choosing->by, room), matcher->count,
                               choosing->digits[worker]);
    return 0;
}

// The position of a page in the order of keys: its rows have keys within the bounds, after this many rows.
struct rows_place {
    struct hs_bounds bounds;
    uint64_t below, count;
};

static struct hs_bounds all_keys(const struct hs_store *store, enum hs_row_key by)
{
    size_t zones;
    const struct hs_zone *zone = hs_store__zones(store, &zones);
    struct hs_bounds all = {UINT64_MAX, 0};
    for (size_t i = 0; i < zones; i++) {
        struct hs_bounds keys = hs_order__zone(&zone[i], by, hs_store__summary(store)->end_time);
        all.least = keys.least < all.least ? keys.least : all.least;
        all.most = keys.most > all.most ? keys.most : all.most;
    }
    return all;
}

// Narrows the place to the digits that hold the ranks [first, end).
static void narrow(struct rows_place *place, const uint64_t *count, unsigned shift, uint64_t first, uint64_t end)
{
    uint64_t rank = place->below, least = place->bounds.least, most = place->bounds.most;
    unsigned digit = 0;
    while (rank + count[digit] <= first)
        rank += count[digit++];
    place->below = rank;
    place->bounds.least = least + ((uint64_t)digit << shift);
    while (rank + count[digit] < end)
        rank += count[digit++];
    place->count = rank + count[digit] - place->below;
    uint64_t last = least + ((uint64_t)digit << shift) + (((uint64_t)1 << shift) - 1);
    place->bounds.most = last < most && last >= least ? last : most;
}

// Adds up what the workers counted, into the first.
static const uint64_t *sum_digits(const struct choosing *choosing)
{
    for (unsigned w = 1; w < choosing->workers; w++)
        for (unsigned i = 0; i < DIGITS; i++)
            choosing->digits[0][i] += choosing->digits[w][i];
    return choosing->digits[0];
}

// Digits of the keys are counted until few rows are left, or each digit is one key, or it does not get on.
static int find_place(struct choosing *choosing, struct rows_place *place, uint64_t first, uint64_t end,
                      struct hs_error *error)
{
    uint64_t before = 0, span;
    choosing->shift = 64;
    choosing->digits = malloc(choosing->workers * sizeof(*choosing->digits));
    int failed = choosing->digits ? 0 : hs_error__set(error, ENOMEM, "query: out of memory");
    while (!failed && place->count > hs_order_limits.sortable && choosing->shift &&
           (span = place->bounds.most - place->bounds.least) != before) {
        before = span;
        choosing->shift = span < DIGITS ? 0 : 52 - (unsigned)__builtin_clzll(span);
        choosing->bounds = place->bounds;
        memset(choosing->digits, 0, choosing->workers * sizeof(*choosing->digits));
        failed = run(choosing, count_digits, error);
        if (!failed)
            narrow(place, sum_digits(choosing), choosing->shift, first, end);
    }
    free(choosing->digits);
    return failed;
}

// The rows with keys within the bounds whose ranks among these, in the order of rows, are in [first, end).
// *there: how many there are with such keys.
static int take_within(struct choosing *choosing, struct hs_bounds bounds, uint64_t first, uint64_t end,
                       struct hs_keyed_row *to, uint64_t *there, struct hs_error *error)
{
    choosing->bounds = bounds;
    int failed = rank_zones(choosing, there, error);
    return failed ? failed : take_ranks(choosing, first, end < *there ? end : *there, to, error);
}

// All within the bounds, sorted. The caller frees *rows.
static int sort_within(struct choosing *choosing, const struct rows_place *place, struct hs_keyed_row **rows,
                       struct hs_error *error)
{
    uint64_t there;
    *rows = malloc((place->count + 1) * sizeof(**rows));
    if (!*rows)
        return hs_error__set(error, ENOMEM, "query: out of memory");
    int failed = take_within(choosing, place->bounds, 0, place->count, *rows, &there, error);
    if (!failed && choosing->by != HS_ROW_BY_TIME)
        hs_keyed_rows__sort(*rows, place->count);
    return failed;
}

// A page of many rows that have the key of its first or last row: of those not all are taken, and none is sorted.
static int take_among_equals(struct choosing *choosing, const struct rows_place *place, uint64_t first, uint64_t end,
                             struct hs_keyed_row **rows, struct hs_error *error)
{
    const struct hs_bounds bounds = place->bounds;
    const uint64_t wanted = end - first;
    uint64_t there = 0, done = 0, between = 0;
    struct hs_keyed_row *to = *rows = malloc((wanted + 1) * sizeof(**rows));
    if (!to)
        return hs_error__set(error, ENOMEM, "query: out of memory");
    first -= place->below;
    int failed =
        take_within(choosing, (struct hs_bounds){bounds.least, bounds.least}, first, first + wanted, to, &there, error);
    if (failed)
        return failed;
    done = there - first < wanted ? there - first : wanted;
    if (bounds.most - bounds.least > 1)
        failed = take_within(choosing, (struct hs_bounds){bounds.least + 1, bounds.most - 1}, 0, wanted - done,
                             to + done, &between, error);
    if (failed)
        return failed;
    hs_keyed_rows__sort(to + done, between);
    done += between;
    if (done < wanted)
        failed = take_within(choosing, (struct hs_bounds){bounds.most, bounds.most}, 0, wanted - done, to + done,
                             &there, error);
    return failed;
}

// The rows with the ranks [first, end): *page is their position in *rows, which the caller frees.
static int take_from_middle(struct choosing *choosing, enum hs_row_key key, uint64_t total, uint64_t first,
                            uint64_t end, struct hs_keyed_row **rows, struct hs_keyed_row **page,
                            struct hs_error *error)
{
    struct rows_place place = {all_keys(choosing->store, key), 0, total};
    choosing->by = key;
    int failed = end - first < hs_order_limits.sortable ? find_place(choosing, &place, first, end, error) : 0;
    bool single_keys = place.bounds.most - place.bounds.least < DIGITS;
    if (failed)
        return failed;
    if (place.count > hs_order_limits.sortable && single_keys && end - first < hs_order_limits.sortable) {
        failed = take_among_equals(choosing, &place, first, end, rows, error);
        *page = *rows;
        return failed;
    }
    failed = sort_within(choosing, &place, rows, error);
    *page = failed ? NULL : *rows + (first - place.below);
    return failed;
}

static int take_from_end(struct choosing *choosing, enum hs_row_key key, uint64_t total, uint64_t first, uint64_t end,
                         struct hs_keyed_row **rows, struct hs_keyed_row **page, struct hs_error *error)
{
    bool last = total - first < end;
    size_t count;
    int failed = hs_order__extreme(choosing->store, choosing->filter, key, last, last ? total - first : end,
                                   choosing->control, rows, &count, error);
    *page = failed ? NULL : *rows + (last ? 0 : first);
    return failed;
}

static int take_page(struct choosing *choosing, enum hs_row_key key, uint64_t total, uint64_t first, uint64_t end,
                     struct hs_keyed_row **rows, struct hs_keyed_row **page, struct hs_error *error)
{
    if (key != HS_ROW_BY_TIME && (end <= hs_order_limits.near_end || total - first <= hs_order_limits.near_end))
        return take_from_end(choosing, key, total, first, end, rows, page, error);
    if (key != HS_ROW_BY_TIME)
        return take_from_middle(choosing, key, total, first, end, rows, page, error);
    *page = *rows = malloc((end - first + 1) * sizeof(**rows));
    return *rows ? take_ranks(choosing, first, end, *rows, error)
                 : hs_error__set(error, ENOMEM, "query: out of memory");
}

static int choose_page(struct choosing *choosing, enum hs_row_key key, bool descending, uint64_t skip, uint64_t limit,
                       struct hs_rows *rows, struct hs_error *error)
{
    struct hs_keyed_row *keyed = NULL, *page = NULL;
    uint64_t total, first;
    int failed = rank_zones(choosing, &total, error);
    if (!failed)
        failed = hs_rows__make(rows, total, descending, skip, limit, &first, error);
    if (!failed && rows->count)
        failed = take_page(choosing, key, total, first, first + rows->count, &keyed, &page, error);
    for (uint64_t i = 0; !failed && i < rows->count; i++)
        rows->row[i] = page[descending ? rows->count - 1 - i : i].row;
    free(keyed);
    return failed;
}

int hs_query__rows(const struct hs_store *store, const struct hs_filter *filter, enum hs_row_key key, bool descending,
                   uint64_t skip, uint64_t limit, const struct hs_query_control *control, struct hs_rows *rows,
                   struct hs_error *error)
{
    struct hs_filter heap;
    struct choosing choosing;
    *rows = (struct hs_rows){0};
    if (hs_store__summary(store)->is_aggregate)
        return hs_query__refuse_aggregate(error);
    hs_query__explain(control, HS_ASKED_PAGE, HS_BY_SCAN);
    int failed = start_choosing(&choosing, store, hs_filter__or_heap(filter, &heap), control, error);
    if (!failed)
        failed = choose_page(&choosing, key, descending, skip, limit, rows, error);
    end_choosing(&choosing);
    if (failed)
        hs_rows__free(rows);
    return failed;
}

// ---- one after another ---------------------------------------------------------------------------------------------

struct each {
    const struct hs_store *store;
    struct hs_matcher *matcher;
    int (*visit)(void *context, const struct hs_store *store, uint64_t row);
    void *context;
};

static int visit_rows(void *argument, unsigned worker, uint64_t first, uint64_t end)
{
    struct each *each = argument;
    int result = 0;
    (void)worker;
    for (uint64_t row = first; row < end && !result; row += HS_PACKED_BLOCK) {
        hs_matcher__match(each->matcher, row / HS_PACKED_BLOCK);
        for (size_t i = 0; i < each->matcher->count && !result; i++)
            result = each->visit(each->context, each->store, hs_matcher__row(each->matcher, i));
    }
    return result;
}

int hs_query__each(const struct hs_store *store, const struct hs_filter *filter, const struct hs_query_control *control,
                   int (*visit)(void *context, const struct hs_store *store, uint64_t row), void *context,
                   struct hs_error *error)
{
    if (hs_store__summary(store)->is_aggregate)
        return hs_query__refuse_aggregate(error);
    struct hs_filter heap;
    filter = hs_filter__or_heap(filter, &heap);
    hs_query__explain(control, HS_ASKED_ROWS, HS_BY_SCAN);
    struct each each = {store, hs_matcher__create(store, filter), visit, context};
    if (!each.matcher)
        return hs_error__set(error, ENOMEM, "query: out of memory");
    const struct hs_scan scan = {store, filter, control, 1, visit_rows, &each, .may_wait = true};
    int result = hs_scan__run(&scan, error);
    hs_matcher__destroy(each.matcher);
    return result;
}
