// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/ranked_page.h"

#include <errno.h>
#include <stdlib.h>

struct making {
    struct hs_question *question;
    const struct hs_ranked_page *page;
};

static void free_set(void *value)
{
    hs_row_set__free(value);
    free(value);
}

static int make_set(void *context, void **value, size_t *bytes, struct hs_error *error)
{
    const struct making *making = context;
    struct hs_question *question = making->question;
    struct hs_row_set *set = calloc(1, sizeof(*set));
    if (!set)
        return hs_error__set(error, ENOMEM, "out of memory");
    int result = hs_row_set__make(set, question->store, &question->filter, &question->control, error);
    if (result) {
        free(set);
        return result;
    }
    *value = set;
    *bytes = sizeof(*set) + set->bytes;
    return 0;
}

static int count(void *context, void **value, size_t *bytes, struct hs_error *error)
{
    const struct making *making = context;
    uint64_t *before = NULL;
    int result =
        hs_ranking__count(making->page->ranking, making->page->set, &making->question->control, &before, error);
    *value = before;
    *bytes = (hs_ranking__parts(making->page->ranking) + 1) * sizeof(*before);
    return result;
}

static int find(struct making *making, const char *what, int number, const struct hs_cache_maker *maker, void **value)
{
    struct hs_question *question = making->question;
    char *key = NULL;
    if (asprintf(&key, "%s?%d&%s", what, number, question->filter_text ? question->filter_text : "") < 0)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    int result = hs_question__cached(question, question->state, key, maker, value);
    free(key);
    return result;
}

int hs_ranked_page__find(struct hs_ranked_page *page, struct hs_question *question, enum hs_row_key key)
{
    struct making making = {question, page};
    const struct hs_cache_maker set_maker = {make_set, &making, free_set}, counter = {count, &making, free};
    void *value = NULL;
    *page = (struct hs_ranked_page){.ranking = hs_beforehand__ranking(question->state->beforehand, key)};
    if (!question->restricted && question->filter.domains == HS_FILTER_HEAP)
        return 0;
    if (question->filter.domains != HS_FILTER_HEAP)
        page->ranking = NULL;
    if (!page->ranking && key != HS_ROW_BY_TIME)
        return 0;
    int result = find(&making, "matches", (int)question->filter.domains, &set_maker, &value);
    page->set = value;
    if (result || !page->ranking)
        return result;
    result = find(&making, "before", (int)key, &counter, &value);
    page->before = value;
    return result;
}

int hs_ranked_page__rows(const struct hs_ranked_page *page, bool descending, uint64_t skip, uint64_t limit,
                         struct hs_rows *rows, struct hs_error *error)
{
    if (!page->ranking)
        return hs_row_set__rows(page->set, descending, skip, limit, rows, error);
    return hs_ranking__rows(page->ranking, page->set, page->before, descending, skip, limit, rows, error);
}
