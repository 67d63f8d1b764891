// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/row_set.h"

#include "host/query/block_scan.h"
#include "host/query/order.h"
#include "host/query/scan.h"

#include <errno.h>
#include <stdlib.h>

struct filling {
    struct hs_row_set *set;
    uint64_t *count; // by worker
};

// Blocks begin at whole words: no two workers touch the same one.
static int fill_block(void *context, unsigned worker, struct hs_matcher *matcher)
{
    const struct filling *filling = context;
    uint64_t *words = filling->set->words + matcher->block.number * (HS_PACKED_BLOCK / 64);
    for (size_t i = 0; i < matcher->count; i++) {
        size_t place = matcher->place[i];
        words[place / 64] |= (uint64_t)1 << (place % 64);
    }
    filling->count[worker] += matcher->count;
    return 0;
}

int hs_row_set__make(struct hs_row_set *set, const struct hs_store *store, const struct hs_filter *filter,
                     const struct hs_query_control *control, struct hs_error *error)
{
    *set = (struct hs_row_set){0};
    if (hs_store__summary(store)->is_aggregate)
        return hs_query__refuse_aggregate(error);
    unsigned workers = hs_scan__workers(store, control);
    set->bytes = (hs_store__columns(store)->rows / 64 + 1) * sizeof(*set->words);
    set->words = calloc(1, set->bytes);
    struct filling filling = {set, calloc(workers, sizeof(*filling.count))};
    const struct hs_block_scan scan = {store, filter, control, workers, fill_block, &filling};
    int failed = set->words && filling.count ? hs_block_scan__run(&scan, error)
                                             : hs_error__set(error, ENOMEM, "query: out of memory");
    for (unsigned i = 0; !failed && i < workers; i++)
        set->count += filling.count[i];
    free(filling.count);
    if (failed)
        hs_row_set__free(set);
    return failed;
}

void hs_row_set__free(struct hs_row_set *set)
{
    free(set->words);
    *set = (struct hs_row_set){0};
}

// The members with the numbers [first, first + count).
static void take(const struct hs_row_set *set, uint64_t first, uint64_t count, uint32_t *row)
{
    size_t word = 0;
    uint64_t number = 0, end = first + count;
    for (unsigned here; number + (here = (unsigned)__builtin_popcountll(set->words[word])) <= first; number += here)
        word++;
    for (; number < end; word++)
        for (uint64_t left = set->words[word]; left && number < end; left &= left - 1, number++)
            if (number >= first)
                *row++ = (uint32_t)(word * 64 + (unsigned)__builtin_ctzll(left));
}

int hs_row_set__rows(const struct hs_row_set *set, bool descending, uint64_t skip, uint64_t limit, struct hs_rows *rows,
                     struct hs_error *error)
{
    uint64_t first;
    int failed = hs_rows__make(rows, set->count, descending, skip, limit, &first, error);
    if (failed)
        return failed;
    if (rows->count)
        take(set, first, rows->count, rows->row);
    for (size_t low = 0, high = rows->count; descending && low + 1 < high; low++) {
        uint32_t row = rows->row[low];
        rows->row[low] = rows->row[--high];
        rows->row[high] = row;
    }
    return 0;
}
