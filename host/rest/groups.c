// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /allocation_groups: the blocks by their stacks. A group's half `only_matched` is about those that the filter lets
// through, the half `all` about the whole trace.
#include "host/rest/answers.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HALF(name)                                                                                                     \
    name ".min_timestamp " name ".max_timestamp " name ".interval " name ".allocated_count " name                      \
         ".leaked_count " name ".size"

const struct hs_rest_parameter hs_groups_parameters[] = {
    {.name = "sort_by",
     .kind = HS_REST_CHOICE,
     .choices = HALF("only_matched") " " HALF("all") " all.max_total_usage_first_seen_at",
     .otherwise = "only_matched.min_timestamp",
     .help = "the order of the groups"},
    {.name = "generate_graphs",
     .kind = HS_REST_FLAG,
     .otherwise = "false",
     .help = "taken for the sake of older clients; no pictures are made, the URLs are null"},
    {0},
};

struct sorting {
    struct hs_question *question;
    const struct hs_totals *totals;
    uint64_t *key; // by place in the totals
};

static uint64_t half_key(const struct hs_total *total, const char *word)
{
    if (!strcmp(word, "min_timestamp"))
        return total->first_time;
    if (!strcmp(word, "max_timestamp"))
        return total->last_time;
    if (!strcmp(word, "interval"))
        return total->last_time - total->first_time;
    if (!strcmp(word, "allocated_count"))
        return total->allocated_count;
    return !strcmp(word, "leaked_count") ? total->live_count : total->allocated_bytes;
}

static uint64_t key_of(const struct sorting *sorting, const struct hs_total *total, const char *word)
{
    struct hs_group group;
    if (!strncmp(word, "only_matched.", 13))
        return half_key(total, word + 13);
    if (!hs_filter_scope__group(sorting->question->state->scope, total->stack, &group))
        return 0;
    if (!strcmp(word, "all.max_total_usage_first_seen_at"))
        return group.usage_max_time;
    return half_key(&group.total, word + 4);
}

static int compare(const void *left, const void *right, void *context)
{
    const struct sorting *sorting = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (sorting->key[a] != sorting->key[b])
        return sorting->key[a] < sorting->key[b] ? -1 : 1;
    return (a > b) - (a < b);
}

// Places of the groups in ascending order; equal ones by stack.
static int make_order(void *context, void **value, size_t *bytes, struct hs_error *error)
{
    struct sorting *sorting = context;
    const char *word = hs_question__text(sorting->question, "sort_by");
    size_t count = sorting->totals->count;
    uint32_t *order = malloc((count + 1) * sizeof(*order));
    sorting->key = malloc((count + 1) * sizeof(*sorting->key));
    if (!order || !sorting->key) {
        free(order);
        free(sorting->key);
        return hs_error__set(error, ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        order[i] = (uint32_t)i;
        sorting->key[i] = key_of(sorting, &sorting->totals->total[i], word);
    }
    qsort_r(order, count, sizeof(*order), compare, sorting);
    free(sorting->key);
    *value = order;
    *bytes = count * sizeof(*order);
    return 0;
}

struct groups {
    const struct hs_totals *totals;
    const uint32_t *order;
};

int hs_prepare__groups(struct hs_question *question)
{
    struct groups *groups = calloc(1, sizeof(*groups));
    if (!groups)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = groups;
    question->free_work = free;
    int result = hs_question__totals(question, &groups->totals);
    if (!result)
        result = hs_filter_scope__prepare_groups(question->state->scope, true, &question->control, &question->error);
    if (result)
        return result;
    char *key = NULL;
    void *value = NULL;
    struct sorting sorting = {.question = question, .totals = groups->totals};
    const struct hs_cache_maker maker = {make_order, &sorting, free};
    if (asprintf(&key, "groups?%s&%s", hs_question__text(question, "sort_by"), question->filter_text) < 0)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    result = hs_question__cached(question, question->state, key, &maker, &value);
    free(key);
    groups->order = value;
    return result ? result : hs_rest_state__prepare_frame_counts(question->state, &question->error);
}

static void write_half(struct hs_json *json, const char *key, const struct hs_store *store,
                       const struct hs_total *total, const struct hs_group *group)
{
    bool has_rows = total->size_min <= total->size_max;
    uint64_t first = has_rows ? total->first_time : 0, last = has_rows ? total->last_time : 0;
    hs_json__open_object(json, key);
    hs_json__number(json, "size", total->allocated_bytes);
    hs_json__number(json, "min_size", has_rows ? total->size_min : 0);
    hs_json__number(json, "max_size", has_rows ? total->size_max : 0);
    hs_write__times(json, "min_timestamp", store, first);
    hs_write__times(json, "max_timestamp", store, last);
    hs_write__interval(json, "interval", last - first);
    hs_json__number(json, "leaked_count", total->live_count);
    hs_json__number(json, "allocated_count", total->allocated_count);
    hs_json__null(json, "graph_preview_url");
    hs_json__null(json, "graph_url");
    if (group) {
        hs_write__times(json, "max_total_usage_first_seen_at", store, group->usage_max_time);
    } else {
        hs_json__null(json, "max_total_usage_first_seen_at");
        hs_json__null(json, "max_total_usage_first_seen_at_relative");
        hs_json__null(json, "max_total_usage_first_seen_at_relative_p");
    }
    hs_json__number(json, "usable_size", total->allocated_usable);
    hs_json__number(json, "leaked_size", total->live_bytes);
    hs_json__number(json, "leaked_usable_size", total->live_usable);
    hs_json__close_object(json);
}

static void write_group(struct hs_json *json, const struct hs_question *question, const struct hs_total *total)
{
    struct hs_group group = {.total = *total};
    hs_filter_scope__group(question->state->scope, total->stack, &group);
    hs_json__open_object(json, NULL);
    write_half(json, "all", question->store, &group.total, &group);
    write_half(json, "only_matched", question->store, total, NULL);
    hs_json__number(json, "backtrace_id", total->stack);
    hs_write__backtrace(json, "backtrace", question, total->stack);
    hs_json__close_object(json);
}

int hs_answer__groups(struct hs_question *question, FILE *out)
{
    const struct groups *groups = question->work;
    struct hs_json json;
    bool descending = !strcmp(hs_question__text(question, "order"), "dsc");
    uint64_t total = groups->totals->count;
    uint64_t skip = hs_question__number(question, "skip", 0);
    uint64_t count = hs_question__number(question, "count", UINT64_MAX);
    skip = skip < total ? skip : total;
    count = count < total - skip ? count : total - skip;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__open_array(&json, "allocations");
    for (uint64_t i = skip; i < skip + count && !ferror(out); i++) {
        uint32_t place = groups->order[descending ? total - 1 - i : i];
        write_group(&json, question, &groups->totals->total[place]);
    }
    hs_json__close_array(&json);
    hs_json__number(&json, "total_count", total);
    hs_json__close_object(&json);
    return 0;
}
