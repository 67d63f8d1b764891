// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/sum_rows.h"

#include "host/report/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// ---- kept in the cache ----------------------------------------------------------------------------------------------

static void free_rows(void *value)
{
    hs_sum_rows__free(value);
    free(value);
}

struct sum_rows_making {
    struct hs_question *question;
    enum hs_sum_by by;
    unsigned costs;
};

static int make_rows(void *context, void **value, size_t *bytes, struct hs_error *error)
{
    const struct sum_rows_making *making = context;
    struct hs_sum_rows *rows = calloc(1, sizeof(*rows));
    if (!rows)
        return hs_error__set(error, ENOMEM, "out of memory");
    rows->by = making->by;
    rows->costs = making->costs;
    int result = making->by < HS_SUM_BY_THREAD ? hs_sum_rows__of_frames(rows, making->question)
                                               : hs_sum_rows__of_blocks(rows, making->question);
    if (result) {
        *error = making->question->error;
        free_rows(rows);
        return result;
    }
    *value = rows;
    *bytes = sizeof(*rows) + rows->room * sizeof(*rows->row) + rows->index.slots * sizeof(*rows->index.slot);
    return 0;
}

int hs_sum_rows__find(struct hs_question *question, enum hs_sum_by by, const struct hs_sum_rows **rows)
{
    const char *cost = hs_question__text(question, "cost");
    const unsigned known = hs_events__costs(question->events, question->store);
    struct sum_rows_making making = {
        .question = question, .by = by, .costs = strcmp(cost, "all") ? 1u << hs_cost__parse(cost) : known};
    if (!(making.costs & known))
        return hs_error__set(&question->error, EINVAL, "cost: '%s' is not known for %s", cost,
                             hs_events_kind__of(question->events)->words);
    char *key = NULL;
    void *value = NULL;
    const struct hs_cache_maker maker = {make_rows, &making, free_rows};
    if (asprintf(&key, "sums?%d&%d&%u&%s", (int)question->events, (int)by, making.costs, question->filter_text) < 0)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    int result = hs_question__cached(question, question->state, key, &maker, &value);
    free(key);
    *rows = value;
    return result;
}

// ---- one of their sums ----------------------------------------------------------------------------------------------

bool hs_sum_key__read(struct hs_sum_key *key, const char *word)
{
    const char *cost = strchr(word, '.');
    char name[16];
    *key = (struct hs_sum_key){0};
    if (!cost)
        return false;
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(cost + 1, "."), cost + 1);
    key->cost = hs_cost__parse(name);
    key->of_self = *word == 's';
    key->by_count = !strcmp(strrchr(word, '.'), ".count");
    return true;
}

uint64_t hs_sum_key__value(const struct hs_sum_key *key, const struct hs_sum_row *row)
{
    const struct hs_value *value = key->of_self ? &row->self[key->cost] : &row->total[key->cost];
    return key->by_count ? value->count : value->bytes;
}

void hs_sum_rows__write(struct hs_json *json, const char *key, const struct hs_sum_rows *rows,
                        const struct hs_value *values)
{
    hs_json__open_object(json, key);
    for (unsigned cost = 0; cost < HS_COST_COUNT; cost++) {
        if (!(rows->costs >> cost & 1))
            continue;
        hs_json__open_array(json, hs_cost__name((enum hs_cost)cost));
        hs_json__number(json, NULL, values[cost].bytes);
        hs_json__number(json, NULL, values[cost].count);
        hs_json__close_array(json);
    }
    hs_json__close_object(json);
}
