// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /diff: what differs between two instants or ranges of a trace, or between two traces, by stack. Stacks are the same
// when the keys of their frames are.
#include "host/rest/diff.h"

#include "host/base/array.h"
#include "host/base/id_map.h"
#include "host/dump/series.h"
#include "host/query/order.h"
#include "host/rest/answers.h"
#include "host/rest/paging.h"
#include "host/rest/stack_hashes.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct hs_rest_parameter hs_diff_parameters[] = {
    HS_DIFF_PARAMETERS,
    {.name = "sort_by",
     .kind = HS_REST_CHOICE,
     .choices = "size_delta count_delta size_change count_change",
     .default_value = "size_change",
     .help = "the order of the rows: by the difference, or by its absolute value"},
    {.name = "order",
     .kind = HS_REST_CHOICE,
     .choices = "asc dsc",
     .default_value = "dsc",
     .help = "ascending (asc) or descending (dsc)"},
    {.name = "count", .kind = HS_REST_NUMBER, .help = "at most this many entries; default all"},
    {.name = "skip",
     .kind = HS_REST_NUMBER,
     .default_value = "0",
     .help = "leave out this many entries at the beginning"},
    {0},
};

struct diff_side {
    uint64_t bytes, usable, count;
};

// Stacks that look the same.
struct diff_group {
    uint64_t hash;
    uint32_t stack; // the least, of the trace that was asked if that has one
    bool only_in_base;
    struct diff_side base, now;
};

struct diff {
    struct hs_question base_question; // to write stacks of the other trace with
    bool same_trace;
    struct diff_group *group;
    size_t count, room;
    struct hs_id_map numbers; // of groups, by hash
    struct hs_keyed_row *order;
    struct diff_side base, now;
    enum hs_cost cost;
};

static void free_diff(void *work)
{
    struct diff *diff = work;
    free(diff->group);
    hs_id_map__free(&diff->numbers);
    free(diff->order);
    free(diff);
}

static void add(struct diff_side *to, const struct diff_side *from)
{
    to->bytes += from->bytes;
    to->usable += from->usable;
    to->count += from->count;
}

// ---- groups ---------------------------------------------------------------------------------------------------------

static struct diff_group *group_of(struct diff *diff, uint64_t hash, uint32_t stack, bool now)
{
    const uint32_t number = hs_id_map__find(&diff->numbers, hash);
    if (number != UINT32_MAX) {
        struct diff_group *group = &diff->group[number];
        if (diff->same_trace && stack < group->stack)
            group->stack = stack;
        return group;
    }
    if (!HS_ARRAY_HAS_ROOM(diff->group, diff->count, diff->room) ||
        hs_id_map__set(&diff->numbers, hash, (uint32_t)diff->count))
        return NULL;
    struct diff_group *group = &diff->group[diff->count++];
    *group = (struct diff_group){.hash = hash, .stack = stack, .only_in_base = !now && !diff->same_trace};
    return group;
}

static uint64_t usable_of(const struct hs_total *total, enum hs_cost cost)
{
    return cost == HS_COST_LIVE   ? total->live_usable
           : cost == HS_COST_PEAK ? total->peak_usable
                                  : total->allocated_usable;
}

// Of temporary blocks, usable sizes are not added up.
static struct diff_side side_of(const struct hs_total *total, enum hs_cost cost)
{
    return (struct diff_side){hs_cost__bytes(total, cost), cost == HS_COST_TEMPORARY ? 0 : usable_of(total, cost),
                              hs_cost__blocks(total, cost)};
}

struct taking {
    struct diff *diff;
    struct hs_stack_hashes *hashes;
    bool now;
};

static int take_total(void *context, const struct hs_total *total)
{
    const struct taking *taking = context;
    const struct diff_side side = side_of(total, taking->diff->cost);
    uint64_t hash;
    if (!side.bytes && !side.count)
        return 0;
    if (hs_stack_hashes__find(taking->hashes, total->stack, &hash))
        return -ENOMEM;
    struct diff_group *group = group_of(taking->diff, hash, total->stack, taking->now);
    if (!group)
        return -ENOMEM;
    add(taking->now ? &group->now : &group->base, &side);
    add(taking->now ? &taking->diff->now : &taking->diff->base, &side);
    return 0;
}

// Rows of the requested trace come before those of the other one.
static int add_sides(struct diff *diff, const struct hs_rest_state *now_state, const struct hs_stack_totals *now,
                     const struct hs_rest_state *base_state, const struct hs_stack_totals *base)
{
    const struct hs_frame_source source = hs_diff__source(now_state, base_state);
    struct taking taking = {diff, hs_stack_hashes__create(now_state->symbols, &source), true};
    int failed = taking.hashes ? hs_stack_totals__each(now, take_total, &taking) : -ENOMEM;
    taking.now = false;
    if (!failed && !diff->same_trace) {
        const struct hs_frame_source base_source = hs_diff__source(base_state, now_state);
        hs_stack_hashes__destroy(taking.hashes);
        taking.hashes = hs_stack_hashes__create(base_state->symbols, &base_source);
    }
    if (!failed)
        failed = taking.hashes ? hs_stack_totals__each(base, take_total, &taking) : -ENOMEM;
    hs_stack_hashes__destroy(taking.hashes);
    return failed;
}

// ---- order ----------------------------------------------------------------------------------------------------------

struct diff_sorting {
    bool counts, changes;
};

static uint64_t key_of(const struct diff_sorting *sorting, const struct diff_group *group)
{
    uint64_t delta = sorting->counts ? group->now.count - group->base.count : group->now.bytes - group->base.bytes;
    delta = sorting->changes && delta >> 63 ? 0 - delta : delta;
    return delta ^ (uint64_t)1 << 63;
}

// Groups without a difference are left out.
static void leave_out_equal(struct diff *diff)
{
    size_t kept = 0;
    for (size_t i = 0; i < diff->count; i++)
        if (memcmp(&diff->group[i].base, &diff->group[i].now, sizeof(struct diff_side)) != 0)
            diff->group[kept++] = diff->group[i];
    diff->count = kept;
    hs_id_map__free(&diff->numbers);
}

// By key, then by stack.
static int sort(struct hs_question *question, struct diff *diff)
{
    const char *word = hs_question__text(question, "sort_by");
    const struct diff_sorting sorting = {!strncmp(word, "count", 5), strstr(word, "change") != NULL};
    leave_out_equal(diff);
    struct hs_keyed_row *by_stack = malloc((diff->count + 1) * sizeof(*by_stack));
    diff->order = malloc((diff->count + 1) * sizeof(*diff->order));
    if (!by_stack || !diff->order) {
        free(by_stack);
        return -ENOMEM;
    }
    for (size_t i = 0; i < diff->count; i++)
        by_stack[i] = (struct hs_keyed_row){diff->group[i].stack, (uint32_t)i};
    hs_keyed_rows__sort(by_stack, diff->count);
    for (size_t i = 0; i < diff->count; i++)
        diff->order[i] = (struct hs_keyed_row){key_of(&sorting, &diff->group[by_stack[i].row]), (uint32_t)i};
    hs_keyed_rows__sort(diff->order, diff->count);
    for (size_t i = 0; i < diff->count; i++)
        diff->order[i].row = by_stack[diff->order[i].row].row;
    free(by_stack);
    return 0;
}

// ---- the question ---------------------------------------------------------------------------------------------------

int hs_hold__diff(struct hs_question *question)
{
    const char *id = hs_question__text(question, "base");
    if (!id)
        return 0;
    struct hs_rest_trace *trace = hs_rest_traces__find(question->rest->traces, id);
    if (!trace)
        return hs_error__set(&question->error, EINVAL, "base: there is no trace '%s'; /list lists them", id);
    question->other_trace = trace;
    return hs_rest_trace__hold(trace, &question->other, &question->error);
}

static bool lacks_libraries(const struct hs_rest_state *state)
{
    return state->series && hs_dump__lacks_libraries(state->series->view.dumps[0]);
}

struct hs_frame_source hs_diff__source(const struct hs_rest_state *state, const struct hs_rest_state *other)
{
    return hs_frame_source__of(state->store, lacks_libraries(state) || lacks_libraries(other));
}

// A heap dump may lack a cost. What it has is compared if no cost is given.
int hs_diff__cost(struct hs_question *question, const struct hs_rest_state *base, enum hs_cost *cost)
{
    *cost = HS_COST_ALLOCATED;
    if (!hs_uri__value(&question->uri, "cost"))
        return 0;
    const char *word = hs_question__text(question, "cost");
    const int result = hs_question__read_cost(question, question->store, word, cost);
    return result ? result : hs_question__read_cost(question, base->store, word, cost);
}

static int check_range(struct hs_question *question, const struct hs_rest_state *state, const char *const names[2])
{
    uint64_t from = 0, to = hs_store__summary(state->store)->end_time;
    return hs_question__range(question, state, names, &from, &to);
}

int hs_diff__check_ranges(struct hs_question *question, const struct hs_rest_state *base)
{
    static const char *const now_names[] = {"from", "to"}, *const base_names[] = {"base_from", "base_to"};
    const int result = check_range(question, question->state, now_names);
    return result ? result : check_range(question, base, base_names);
}

// Of two traces, the path's one is meant if the error does not name the other.
static int name_base(struct hs_question *question, int result)
{
    const struct hs_error error = question->error;
    return result == -ENOTSUP && question->other ? hs_error__set(&question->error, ENOTSUP, "base: %s", error.message)
                                                 : result;
}

int hs_diff__base(struct hs_question *question, const struct hs_rest_state *state, struct hs_stack_totals *totals)
{
    struct hs_filter filter;
    char *key;
    int result = hs_question__base_filter(question, state, &filter, &key);
    if (!result)
        result = hs_question__stack_totals_of(question, state, &filter, key, totals);
    free(key);
    return name_base(question, result);
}

int hs_prepare__diff(struct hs_question *question)
{
    const struct hs_rest_state *base = question->other ? question->other : question->state;
    struct hs_stack_totals now, before;
    struct diff *diff = calloc(1, sizeof(*diff));
    if (!diff)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = diff;
    question->free_work = free_diff;
    int result = hs_diff__check_ranges(question, base);
    if (!result)
        result = hs_diff__cost(question, base, &diff->cost);
    if (!result)
        result = hs_question__stack_totals(question, &now);
    if (!result)
        result = hs_diff__base(question, base, &before);
    if (result)
        return result;
    diff->same_trace = base == question->state;
    diff->base_question =
        (struct hs_question){.store = base->store, .state = base, .symbols = base->symbols, .strip = question->strip};
    if (add_sides(diff, question->state, &now, base, &before) || sort(question, diff))
        return hs_error__set(&question->error, ENOMEM, "out of memory; a narrower filter needs less");
    result = hs_rest_state__prepare_frame_counts(base, &question->error);
    return result ? result : hs_rest_state__prepare_frame_counts(question->state, &question->error);
}

static void write_side(struct hs_json *json, const struct diff *diff, const char *key, const struct diff_side *side)
{
    hs_json__open_object(json, key);
    hs_json__number(json, "size", side->bytes);
    if (diff->cost == HS_COST_TEMPORARY)
        hs_json__null(json, "usable_size");
    else
        hs_json__number(json, "usable_size", side->usable);
    hs_json__number(json, "count", side->count);
    hs_json__close_object(json);
}

static void write_sides(struct hs_json *json, const struct diff *diff, const struct diff_side *base,
                        const struct diff_side *now)
{
    write_side(json, diff, "base", base);
    write_side(json, diff, "now", now);
    hs_json__signed(json, "size_delta", (int64_t)(now->bytes - base->bytes));
    hs_json__signed(json, "count_delta", (int64_t)(now->count - base->count));
}

int hs_answer__diff(struct hs_question *question, FILE *out)
{
    const struct diff *diff = question->work;
    struct hs_json json;
    bool descending = strcmp(hs_question__text(question, "order"), "asc") != 0;
    struct hs_paging paging = hs_paging__start(question, out, diff->count);
    uint64_t i;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    write_sides(&json, diff, &diff->base, &diff->now);
    hs_json__open_array(&json, "stacks");
    while (hs_paging__next(&paging, &i)) {
        const struct diff_group *group = &diff->group[diff->order[descending ? diff->count - 1 - i : i].row];
        hs_json__open_object(&json, NULL);
        write_sides(&json, diff, &group->base, &group->now);
        hs_json__number(&json, "backtrace_id", group->stack);
        hs_json__boolean(&json, "only_in_base", group->only_in_base);
        hs_write__backtrace(&json, "backtrace", group->only_in_base ? &diff->base_question : question, group->stack);
        hs_json__close_object(&json);
    }
    hs_json__close_array(&json);
    hs_json__number(&json, "total_count", diff->count);
    hs_paging__end(&paging, &json);
    hs_json__close_object(&json);
    return 0;
}
