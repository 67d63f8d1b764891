// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /allocation_groups: the blocks by their stacks. A group's half `only_matched` is about those that the filter lets
// through, the half `all` about the whole trace.
#include "host/query/order.h"
#include "host/rest/answers.h"
#include "host/rest/paging.h"
#include "host/rest/write.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define HALF(name)                                                                                                     \
    name ".min_timestamp " name ".max_timestamp " name ".interval " name ".allocated_count " name                      \
         ".leaked_count " name ".leaked_size " name ".size"

const struct hs_rest_parameter hs_groups_parameters[] = {
    {.name = "sort_by",
     .kind = HS_REST_CHOICE,
     .choices = HALF("only_matched") " " HALF("all") " all.max_total_usage_first_seen_at",
     .default_value = "only_matched.min_timestamp",
     .help = "the order of the groups"},
    {.name = "generate_graphs",
     .kind = HS_REST_FLAG,
     .default_value = "false",
     .help = "accepted for older clients; no pictures are made, and the URLs are null"},
    {0},
};

// ---- order ----------------------------------------------------------------------------------------------------------

struct groups_sorting {
    struct hs_question *question;
    const struct hs_stack_totals *stacks;
    const char *word;
    struct hs_keyed_row *row; // stacks
    size_t count, room;
    size_t at; // all before it have their keys
};

struct groups_order {
    size_t count;
    uint32_t stack[]; // ascending; equal ones by stack
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
    if (!strcmp(word, "leaked_size"))
        return total->live_bytes;
    return !strcmp(word, "leaked_count") ? total->live_count : total->allocated_bytes;
}

static int add_row(struct groups_sorting *sorting, uint32_t stack, uint64_t key)
{
    if (sorting->count == sorting->room)
        return -ENOMEM; // there are more than were counted: the store's files are being changed
    sorting->row[sorting->count++] = (struct hs_keyed_row){key, stack};
    return 0;
}

static int take_matched(void *context, const struct hs_total *total)
{
    struct groups_sorting *sorting = context;
    return add_row(sorting, total->stack, half_key(total, sorting->word + sizeof("only_matched.") - 1));
}

static int take_stack(void *context, uint32_t stack, uint64_t bytes, uint64_t count)
{
    (void)bytes;
    (void)count;
    return add_row(context, stack, 0);
}

// Both the groups and the stacks come in the order of stacks.
static int take_group(void *context, const struct hs_group *group)
{
    struct groups_sorting *sorting = context;
    const char *word = sorting->word + sizeof("all.") - 1;
    while (sorting->at < sorting->count && sorting->row[sorting->at].row < group->total.stack)
        sorting->at++;
    if (sorting->at < sorting->count && sorting->row[sorting->at].row == group->total.stack)
        sorting->row[sorting->at++].key =
            !strcmp(word, "max_total_usage_first_seen_at") ? group->usage_max_time : half_key(&group->total, word);
    return 0;
}

static int take_keys(struct groups_sorting *sorting)
{
    if (!strncmp(sorting->word, "only_matched.", sizeof("only_matched.") - 1))
        return hs_stack_totals__each(sorting->stacks, take_matched, sorting);
    int failed = hs_stack_totals__each_value(sorting->stacks, HS_TOTAL_STACK, HS_TOTAL_STACK, take_stack, sorting);
    return failed ? failed : hs_filter_scope__each_group(sorting->question->state->scope, take_group, sorting);
}

static int make_order(void *context, void **value, size_t *bytes, struct hs_error *error)
{
    struct groups_sorting *sorting = context;
    sorting->room = hs_stack_totals__count(sorting->stacks);
    struct groups_order *order = malloc(sizeof(*order) + sorting->room * sizeof(order->stack[0]));
    sorting->row = malloc((sorting->room + 1) * sizeof(*sorting->row));
    int failed = order && sorting->row ? take_keys(sorting) : -ENOMEM;
    if (failed) {
        free(order);
        free(sorting->row);
        return hs_error__set(error, ENOMEM, "out of memory");
    }
    hs_keyed_rows__sort(sorting->row, sorting->count);
    order->count = sorting->count;
    for (size_t i = 0; i < sorting->count; i++)
        order->stack[i] = sorting->row[i].row;
    free(sorting->row);
    struct groups_order *fitting = realloc(order, sizeof(*order) + order->count * sizeof(order->stack[0]));
    *value = fitting ? fitting : order;
    *bytes = malloc_usable_size(*value);
    return 0;
}

// ---- the question ---------------------------------------------------------------------------------------------------

struct groups {
    struct hs_stack_totals stacks;
    const struct groups_order *order;
};

int hs_prepare__groups(struct hs_question *question)
{
    struct groups *groups = calloc(1, sizeof(*groups));
    if (!groups)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = groups;
    question->free_work = free;
    int result = hs_question__stack_totals(question, &groups->stacks);
    if (!result)
        result = hs_filter_scope__prepare_groups(question->state->scope, true, &question->control, &question->error);
    if (result)
        return result;
    char *key = NULL;
    void *value = NULL;
    struct groups_sorting sorting = {
        .question = question, .stacks = &groups->stacks, .word = hs_question__text(question, "sort_by")};
    const struct hs_cache_maker maker = {make_order, &sorting, free};
    if (asprintf(&key, "groups?%s&%s", sorting.word, question->filter_text) < 0)
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
    uint64_t total = groups->order->count, i;
    struct hs_paging paging = hs_paging__start(question, out, total);
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__open_array(&json, "allocations");
    while (hs_paging__next(&paging, &i)) {
        struct hs_total matched;
        if (hs_stack_totals__find(&groups->stacks, groups->order->stack[descending ? total - 1 - i : i], &matched))
            write_group(&json, question, &matched);
    }
    hs_json__close_array(&json);
    hs_json__number(&json, "total_count", total);
    hs_paging__end(&paging, &json);
    hs_json__close_object(&json);
    return 0;
}
