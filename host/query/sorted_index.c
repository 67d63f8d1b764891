// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/sorted_index.h"

#include "host/base/check.h"
#include "host/base/numbers.h"
#include "host/base/search.h"
#include "host/query/drop_pages.h"
#include "host/query/match.h"
#include "host/query/order.h"
#include "host/query/scan.h"
#include "host/query/scratch.h"
#include "host/query/zone_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct hs_sorted_index_limits hs_sorted_index_limits = {16384, (uint64_t)32 << 20};

// Keys that are looked at for each part.
enum { SAMPLES = 32 };

struct hs_sorted_index {
    const struct hs_store *store;
    enum hs_row_key key;
    uint64_t rows; // of the heap
    size_t parts;
    uint64_t *least;  // key of each part; the keys of a part are below the least of the next
    uint64_t *before; // rows before each part; one more for the end
    // The row at each rank as the difference to the one before it, from 0 in each block.
    struct hs_packed gaps;
};

// ---- parts ---------------------------------------------------------------------------------------------------------

struct sorted_index_making {
    struct hs_sorted_index *sorted_index;
    struct hs_matcher *matcher;
    const struct hs_query_control *control;
    struct hs_time_index index; // of `behind`
    uint64_t *behind;           // the least key of each part but the first
    uint64_t *sample;
    size_t samples;
    uint64_t every; // how many rows stand behind a sample
    uint64_t skip;  // rows until the next one
    // The parts whose rows are being collected, and the position for the next row of each.
    size_t first, end;
    uint64_t *next;
    uint32_t *row;
    bool torn; // there were more keys in a part than before: the store's files are being changed
};

static size_t part_of(const struct sorted_index_making *making, uint64_t key)
{
    return key == UINT64_MAX ? making->index.count : hs_time_index__find(&making->index, key + 1);
}

static void take_samples(struct sorted_index_making *making, const uint64_t *key, size_t count)
{
    uint64_t at = making->skip;
    for (; at < count; at += making->every)
        making->sample[making->samples++] = key[at];
    making->skip = at - count;
}

static void count_keys(struct sorted_index_making *making, const uint64_t *key, size_t count)
{
    for (size_t i = 0; i < count; i++)
        making->sorted_index->before[part_of(making, key[i])]++;
}

static uint64_t end_of_part(const struct sorted_index_making *making, size_t part)
{
    return making->sorted_index->before[part + 1] - making->sorted_index->before[making->first];
}

static void collect_keys(struct sorted_index_making *making, const uint64_t *key, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t part = part_of(making, key[i]);
        if (part < making->first || part >= making->end)
            continue;
        uint64_t *next = &making->next[part - making->first];
        making->torn = making->torn || *next == end_of_part(making, part);
        if (!making->torn)
            making->row[(*next)++] = (uint32_t)hs_matcher__row(making->matcher, i);
    }
}

// Whether each part has as many keys as were counted before.
static bool is_collected(const struct sorted_index_making *making)
{
    for (size_t part = making->first; part < making->end; part++)
        if (making->next[part - making->first] != end_of_part(making, part))
            return false;
    return !making->torn;
}

static bool is_cancelled(const struct sorted_index_making *making)
{
    const int *cancel = making->control ? making->control->cancel : NULL;
    return cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED);
}

// Looks at the keys of all heap rows in the order of rows.
static int pass(struct sorted_index_making *making,
                void (*look)(struct sorted_index_making *making, const uint64_t *key, size_t count))
{
    uint64_t room[HS_PACKED_BLOCK];
    const uint64_t rows = hs_store__columns(making->sorted_index->store)->rows;
    for (uint64_t block = 0; block * HS_PACKED_BLOCK < rows; block++) {
        if (is_cancelled(making))
            return -ECANCELED;
        if (hs_matcher__match(making->matcher, block))
            look(making, hs_order__keys(making->matcher, making->sorted_index->key, room), making->matcher->count);
        hs_columns__drop_pages_behind(hs_store__columns(making->sorted_index->store), block);
    }
    return 0;
}

// If a key belongs to several parts, it gets a part of its own, which need not be sorted.
static size_t choose_parts(struct sorted_index_making *making)
{
    size_t count = 0;
    uint64_t *behind = making->behind, before = 0;
    bool any = false;
    qsort(making->sample, making->samples, sizeof(*making->sample), hs_number__compare_items);
    for (size_t i = SAMPLES; i < making->samples; i += SAMPLES) {
        uint64_t key = making->sample[i];
        if (any && key == before && key < UINT64_MAX && (!count || behind[count - 1] <= key))
            behind[count++] = key + 1;
        else if (key && (!count || behind[count - 1] < key))
            behind[count++] = key;
        before = key;
        any = true;
    }
    return count;
}

static int make_parts(struct sorted_index_making *making)
{
    struct hs_sorted_index *sorted_index = making->sorted_index;
    const uint64_t rows = hs_store__columns(sorted_index->store)->rows;
    making->every = hs_sorted_index_limits.part / SAMPLES + 1;
    making->sample = malloc((rows / making->every + 2) * sizeof(*making->sample));
    int failed = making->sample ? pass(making, take_samples) : -ENOMEM;
    size_t most = making->samples / SAMPLES + 2;
    making->behind = failed ? NULL : malloc((most + HS_TIMES_AT_ONCE) * sizeof(*making->behind));
    sorted_index->least = calloc(most + 1, sizeof(*sorted_index->least));
    sorted_index->before = calloc(most + 2, sizeof(*sorted_index->before));
    if (!failed && (!making->behind || !sorted_index->least || !sorted_index->before))
        failed = -ENOMEM;
    if (failed)
        return failed;
    size_t count = choose_parts(making);
    memcpy(sorted_index->least + 1, making->behind, count * sizeof(*sorted_index->least));
    sorted_index->parts = count + 1;
    hs_time_index__make(&making->index, making->behind, count);
    failed = pass(making, count_keys);
    for (size_t part = 0; part <= sorted_index->parts; part++) {
        uint64_t here = part < sorted_index->parts ? sorted_index->before[part] : 0;
        sorted_index->before[part] = sorted_index->rows;
        sorted_index->rows += here;
    }
    return failed;
}

// ---- the file ------------------------------------------------------------------------------------------------------

struct sorted_index_writing {
    struct hs_packed_writer writer;
    uint64_t block[HS_PACKED_BLOCK];
    size_t count;
    uint32_t last;
};

static void write_row(struct sorted_index_writing *writing, uint32_t row)
{
    writing->block[writing->count] = writing->count ? (uint32_t)(row - writing->last) : row;
    writing->last = row;
    if (++writing->count < HS_PACKED_BLOCK)
        return;
    hs_packed_writer__add(&writing->writer, writing->block, writing->count);
    writing->count = 0;
}

// As many parts as fit into memory at once, at least one.
static size_t end_of_round(const struct hs_sorted_index *sorted_index, size_t first)
{
    size_t end = first + 1;
    while (end < sorted_index->parts &&
           sorted_index->before[end + 1] - sorted_index->before[first] <= hs_sorted_index_limits.at_once)
        end++;
    return end;
}

static int write_round(struct sorted_index_making *making, struct sorted_index_writing *writing)
{
    const struct hs_sorted_index *sorted_index = making->sorted_index;
    const uint64_t begin = sorted_index->before[making->first], count = sorted_index->before[making->end] - begin;
    making->row = malloc((count + 1) * sizeof(*making->row));
    making->next = malloc((making->end - making->first) * sizeof(*making->next));
    int failed = making->row && making->next ? 0 : -ENOMEM;
    for (size_t part = making->first; !failed && part < making->end; part++)
        making->next[part - making->first] = sorted_index->before[part] - begin;
    if (!failed)
        failed = pass(making, collect_keys);
    if (!failed && !is_collected(making))
        failed = -EIO;
    for (uint64_t i = 0; !failed && i < count; i++) {
        write_row(writing, making->row[i]);
        if (!writing->count && is_cancelled(making))
            failed = -ECANCELED;
    }
    free(making->row);
    free(making->next);
    return failed;
}

static int write_rows(struct sorted_index_making *making, int directory_fd)
{
    struct sorted_index_writing *writing = calloc(1, sizeof(*writing));
    int failed = writing ? hs_packed_writer__create(&writing->writer, directory_fd, "rows") : -ENOMEM;
    if (failed) {
        free(writing);
        return failed;
    }
    for (making->first = 0; !failed && making->first < making->sorted_index->parts; making->first = making->end) {
        making->end = end_of_round(making->sorted_index, making->first);
        failed = write_round(making, writing);
    }
    if (!failed && writing->count)
        hs_packed_writer__add(&writing->writer, writing->block, writing->count);
    if (failed)
        hs_packed_writer__abandon(&writing->writer);
    else
        failed = hs_packed_writer__finish(&writing->writer);
    free(writing);
    return failed;
}

static int make_file(struct sorted_index_making *making)
{
    struct hs_scratch scratch;
    int failed = hs_scratch__make(&scratch, "sorted-index");
    if (!failed)
        failed = write_rows(making, scratch.fd);
    if (!failed)
        failed = hs_packed__open(&making->sorted_index->gaps, scratch.fd, "rows", making->sorted_index->rows);
    hs_scratch__unlink(&scratch, "rows");
    hs_scratch__remove(&scratch);
    return failed;
}

int hs_sorted_index__make(struct hs_sorted_index **result, const struct hs_store *store, enum hs_row_key key,
                          const struct hs_query_control *control, struct hs_error *error)
{
    struct hs_filter heap;
    hs_filter__init(&heap);
    *result = NULL;
    if (hs_store__summary(store)->is_aggregate)
        return hs_query__refuse_aggregate(error);
    struct hs_sorted_index *sorted_index = calloc(1, sizeof(*sorted_index));
    struct sorted_index_making *making = calloc(1, sizeof(*making));
    int failed = sorted_index && making ? 0 : -ENOMEM;
    if (!failed) {
        *sorted_index = (struct hs_sorted_index){.store = store, .key = key};
        *making = (struct sorted_index_making){
            .sorted_index = sorted_index, .matcher = hs_matcher__create(store, &heap), .control = control};
        failed = making->matcher ? make_parts(making) : -ENOMEM;
    }
    if (!failed && sorted_index->rows)
        failed = make_file(making);
    if (making) {
        hs_matcher__destroy(making->matcher);
        free(making->behind);
        free(making->sample);
    }
    free(making);
    if (!failed) {
        *result = sorted_index;
        return 0;
    }
    hs_sorted_index__destroy(sorted_index);
    return hs_error__set(error, -failed, "sorted index: %s", strerror(-failed));
}

uint64_t hs_sorted_index__bytes(const struct hs_sorted_index *sorted_index)
{
    return sorted_index->parts * (sizeof(*sorted_index->least) + sizeof(*sorted_index->before));
}

void hs_sorted_index__destroy(struct hs_sorted_index *sorted_index)
{
    if (!sorted_index)
        return;
    if (sorted_index->gaps.bytes)
        hs_packed__close(&sorted_index->gaps);
    free(sorted_index->least);
    free(sorted_index->before);
    free(sorted_index);
}

void hs_sorted_index__drop_pages(const struct hs_sorted_index *sorted_index)
{
    if (sorted_index->gaps.bytes)
        hs_packed__drop_pages(&sorted_index->gaps, 0, UINT64_MAX);
}

// ---- reading -------------------------------------------------------------------------------------------------------

size_t hs_sorted_index__parts(const struct hs_sorted_index *sorted_index)
{
    return sorted_index->parts;
}

size_t hs_sorted_index__read(const struct hs_sorted_index *sorted_index, uint64_t block, uint64_t *row)
{
    size_t count = hs_packed__read_block(&sorted_index->gaps, block, row);
    uint32_t last = 0;
    for (size_t i = 0; i < count; i++)
        row[i] = last += (uint32_t)row[i];
    return count;
}

// The last part that begins at or before the rank, or the key.
static size_t part_at(const uint64_t *before, size_t parts, uint64_t rank)
{
    HS_CHECK_SLOW(parts);
    return HS_SEARCH_LAST(parts, i, before[i] <= rank);
}

size_t hs_sorted_index__part_at(const struct hs_sorted_index *sorted_index, uint64_t rank)
{
    return part_at(sorted_index->before, sorted_index->parts, rank);
}

struct sorted_index_counting {
    const struct hs_sorted_index *sorted_index;
    const struct hs_row_set *set;
    uint64_t *count; // by part; one more
};

static void count_block(const struct sorted_index_counting *counting, uint64_t block)
{
    const struct hs_sorted_index *sorted_index = counting->sorted_index;
    uint64_t row[HS_PACKED_BLOCK], rank = block * HS_PACKED_BLOCK;
    size_t rows = hs_sorted_index__read(sorted_index, block, row),
           part = part_at(sorted_index->before, sorted_index->parts, rank);
    for (size_t i = 0; i < rows; part++) {
        uint64_t end = sorted_index->before[part + 1] - rank, here = 0;
        for (; i < rows && i < end; i++)
            here += hs_row_set__has(counting->set, (uint32_t)row[i]);
        __atomic_fetch_add(&counting->count[part], here, __ATOMIC_RELAXED);
    }
}

// There are no more ranks than rows: the scan's rows are taken for ranks.
static int count_ranks(void *argument, unsigned worker, uint64_t first, uint64_t end)
{
    const struct sorted_index_counting *counting = argument;
    (void)worker;
    for (uint64_t rank = first; rank < end && rank < counting->sorted_index->rows; rank += HS_PACKED_BLOCK)
        count_block(counting, rank / HS_PACKED_BLOCK);
    return 0;
}

int hs_sorted_index__count(const struct hs_sorted_index *sorted_index, const struct hs_row_set *set,
                           const struct hs_query_control *control, uint64_t **before, struct hs_error *error)
{
    struct sorted_index_counting counting = {sorted_index, set,
                                             calloc(sorted_index->parts + 2, sizeof(*counting.count))};
    const struct hs_scan scan = {
        sorted_index->store, NULL,      control, hs_scan__workers(sorted_index->store, control),
        count_ranks,         &counting, false,   0};
    int failed = counting.count ? hs_scan__run(&scan, error) : hs_error__set(error, ENOMEM, "query: out of memory");
    uint64_t sum = 0;
    for (size_t part = 0; !failed && part <= sorted_index->parts; part++) {
        uint64_t here = counting.count[part];
        counting.count[part] = sum;
        sum += here;
    }
    if (failed) {
        free(counting.count);
        counting.count = NULL;
    }
    *before = counting.count;
    return failed;
}

uint64_t hs_sorted_index__key(const struct hs_sorted_index *sorted_index, uint32_t row)
{
    const struct hs_columns *columns = hs_store__columns(sorted_index->store);
    if (sorted_index->key == HS_ROW_BY_ADDRESS)
        return hs_row__address(columns, row);
    if (sorted_index->key == HS_ROW_BY_SIZE)
        return hs_row__size(columns, row);
    uint64_t time = hs_row__time(columns, row);
    if (sorted_index->key == HS_ROW_BY_TIME)
        return time;
    uint64_t end = hs_row__free_time(columns, row);
    return (end == HS_NEVER ? hs_store__summary(sorted_index->store)->end_time : end) - time;
}

enum hs_row_key hs_sorted_index__by(const struct hs_sorted_index *sorted_index)
{
    return sorted_index->key;
}

bool hs_sorted_index__has_lifetimes(const struct hs_sorted_index *sorted_index)
{
    size_t zones;
    const struct hs_zone *zone = hs_store__zones(sorted_index->store, &zones);
    return sorted_index->key == HS_ROW_BY_LIFETIME &&
           (!zones || zone[zones - 1].time_max <= hs_store__summary(sorted_index->store)->end_time);
}

struct hs_sorted_part hs_sorted_index__part(const struct hs_sorted_index *sorted_index, size_t part)
{
    const bool last = part + 1 == sorted_index->parts;
    HS_CHECK(part < sorted_index->parts && sorted_index->before[part] <= sorted_index->before[part + 1]);
    return (struct hs_sorted_part){sorted_index->before[part],
                                   sorted_index->before[part + 1],
                                   {sorted_index->least[part], last ? UINT64_MAX : sorted_index->least[part + 1] - 1}};
}

static bool has_one_key(const struct hs_sorted_index *sorted_index, size_t part)
{
    const struct hs_bounds keys = hs_sorted_index__part(sorted_index, part).keys;
    return keys.least == keys.most;
}

// How many rows have a smaller key.
static uint64_t count_below(const struct hs_sorted_index *sorted_index, uint64_t key)
{
    uint64_t row[HS_PACKED_BLOCK];
    const size_t number = part_at(sorted_index->least, sorted_index->parts, key);
    const struct hs_sorted_part part = hs_sorted_index__part(sorted_index, number);
    uint64_t count = part.first, rank = part.first;
    while (key > part.keys.least && rank < part.end) {
        size_t rows = hs_sorted_index__read(sorted_index, rank / HS_PACKED_BLOCK, row);
        for (size_t i = rank % HS_PACKED_BLOCK; i < rows && rank < part.end; i++, rank++)
            count += hs_sorted_index__key(sorted_index, (uint32_t)row[i]) < key;
    }
    return count;
}

uint64_t hs_sorted_index__within(const struct hs_sorted_index *sorted_index, struct hs_bounds keys)
{
    if (keys.least > keys.most || !sorted_index->rows)
        return 0;
    uint64_t end = keys.most == UINT64_MAX ? sorted_index->rows : count_below(sorted_index, keys.most + 1);
    return end - count_below(sorted_index, keys.least);
}

// The rows of a part that are in the set, with the numbers [first, end) in the order of rows.
static void take_part(const struct hs_sorted_index *sorted_index, const struct hs_row_set *set, size_t part,
                      uint64_t first, uint64_t end, struct hs_keyed_row *to)
{
    uint64_t row[HS_PACKED_BLOCK], number = 0, rank = sorted_index->before[part],
                                   behind = sorted_index->before[part + 1];
    if (!set) { // each has its number
        rank += first;
        number = first;
    }
    while (rank < behind && number < end) {
        size_t count = hs_sorted_index__read(sorted_index, rank / HS_PACKED_BLOCK, row);
        for (size_t i = rank % HS_PACKED_BLOCK; i < count && rank < behind && number < end; i++, rank++) {
            if (set && !hs_row_set__has(set, (uint32_t)row[i]))
                continue;
            if (number++ >= first)
                *to++ = (struct hs_keyed_row){0, (uint32_t)row[i]};
        }
    }
}

static int take_sorted(const struct hs_sorted_index *sorted_index, const struct hs_row_set *set, size_t part,
                       uint64_t count, uint64_t first, uint64_t end, struct hs_keyed_row *to)
{
    struct hs_keyed_row *all = malloc((count + 1) * sizeof(*all));
    if (!all)
        return -ENOMEM;
    take_part(sorted_index, set, part, 0, count, all);
    for (uint64_t i = 0; i < count; i++)
        all[i].key = hs_sorted_index__key(sorted_index, all[i].row);
    hs_keyed_rows__sort(all, count);
    memcpy(to, all + first, (end - first) * sizeof(*all));
    free(all);
    return 0;
}

static int take_ranks(const struct hs_sorted_index *sorted_index, const struct hs_row_set *set, const uint64_t *before,
                      uint64_t first, uint64_t end, struct hs_keyed_row *to)
{
    int failed = 0;
    for (size_t part = part_at(before, sorted_index->parts, first); !failed && first < end; part++) {
        const uint64_t begin = before[part], behind = before[part + 1], last = end < behind ? end : behind;
        if (first >= last)
            continue;
        if (has_one_key(sorted_index, part))
            take_part(sorted_index, set, part, first - begin, last - begin, to);
        else
            failed = take_sorted(sorted_index, set, part, behind - begin, first - begin, last - begin, to);
        to += last - first;
        first = last;
    }
    return failed;
}

int hs_sorted_index__rows(const struct hs_sorted_index *sorted_index, const struct hs_row_set *set,
                          const uint64_t *before, bool descending, uint64_t skip, uint64_t limit, struct hs_rows *rows,
                          struct hs_error *error)
{
    before = set ? before : sorted_index->before;
    uint64_t first;
    int failed = hs_rows__make(rows, before[sorted_index->parts], descending, skip, limit, &first, error);
    if (failed)
        return failed;
    struct hs_keyed_row *page = malloc((rows->count + 1) * sizeof(*page));
    failed = page ? 0 : -ENOMEM;
    if (!failed && rows->count)
        failed = take_ranks(sorted_index, set, before, first, first + rows->count, page);
    for (size_t i = 0; !failed && i < rows->count; i++)
        rows->row[i] = page[descending ? rows->count - 1 - i : i].row;
    free(page);
    if (!failed)
        return 0;
    hs_rows__free(rows);
    return hs_error__set(error, -failed, "query: out of memory");
}
