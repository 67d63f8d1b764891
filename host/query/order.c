// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/order.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// ---- keys ----------------------------------------------------------------------------------------------------------

static const uint64_t *lifetimes(struct hs_matcher *matcher, uint64_t *key)
{
    const uint64_t *time = hs_column_block__column(&matcher->block, HS_BLOCK_TIME);
    const uint64_t *free_time = hs_column_block__column(&matcher->block, HS_BLOCK_FREE_TIME);
    const uint64_t end_time = matcher->end_time;
    for (size_t i = 0; matcher->all && i < matcher->count; i++)
        key[i] = (free_time[i] == HS_NEVER ? end_time : free_time[i]) - time[i];
    for (size_t i = 0; !matcher->all && i < matcher->count; i++) {
        size_t place = matcher->place[i];
        key[i] = (free_time[place] == HS_NEVER ? end_time : free_time[place]) - time[place];
    }
    return key;
}

static enum hs_block_column column_of(enum hs_row_key by)
{
    return by == HS_ROW_BY_ADDRESS ? HS_BLOCK_ADDRESS : by == HS_ROW_BY_SIZE ? HS_BLOCK_SIZE : HS_BLOCK_TIME;
}

const uint64_t *hs_order__keys(struct hs_matcher *matcher, enum hs_row_key by, uint64_t *room)
{
    if (by == HS_ROW_BY_LIFETIME)
        return lifetimes(matcher, room);
    const uint64_t *value = hs_column_block__column(&matcher->block, column_of(by));
    if (matcher->all)
        return value;
    for (size_t i = 0; i < matcher->count; i++)
        room[i] = value[matcher->place[i]];
    return room;
}

// Ends are stored as distances from the block's first time, 0 for never.
static struct hs_bounds block_lifetimes(const struct hs_columns *columns, uint64_t block, uint64_t end_time)
{
    uint64_t first = columns->time.block[block].base, distance = hs_packed__most(&columns->free_time, block);
    bool may_live = !columns->free_time.block[block].base;
    if (distance == UINT64_MAX || (may_live && first > end_time))
        return (struct hs_bounds){0, UINT64_MAX};
    uint64_t most = distance ? distance - 1 : 0, lives = may_live ? end_time - first : 0;
    // A row that never ends may begin after the end of the trace: its lifetime then exceeds all bounds.
    if (may_live && hs_packed__most(&columns->time, block) > end_time)
        lives = UINT64_MAX;
    return (struct hs_bounds){0, most > lives ? most : lives};
}

struct hs_bounds hs_order__block(const struct hs_columns *columns, uint64_t block, enum hs_row_key by,
                                 uint64_t end_time)
{
    if (by == HS_ROW_BY_LIFETIME)
        return block_lifetimes(columns, block, end_time);
    const struct hs_packed *packed = hs_column_block__packed(columns, column_of(by));
    return (struct hs_bounds){packed->block[block].base, hs_packed__most(packed, block)};
}

static struct hs_bounds zone_lifetimes(const struct hs_zone *zone, uint64_t end_time)
{
    struct hs_bounds bounds = {zone->lifetime_min, zone->lifetime_max};
    if (zone->free_max != HS_NEVER)
        return bounds;
    if (zone->time_max > end_time) // what was never freed has a lifetime beyond all bounds
        return (struct hs_bounds){0, UINT64_MAX};
    uint64_t longest = end_time - zone->time_min, shortest = end_time - zone->time_max;
    if (shortest < bounds.least)
        bounds.least = shortest;
    if (longest > bounds.most)
        bounds.most = longest;
    return bounds;
}

struct hs_bounds hs_order__zone(const struct hs_zone *zone, enum hs_row_key by, uint64_t end_time)
{
    switch (by) {
    case HS_ROW_BY_ADDRESS:
        return (struct hs_bounds){zone->address_min, zone->address_max};
    case HS_ROW_BY_SIZE:
        return (struct hs_bounds){zone->size_min, zone->size_max};
    case HS_ROW_BY_LIFETIME:
        return zone_lifetimes(zone, end_time);
    default:
        return (struct hs_bounds){zone->time_min, zone->time_max};
    }
}

// ---- sorting -------------------------------------------------------------------------------------------------------

static int compare(const void *left, const void *right)
{
    const struct hs_keyed_row *a = left, *b = right;
    return hs_keyed_row__is_before(b, a) - hs_keyed_row__is_before(a, b);
}

static bool rows_ascend(const struct hs_keyed_row *rows, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (rows[i].row < rows[i - 1].row)
            return false;
    return true;
}

enum { DIGIT = 11, DIGITS = 1 << DIGIT };

// The first index for each digit. False: all keys have the same digit.
static bool find_begins(const struct hs_keyed_row *rows, size_t count, unsigned shift, size_t begin[DIGITS])
{
    size_t sum = 0;
    memset(begin, 0, DIGITS * sizeof(*begin));
    for (size_t i = 0; i < count; i++)
        begin[rows[i].key >> shift & (DIGITS - 1)]++;
    if (begin[rows[0].key >> shift & (DIGITS - 1)] == count)
        return false;
    for (size_t digit = 0; digit < DIGITS; digit++) {
        const size_t here = begin[digit];
        begin[digit] = sum;
        sum += here;
    }
    return true;
}

// Digit by digit, from the least on: rows with equal keys stay in their order.
static void sort_by_digits(struct hs_keyed_row *rows, struct hs_keyed_row *room, size_t count)
{
    struct hs_keyed_row *from = rows, *to = room;
    size_t begin[DIGITS];
    for (unsigned shift = 0; shift < 64; shift += DIGIT) {
        if (!find_begins(from, count, shift, begin))
            continue;
        for (size_t i = 0; i < count; i++)
            to[begin[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
        struct hs_keyed_row *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != rows)
        memcpy(rows, from, count * sizeof(*rows));
}

void hs_keyed_rows__sort(struct hs_keyed_row *rows, size_t count)
{
    enum { MANY = 8192 };
    struct hs_keyed_row *room = count >= MANY && rows_ascend(rows, count) ? malloc(count * sizeof(*room)) : NULL;
    if (room)
        sort_by_digits(rows, room, count);
    else if (count)
        qsort(rows, count, sizeof(*rows), compare);
    free(room);
}

static void swap(struct hs_keyed_row *a, struct hs_keyed_row *b)
{
    struct hs_keyed_row row = *a;
    *a = *b;
    *b = row;
}

static const struct hs_keyed_row *middle_of(const struct hs_keyed_row *a, const struct hs_keyed_row *b,
                                            const struct hs_keyed_row *c)
{
    if (hs_keyed_row__is_before(b, a)) {
        const struct hs_keyed_row *before = b;
        b = a;
        a = before;
    }
    return hs_keyed_row__is_before(c, a) ? a : hs_keyed_row__is_before(c, b) ? c : b;
}

// Splits the rows around one of them; returns the end of those that are not behind it, which are not all.
static size_t split(struct hs_keyed_row *rows, size_t count)
{
    const struct hs_keyed_row pivot = *middle_of(&rows[0], &rows[count / 2], &rows[count - 1]);
    size_t low = 0, high = count - 1;
    for (;;) {
        while (hs_keyed_row__is_before(&rows[low], &pivot))
            low++;
        while (hs_keyed_row__is_before(&pivot, &rows[high]))
            high--;
        if (low >= high)
            return high + 1;
        swap(&rows[low++], &rows[high--]);
    }
}

// Moves the `wanted` first rows in order to the front, in any order there. There are more than `wanted` rows.
static void select_first(struct hs_keyed_row *rows, size_t count, size_t wanted)
{
    // Splits that do not get on end in a sort.
    for (unsigned rounds = 0; wanted && wanted < count; rounds++) {
        if (count < 32 || rounds == 64) {
            hs_keyed_rows__sort(rows, count);
            return;
        }
        size_t end = split(rows, count);
        if (end == count)
            end--;
        if (wanted <= end) {
            count = end;
        } else {
            rows += end;
            count -= end;
            wanted -= end;
        }
    }
}

// ---- the first and the last ones -----------------------------------------------------------------------------------

// Turned around, the last ones are the first.
struct best {
    struct hs_keyed_row *row;
    size_t count;
    struct hs_keyed_row last; // whatever comes behind it is none of those that are wanted
    uint64_t key[HS_PACKED_BLOCK];
};

struct zone_order {
    struct hs_keyed_row first; // nothing of the zone comes before this
    size_t zone;
};

struct order_search {
    const struct hs_store *store;
    const struct hs_filter *filter;
    enum hs_row_key by;
    bool last;
    size_t wanted;
    struct hs_matcher **matchers;
    struct best *best; // of each worker
    struct zone_order *zones;
    pthread_mutex_t lock;
    struct hs_keyed_row limit; // under the lock: the first of the workers' `last`
};

static struct hs_keyed_row turn(const struct order_search *search, uint64_t key, uint32_t row)
{
    return search->last ? (struct hs_keyed_row){~key, ~row} : (struct hs_keyed_row){key, row};
}

static int compare_zones(const void *left, const void *right)
{
    return compare(&((const struct zone_order *)left)->first, &((const struct zone_order *)right)->first);
}

// The zones that may have the best rows come first.
static void order_zones(struct order_search *search)
{
    size_t count;
    const struct hs_zone *zones = hs_store__zones(search->store, &count);
    uint64_t end_time = hs_store__summary(search->store)->end_time;
    uint64_t rows = hs_store__columns(search->store)->rows;
    for (size_t i = 0; i < count; i++) {
        struct hs_bounds bounds = hs_order__zone(&zones[i], search->by, end_time);
        uint64_t first = (uint64_t)i * HS_ZONE_ROWS, end = first + HS_ZONE_ROWS < rows ? first + HS_ZONE_ROWS : rows;
        search->zones[i] = (struct zone_order){search->last ? turn(search, bounds.most, (uint32_t)(end - 1))
                                                            : turn(search, bounds.least, (uint32_t)first),
                                               i};
    }
    if (count)
        qsort(search->zones, count, sizeof(*search->zones), compare_zones);
}

// Only the best ones are kept, and the others hear of the worst of them.
static void narrow(struct order_search *search, struct best *best)
{
    if (best->count < search->wanted)
        return;
    if (best->count > search->wanted)
        select_first(best->row, best->count, search->wanted);
    best->count = search->wanted;
    struct hs_keyed_row last = best->row[0];
    for (size_t i = 1; i < best->count; i++)
        if (hs_keyed_row__is_before(&last, &best->row[i]))
            last = best->row[i];
    pthread_mutex_lock(&search->lock);
    if (hs_keyed_row__is_before(&last, &search->limit))
        search->limit = last;
    best->last = search->limit;
    pthread_mutex_unlock(&search->lock);
}

// Whether a row with a key within the bounds may be one of the best.
static bool may_be_best(const struct order_search *search, const struct best *best, struct hs_bounds keys)
{
    return (search->last ? ~keys.most : keys.least) <= best->last.key;
}

static struct hs_bounds bounds_of(const uint64_t *key, size_t count)
{
    struct hs_bounds bounds = {UINT64_MAX, 0};
    for (size_t i = 0; i < count; i++) {
        bounds.least = key[i] < bounds.least ? key[i] : bounds.least;
        bounds.most = key[i] > bounds.most ? key[i] : bounds.most;
    }
    return bounds;
}

static void look_at_block(struct order_search *search, struct hs_matcher *matcher, struct best *best, uint64_t number)
{
    const size_t room = 2 * search->wanted;
    const struct hs_columns *columns = hs_store__columns(search->store);
    if (!may_be_best(search, best, hs_order__block(columns, number, search->by, matcher->end_time)))
        return;
    hs_matcher__match(matcher, number);
    const uint64_t *key = hs_order__keys(matcher, search->by, best->key);
    if (!may_be_best(search, best, bounds_of(key, matcher->count)))
        return;
    for (size_t i = 0; i < matcher->count; i++) {
        struct hs_keyed_row row = turn(search, key[i], (uint32_t)hs_matcher__row(matcher, i));
        if (hs_keyed_row__is_before(&best->last, &row))
            continue;
        if (best->count == room)
            narrow(search, best);
        best->row[best->count++] = row;
    }
}

// The zone comes in the order of the search, not in that of the store.
static int look_at_zone(void *argument, unsigned worker, uint64_t first, uint64_t end)
{
    struct order_search *search = argument;
    struct best *best = &search->best[worker];
    pthread_mutex_lock(&search->lock);
    best->last = search->limit;
    pthread_mutex_unlock(&search->lock);
    if (hs_keyed_row__is_before(&best->last, &search->zones[first / HS_ZONE_ROWS].first))
        return 0;
    size_t zone = search->zones[first / HS_ZONE_ROWS].zone, zones;
    if (!hs_filter__zone_may_match(search->filter, &hs_store__zones(search->store, &zones)[zone],
                                   hs_store__summary(search->store)->end_time))
        return 0;
    uint64_t rows = hs_store__columns(search->store)->rows;
    first = (uint64_t)zone * HS_ZONE_ROWS;
    end = first + HS_ZONE_ROWS < rows ? first + HS_ZONE_ROWS : rows;
    for (uint64_t row = first; row < end; row += HS_PACKED_BLOCK)
        look_at_block(search, search->matchers[worker], best, row / HS_PACKED_BLOCK);
    // The first time early, so that the others know soon what need not be looked at.
    if (best->last.key == UINT64_MAX && best->last.row == UINT32_MAX)
        narrow(search, best);
    return 0;
}

static bool make_room(struct order_search *search, unsigned workers)
{
    size_t zones;
    hs_store__zones(search->store, &zones);
    search->matchers = hs_matchers__create(search->store, search->filter, workers);
    search->best = calloc(workers, sizeof(*search->best));
    search->zones = malloc((zones + 1) * sizeof(*search->zones));
    bool good = search->matchers && search->best && search->zones;
    for (unsigned i = 0; good && i < workers; i++) {
        search->best[i].last = search->limit;
        search->best[i].row = malloc(2 * search->wanted * sizeof(*search->best[i].row));
        good = search->best[i].row != NULL;
    }
    return good;
}

static int merge(struct order_search *search, unsigned workers, struct hs_keyed_row **rows, size_t *count)
{
    size_t sum = 0;
    for (unsigned i = 0; i < workers; i++)
        sum += search->best[i].count;
    struct hs_keyed_row *all = malloc((sum + 1) * sizeof(*all));
    if (!all)
        return -ENOMEM;
    sum = 0;
    for (unsigned i = 0; i < workers; i++) {
        if (search->best[i].count)
            memcpy(all + sum, search->best[i].row, search->best[i].count * sizeof(*all));
        sum += search->best[i].count;
    }
    if (sum > search->wanted)
        select_first(all, sum, search->wanted);
    *count = sum < search->wanted ? sum : search->wanted;
    for (size_t i = 0; i < *count; i++)
        all[i] = turn(search, all[i].key, all[i].row);
    hs_keyed_rows__sort(all, *count);
    *rows = all;
    return 0;
}

int hs_order__extreme(const struct hs_store *store, const struct hs_filter *filter, enum hs_row_key by, bool last,
                      size_t wanted, const struct hs_query_control *control, struct hs_keyed_row **rows, size_t *count,
                      struct hs_error *error)
{
    unsigned workers = hs_scan__workers(store, control);
    struct order_search search = {.store = store,
                                  .filter = filter,
                                  .by = by,
                                  .last = last,
                                  .wanted = wanted ? wanted : 1,
                                  .lock = PTHREAD_MUTEX_INITIALIZER,
                                  .limit = {UINT64_MAX, UINT32_MAX}};
    int failed = make_room(&search, workers) ? 0 : hs_error__set(error, ENOMEM, "query: out of memory");
    if (!failed) {
        order_zones(&search);
        const struct hs_scan scan = {store, NULL, control, workers, look_at_zone, &search, false, 0};
        failed = hs_scan__run(&scan, error);
    }
    if (!failed && merge(&search, workers, rows, count))
        failed = hs_error__set(error, ENOMEM, "query: out of memory");
    for (unsigned i = 0; search.best && i < workers; i++)
        free(search.best[i].row);
    free(search.best);
    free(search.zones);
    hs_matchers__destroy(search.matchers, workers);
    pthread_mutex_destroy(&search.lock);
    return failed;
}

int hs_rows__make(struct hs_rows *rows, uint64_t total, bool descending, uint64_t skip, uint64_t limit, uint64_t *first,
                  struct hs_error *error)
{
    *rows = (struct hs_rows){.total = total};
    skip = skip < total ? skip : total;
    rows->count = limit < total - skip ? limit : total - skip;
    *first = descending ? total - skip - rows->count : skip;
    rows->row = malloc((rows->count + 1) * sizeof(*rows->row));
    return rows->row ? 0 : hs_error__set(error, ENOMEM, "query: out of memory");
}

int hs_keyed_rows__page(const struct hs_keyed_row *sorted, uint64_t total, bool descending, uint64_t skip,
                        uint64_t limit, struct hs_rows *rows, struct hs_error *error)
{
    uint64_t first;
    int failed = hs_rows__make(rows, total, descending, skip, limit, &first, error);
    for (uint64_t i = 0; !failed && i < rows->count; i++)
        rows->row[i] = sorted[first + (descending ? rows->count - 1 - i : i)].row;
    return failed;
}
