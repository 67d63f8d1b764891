// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/sorted_page.h"

#include "host/query/order.h"
#include "host/query/page_scan.h"
#include "host/query/planner.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

// ---- what is kept of a filter --------------------------------------------------------------------------------------

static int find(struct hs_sorted_page *page, const char *what, int number, const struct hs_cache_maker *maker,
                void **value)
{
    struct hs_question *question = page->question;
    char *key = NULL;
    if (asprintf(&key, "%s?%d&%s", what, number, question->filter_text ? question->filter_text : "") < 0)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    int result = hs_question__cached(question, question->state, key, maker, value);
    free(key);
    return result;
}

static void free_set(void *value)
{
    hs_row_set__free(value);
    free(value);
}

static int make_set(void *context, void **value, size_t *bytes, struct hs_error *error)
{
    const struct hs_sorted_page *page = context;
    struct hs_question *question = page->question;
    struct hs_row_set *set = calloc(1, sizeof(*set));
    if (!set)
        return hs_error__set(error, ENOMEM, "out of memory");
    int result = hs_row_set__make(set, question->store, &question->filter, &question->control, error);
    if (result) {
        free(set);
        return result;
    }
    *value = set;
    *bytes = sizeof(*set) + malloc_usable_size(set->words);
    return 0;
}

static int find_set(struct hs_sorted_page *page)
{
    const struct hs_cache_maker maker = {make_set, page, free_set};
    void *value = NULL;
    if (page->set)
        return 0;
    int result = find(page, "matches", (int)page->question->filter.domains, &maker, &value);
    page->set = value;
    page->total = result ? 0 : page->set->count;
    return result;
}

static int count_before(void *context, void **value, size_t *bytes, struct hs_error *error)
{
    const struct hs_sorted_page *page = context;
    uint64_t *before = NULL;
    int result = hs_sorted_index__count(page->sorted_index, page->set, &page->question->control, &before, error);
    *value = before;
    *bytes = (hs_sorted_index__parts(page->sorted_index) + 1) * sizeof(*before);
    return result;
}

// ---- how many rows match -------------------------------------------------------------------------------------------

struct counting {
    const struct hs_question *question;
    struct hs_plan plan;
};

static int count_matches(void *context, void **value, size_t *bytes, struct hs_error *error)
{
    const struct counting *counting = context;
    const struct hs_question *question = counting->question;
    uint64_t *count = malloc(sizeof(*count));
    if (!count)
        return hs_error__set(error, ENOMEM, "out of memory");
    *value = count;
    *bytes = sizeof(*count);
    int result = hs_query__count_as_planned(question->store, &question->filter, &question->control, &counting->plan,
                                            count, error);
    if (result)
        free(count);
    return result;
}

static int find_total(struct hs_sorted_page *page)
{
    const struct hs_question *question = page->question;
    struct counting counting = {
        question, hs_planner__choose(&question->control, question->store, &question->filter, HS_ASKED_COUNT)};
    const struct hs_cache_maker maker = {count_matches, &counting, free};
    void *value = NULL;
    // All rows would be read: then what matches is kept, too.
    if (counting.plan.by == HS_BY_SCAN)
        return find_set(page);
    int result = find(page, "count", (int)page->question->filter.domains, &maker, &value);
    page->total = result ? 0 : *(const uint64_t *)value;
    return result;
}

// ---- pages ---------------------------------------------------------------------------------------------------------

int hs_sorted_page__find(struct hs_sorted_page *page, struct hs_question *question, enum hs_row_key key)
{
    const bool of_heap = question->filter.domains == HS_FILTER_HEAP;
    const enum hs_asked asked = (enum hs_asked)(HS_ASKED_PAGE + key);
    const struct hs_plan plan = hs_planner__choose(&question->control, question->store, &question->filter, asked);
    *page = (struct hs_sorted_page){.question = question,
                                    .key = key,
                                    .sorted_index = plan.sorted_index,
                                    .rank_counts = plan.rank_counts,
                                    .is_filtered = question->restricted || !of_heap};
    page->is_there = page->sorted_index || (page->is_filtered && key == HS_ROW_BY_TIME);
    return page->is_there && page->is_filtered ? find_total(page) : 0;
}

// ---- few rows of many, sorted --------------------------------------------------------------------------------------

enum { FEW = 1 << 20 };

static int sort_matches(void *context, void **value, size_t *bytes, struct hs_error *error)
{
    const struct hs_sorted_page *page = context;
    const struct hs_question *question = page->question;
    struct hs_keyed_row *sorted = NULL;
    size_t count = 0;
    int result = hs_order__extreme(question->store, &question->filter, page->key, false, page->total,
                                   &question->control, &sorted, &count, error);
    if (!result && count != page->total) {
        free(sorted);
        return hs_error__set(error, EIO, "%zu rows match where %llu were counted", count,
                             (unsigned long long)page->total);
    }
    *value = sorted;
    *bytes = (count + 1) * sizeof(*sorted);
    return result;
}

static int find_among_few(struct hs_sorted_page *page, bool descending, uint64_t skip, uint64_t limit,
                          struct hs_rows *rows, struct hs_error *error)
{
    const struct hs_cache_maker maker = {sort_matches, page, free};
    void *sorted = NULL;
    int result = find(page, "sorted", (int)page->key, &maker, &sorted);
    return result ? result : hs_keyed_rows__page(sorted, page->total, descending, skip, limit, rows, error);
}

// Far from both ends of the list.
static int find_far_rows(struct hs_sorted_page *page, bool descending, uint64_t skip, uint64_t limit,
                         struct hs_rows *rows, struct hs_error *error)
{
    const struct hs_cache_maker maker = {count_before, page, free};
    void *before = NULL;
    int result = find_set(page);
    if (!result && page->sorted_index)
        result = find(page, "before", (int)page->key, &maker, &before);
    if (result)
        return result;
    if (!page->sorted_index)
        return hs_row_set__rows(page->set, descending, skip, limit, rows, error);
    return hs_sorted_index__rows(page->sorted_index, page->set, before, descending, skip, limit, rows, error);
}

int hs_sorted_page__rows(struct hs_sorted_page *page, bool descending, uint64_t skip, uint64_t limit,
                         struct hs_rows *rows, struct hs_error *error)
{
    const struct hs_question *question = page->question;
    const struct hs_query_control *control = &question->control;
    const struct hs_page_scan near = {.store = question->store,
                                      .filter = &question->filter,
                                      .set = page->set,
                                      .rank_counts = page->rank_counts,
                                      .total = page->total,
                                      .descending = descending,
                                      .skip = skip,
                                      .limit = limit};
    if (!page->is_filtered) {
        hs_query__explain(control, HS_ASKED_PAGE, HS_BY_SORTED_INDEX);
        return hs_sorted_index__rows(page->sorted_index, NULL, NULL, descending, skip, limit, rows, error);
    }
    if (page->set && !page->sorted_index) {
        hs_query__explain(control, HS_ASKED_PAGE, HS_BY_ROW_SET);
        return hs_row_set__rows(page->set, descending, skip, limit, rows, error);
    }
    int result = hs_page_scan__rows(&near, page->sorted_index, rows, error);
    const bool is_of_few = page->sorted_index && page->total <= FEW;
    hs_query__explain(control, HS_ASKED_PAGE,
                      result != -E2BIG ? (page->rank_counts ? HS_BY_RANK_COUNTS : HS_BY_PAGE_SCAN)
                      : is_of_few      ? HS_BY_SORTED_ROWS
                                       : HS_BY_ROW_SET);
    if (result != -E2BIG)
        return result;
    return is_of_few ? find_among_few(page, descending, skip, limit, rows, error)
                     : find_far_rows(page, descending, skip, limit, rows, error);
}
