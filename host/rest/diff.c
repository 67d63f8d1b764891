// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /diff: what differs between two instants of a trace, or between two traces, by stack. Stacks are the same when their
// functions are: addresses are others in another run, and lines in another build.
#include "host/rest/answers.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct hs_rest_parameter hs_diff_parameters[] = {
    {.name = "base", .kind = HS_REST_TEXT, .help = "the id of the trace to compare with, this trace when not given"},
    {.name = "base_at",
     .kind = HS_REST_INSTANT,
     .help = "compare with what was there at this instant of it: a time, or 'peak'"},
    {.name = "sort_by",
     .kind = HS_REST_CHOICE,
     .choices = "size_delta count_delta size_change count_change",
     .otherwise = "size_change",
     .help = "by the difference, or by how large it is in either direction"},
    {.name = "order",
     .kind = HS_REST_CHOICE,
     .choices = "asc dsc",
     .otherwise = "dsc",
     .help = "ascending or descending"},
    {.name = "count", .kind = HS_REST_NUMBER, .help = "at most so many, all when not given"},
    {.name = "skip", .kind = HS_REST_NUMBER, .otherwise = "0", .help = "leave out so many at the beginning"},
    {0},
};

struct side {
    uint64_t bytes, usable, count;
};

// Stacks that look the same.
struct group {
    uint64_t hash;
    const struct hs_question *question; // whose stack it is
    uint32_t stack;
    struct side base, now;
};

struct diff {
    struct hs_question base_question; // to write stacks of the other trace with
    struct group *group;
    size_t count;
    uint32_t *order;
    struct side base, now;
};

static void free_diff(void *work)
{
    struct diff *diff = work;
    free(diff->group);
    free(diff->order);
    free(diff);
}

// ---- which stacks are the same --------------------------------------------------------------------------------------

static uint64_t mix(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return (hash ^ 0xff) * 0x100000001b3u;
}

// What has no name is known by its place in its module.
static uint64_t mix_frame(uint64_t hash, const struct hs_frame *frame)
{
    if (frame->kind == HS_FRAME_ADDRESS && *frame->module)
        return mix(hash, hs_base_name(frame->module));
    return mix(mix(hash, frame->function), hs_base_name(frame->module));
}

static uint64_t hash_of(const struct hs_question *question, uint32_t stack)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint32_t node = stack; node; node = hs_trace_symbols__parent(question->symbols, node)) {
        const struct hs_frames *frames = hs_trace_symbols__node(question->symbols, node);
        for (uint32_t i = 0; i < frames->count; i++)
            hash = mix_frame(hash, &frames->frame[i]);
    }
    return hash;
}

static void add_side(struct diff *diff, const struct hs_question *question, const struct hs_totals *totals, bool now)
{
    for (size_t i = 0; i < totals->count; i++) {
        const struct hs_total *total = &totals->total[i];
        struct group *group = &diff->group[diff->count++];
        struct side side = {total->allocated_bytes, total->allocated_usable, total->allocated_count};
        *group = (struct group){hash_of(question, total->stack), question, total->stack, {0}, {0}};
        *(now ? &group->now : &group->base) = side;
    }
}

// Stacks of the trace that was asked come before those of the other.
static int compare_groups(const void *left, const void *right, void *context)
{
    const struct group *a = left, *b = right;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    if (a->question != b->question)
        return a->question == context ? -1 : 1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

static void add(struct side *to, const struct side *from)
{
    to->bytes += from->bytes;
    to->usable += from->usable;
    to->count += from->count;
}

static void merge(struct diff *diff, const struct hs_question *question)
{
    size_t kept = 0;
    if (diff->count)
        qsort_r(diff->group, diff->count, sizeof(*diff->group), compare_groups, (void *)(uintptr_t)question);
    for (size_t i = 0; i < diff->count; i++) {
        struct group *group = &diff->group[i];
        add(&diff->base, &group->base);
        add(&diff->now, &group->now);
        if (kept && diff->group[kept - 1].hash == group->hash) {
            add(&diff->group[kept - 1].base, &group->base);
            add(&diff->group[kept - 1].now, &group->now);
        } else {
            diff->group[kept++] = *group;
        }
    }
    diff->count = kept;
}

// ---- order ----------------------------------------------------------------------------------------------------------

struct sorting {
    const struct diff *diff;
    bool counts, changes;
};

static int64_t key_of(const struct sorting *sorting, const struct group *group)
{
    int64_t delta = sorting->counts ? (int64_t)(group->now.count - group->base.count)
                                    : (int64_t)(group->now.bytes - group->base.bytes);
    return sorting->changes && delta < 0 ? -delta : delta;
}

static int compare_keys(const void *left, const void *right, void *context)
{
    const struct sorting *sorting = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct group *of_a = &sorting->diff->group[a], *of_b = &sorting->diff->group[b];
    int64_t x = key_of(sorting, of_a), y = key_of(sorting, of_b);
    if (x != y)
        return x < y ? -1 : 1;
    return of_a->stack != of_b->stack ? (of_a->stack < of_b->stack ? -1 : 1) : (a > b) - (a < b);
}

// Groups without a difference are left out.
static int sort(struct hs_question *question, struct diff *diff)
{
    const char *word = hs_question__text(question, "sort_by");
    struct sorting sorting = {diff, !strncmp(word, "count", 5), strstr(word, "change") != NULL};
    size_t kept = 0;
    for (size_t i = 0; i < diff->count; i++)
        if (memcmp(&diff->group[i].base, &diff->group[i].now, sizeof(struct side)) != 0)
            diff->group[kept++] = diff->group[i];
    diff->count = kept;
    diff->order = malloc((kept + 1) * sizeof(*diff->order));
    if (!diff->order)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    for (size_t i = 0; i < kept; i++)
        diff->order[i] = (uint32_t)i;
    qsort_r(diff->order, kept, sizeof(*diff->order), compare_keys, &sorting);
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
        return hs_error__set(&question->error, EINVAL, "base: there is no trace '%s'; /list names them", id);
    question->other_trace = trace;
    return hs_rest_trace__hold(trace, &question->other, &question->error);
}

static int total_base(struct hs_question *question, const struct hs_rest_state *state, const struct hs_totals **totals)
{
    struct hs_filter filter;
    char *key = NULL;
    const char *at = hs_question__text(question, "base_at");
    int result = hs_question__resolve(question, state, &filter);
    if (!result)
        result = hs_question__narrow(question, state, "base_at", &filter);
    if (!result && asprintf(&key, "base&%s&%s", at ? at : "", question->filter_text) < 0)
        result = hs_error__set(&question->error, ENOMEM, "out of memory");
    if (!result)
        result = hs_question__totals_of(question, state, &filter, key, totals);
    free(key);
    return result;
}

int hs_prepare__diff(struct hs_question *question)
{
    const struct hs_rest_state *base = question->other ? question->other : question->state;
    const struct hs_totals *now, *before;
    struct diff *diff = calloc(1, sizeof(*diff));
    if (!diff)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = diff;
    question->free_work = free_diff;
    int result = hs_question__totals(question, &now);
    if (!result)
        result = total_base(question, base, &before);
    if (result)
        return result;
    diff->base_question =
        (struct hs_question){.store = base->store, .state = base, .symbols = base->symbols, .strip = question->strip};
    diff->group = calloc(now->count + before->count + 1, sizeof(*diff->group));
    if (!diff->group)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    add_side(diff, question, now, true);
    add_side(diff, base == question->state ? question : &diff->base_question, before, false);
    merge(diff, question);
    result = sort(question, diff);
    if (!result)
        result = hs_rest_state__prepare_frame_counts(base, &question->error);
    return result ? result : hs_rest_state__prepare_frame_counts(question->state, &question->error);
}

static void write_side(struct hs_json *json, const char *key, const struct side *side)
{
    hs_json__open_object(json, key);
    hs_json__number(json, "size", side->bytes);
    hs_json__number(json, "usable_size", side->usable);
    hs_json__number(json, "count", side->count);
    hs_json__close_object(json);
}

static void write_sides(struct hs_json *json, const struct side *base, const struct side *now)
{
    write_side(json, "base", base);
    write_side(json, "now", now);
    hs_json__signed(json, "size_delta", (int64_t)(now->bytes - base->bytes));
    hs_json__signed(json, "count_delta", (int64_t)(now->count - base->count));
}

int hs_answer__diff(struct hs_question *question, FILE *out)
{
    const struct diff *diff = question->work;
    struct hs_json json;
    bool descending = strcmp(hs_question__text(question, "order"), "asc") != 0;
    uint64_t skip = hs_question__number(question, "skip", 0),
             count = hs_question__number(question, "count", UINT64_MAX);
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    write_sides(&json, &diff->base, &diff->now);
    hs_json__open_array(&json, "stacks");
    for (uint64_t i = skip; i < diff->count && i - skip < count && !ferror(out); i++) {
        const struct group *group = &diff->group[diff->order[descending ? diff->count - 1 - i : i]];
        hs_json__open_object(&json, NULL);
        write_sides(&json, &group->base, &group->now);
        hs_json__number(&json, "backtrace_id", group->stack);
        hs_json__boolean(&json, "only_in_base", group->question != question);
        hs_write__backtrace(&json, "backtrace", group->question, group->stack);
        hs_json__close_object(&json);
    }
    hs_json__close_array(&json);
    hs_json__number(&json, "total_count", diff->count);
    hs_json__close_object(&json);
    return 0;
}
