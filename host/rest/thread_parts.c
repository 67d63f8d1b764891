// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/thread_parts.h"

#include "host/rest/sum_rows.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>

static int compare(const void *left, const void *right, void *context)
{
    const struct hs_sum_row *a = left, *b = right;
    const enum hs_cost cost = *(const enum hs_cost *)context;
    if (a->self[cost].bytes != b->self[cost].bytes)
        return a->self[cost].bytes > b->self[cost].bytes ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static int name_part(struct hs_thread_parts *parts, size_t number, const struct hs_store *store)
{
    // A frame that stands for a thread belongs to no library.
    static const char no_library[] = "";
    const struct hs_thread *thread = hs_store__thread(store, parts->stream[number]);
    char *name = NULL;
    if (asprintf(&name, "%s %u", thread && thread->name && *thread->name ? thread->name : "thread",
                 hs_write__thread(store, parts->stream[number])) < 0)
        return -ENOMEM;
    parts->frame[number] = (struct hs_frame){.function = name, .module = no_library};
    return 0;
}

static int choose(struct hs_thread_parts *parts, struct hs_question *question, struct hs_sum_rows *rows,
                  enum hs_cost cost)
{
    int result = hs_sum_rows__of_blocks(rows, question);
    if (result)
        return result;
    qsort_r(rows->row, rows->count, sizeof(*rows->row), compare, &cost);
    for (size_t i = 0; i < rows->count && parts->count < HS_THREAD_PARTS; i++) {
        if (!rows->row[i].self[cost].count)
            continue;
        parts->stream[parts->count] = (uint32_t)rows->row[i].number;
        if (name_part(parts, parts->count, question->store))
            return hs_error__set(&question->error, ENOMEM, "out of memory");
        parts->count++;
    }
    parts->frame[parts->count] = (struct hs_frame){.function = "other threads", .module = ""};
    return 0;
}

int hs_thread_parts__choose(struct hs_thread_parts *parts, struct hs_question *question, enum hs_cost cost)
{
    struct hs_sum_rows rows = {.by = HS_SUM_BY_THREAD, .costs = 1u << cost};
    if (question->events != HS_EVENTS_HEAP)
        return hs_error__set(&question->error, EINVAL,
                             "split: samples cannot be split by thread; use the filter thread");
    const int result = choose(parts, question, &rows, cost);
    hs_sum_rows__free(&rows);
    return result;
}

// The question about one thread is another question for a moment.
static int ask_thread(struct hs_question *question, uint32_t stream, enum hs_cost cost, struct hs_stack_values *values)
{
    const struct hs_filter filter = question->filter;
    char *const text = question->filter_text;
    const unsigned held = question->held_count;
    char *key = NULL;
    uint64_t *words = calloc(stream / 64 + 1, sizeof(*words));
    if (!words || asprintf(&key, "%s&&stream=%u", text ? text : "", stream) < 0) {
        free(words);
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    }
    words[stream / 64] = (uint64_t)1 << (stream % 64);
    question->filter.streams = (struct hs_set){words, (size_t)stream + 1};
    question->filter_text = key;
    const int result = hs_question__values(question, cost, values);
    question->filter = filter;
    question->filter_text = text;
    while (question->held_count > held)
        hs_cache__release(question->rest->cache, question->held[--question->held_count]);
    free(key);
    free(words);
    return result;
}

// The sums of the chosen threads.
static int ask_rest(const struct hs_thread_parts *parts, struct hs_question *question, enum hs_cost cost,
                    const struct hs_stack_values *all, struct hs_stack_values *values)
{
    struct hs_value rest = {0};
    for (size_t i = 0; i < all->count; i++) {
        rest.bytes += all->at[i].value.bytes;
        rest.count += all->at[i].value.count;
    }
    for (size_t number = 0; number < parts->count; number++) {
        struct hs_stack_values one;
        const int result = ask_thread(question, parts->stream[number], cost, &one);
        for (size_t i = 0; i < one.count; i++) {
            rest.bytes -= one.at[i].value.bytes;
            rest.count -= one.at[i].value.count;
        }
        hs_stack_values__free(&one);
        if (result)
            return result;
    }
    *values = (struct hs_stack_values){0};
    if (!rest.count)
        return 0;
    values->at = malloc(sizeof(*values->at));
    if (!values->at)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    values->at[0] = (struct hs_stack_value){.value = rest};
    values->count = values->room = 1;
    return 0;
}

int hs_thread_parts__values(const struct hs_thread_parts *parts, size_t number, struct hs_question *question,
                            enum hs_cost cost, const struct hs_stack_values *all, struct hs_stack_values *values)
{
    *values = (struct hs_stack_values){0};
    return number < parts->count ? ask_thread(question, parts->stream[number], cost, values)
                                 : ask_rest(parts, question, cost, all, values);
}

void hs_thread_parts__free(struct hs_thread_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        free((void *)(uintptr_t)parts->frame[i].function);
    parts->count = 0;
}
