// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/array.h"
#include "host/base/path.h"
#include "host/report/events.h"
#include "host/report/frames.h"
#include "host/rest/sum_rows.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum hs_sum_by hs_sum_by__parse(const char *word)
{
    unsigned number = 0;
    const size_t length = strlen(word);
    for (const char *choice = HS_SUM_BY_CHOICES; *choice; number++) {
        const size_t next = strcspn(choice, " ");
        if (next == length && !strncmp(choice, word, length))
            break;
        choice += next + (choice[next] == ' ');
    }
    return (enum hs_sum_by)number;
}

void hs_sum_rows__free(struct hs_sum_rows *rows)
{
    free(rows->row);
    rows->row = NULL;
    hs_hash_index__free(&rows->index);
}

// ---- rows -----------------------------------------------------------------------------------------------------------

// What requested the memory: one frame of each stack.
static bool is_requester(enum hs_sum_by by)
{
    return by == HS_SUM_BY_SITE || by == HS_SUM_BY_REQUESTER || by == HS_SUM_BY_REQUESTER_LIBRARY ||
           by == HS_SUM_BY_REQUESTER_LINE;
}

const char *hs_sum_by__text(enum hs_sum_by by, const struct hs_frame *frame)
{
    switch (by) {
    case HS_SUM_BY_SITE:
    case HS_SUM_BY_REQUESTER:
    case HS_SUM_BY_REQUESTER_LINE:
        return hs_frame__identity(frame);
    case HS_SUM_BY_FUNCTION:
        return frame->function;
    case HS_SUM_BY_LIBRARY:
    case HS_SUM_BY_REQUESTER_LIBRARY:
        return frame->module && *frame->module ? frame->module : NULL;
    default:
        return frame->file;
    }
}

const char *hs_sum_by__name(enum hs_sum_by by, const struct hs_frame *frame)
{
    switch (by) {
    case HS_SUM_BY_LIBRARY:
    case HS_SUM_BY_REQUESTER_LIBRARY:
        return hs_path__name(frame->module);
    case HS_SUM_BY_SOURCE:
    case HS_SUM_BY_LINE:
        return frame->file;
    default:
        return frame->function;
    }
}

bool hs_sum_by__has_line(enum hs_sum_by by)
{
    return by == HS_SUM_BY_LINE || by == HS_SUM_BY_SITE || by == HS_SUM_BY_REQUESTER_LINE;
}

uint64_t hs_sum_by__number(enum hs_sum_by by, const struct hs_frame *frame)
{
    return hs_sum_by__has_line(by) ? frame->line : 0;
}

struct sum_row_key {
    const struct hs_sum_rows *rows;
    const char *text;
    uint64_t number;
};

static bool is_wanted(const void *key, uint32_t number)
{
    const struct sum_row_key *wanted = key;
    const struct hs_sum_row *row = &wanted->rows->row[number];
    return hs_sum_by__text(wanted->rows->by, row->frame) == wanted->text && row->number == wanted->number;
}

// NULL: it is in none, or there is no memory.
static struct hs_sum_row *row_of(struct hs_sum_rows *rows, const struct hs_frame *frame, int *failed)
{
    const struct sum_row_key key = {rows, hs_sum_by__text(rows->by, frame), hs_sum_by__number(rows->by, frame)};
    const uint64_t hash = hs_hash__pair((uintptr_t)key.text, key.number);
    if (!key.text)
        return NULL;
    const uint32_t number = hs_hash_index__find(&rows->index, hash, is_wanted, &key);
    if (number != HS_HASH_NONE)
        return &rows->row[number];
    if (!HS_ARRAY_HAS_ROOM(rows->row, rows->count, rows->room) ||
        hs_hash_index__add(&rows->index, hash, (uint32_t)rows->count)) {
        *failed = -ENOMEM;
        return NULL;
    }
    rows->row[rows->count] = (struct hs_sum_row){.frame = frame, .number = key.number};
    return &rows->row[rows->count++];
}

// ---- adding up ------------------------------------------------------------------------------------------------------

struct frame_sums_walk {
    struct hs_sum_rows *rows;
    struct hs_trace_symbols *symbols;
    const struct hs_node_tree *nodes;
    enum hs_cost cost;
    const int *cancel; // may be NULL
    size_t steps;
    uint32_t depth; // frames that were entered
    int failed;
};

static void add_own(struct hs_value *to, const struct hs_node_tree *nodes, uint32_t at)
{
    const struct hs_value own = hs_paths__own(&nodes->paths, at);
    hs_value__add(to, &own);
}

// The frames further out were counted already: a recursive function is counted once.
static int enter(void *context, uint32_t at, unsigned depth)
{
    struct frame_sums_walk *walk = context;
    const struct hs_frames *frames = hs_trace_symbols__node(walk->symbols, walk->nodes->paths.at[at].place);
    (void)depth;
    for (uint32_t i = frames->count; i-- > 0;) {
        struct hs_sum_row *row = row_of(walk->rows, &frames->frame[i], &walk->failed);
        walk->depth++;
        if (!row)
            continue;
        if (!row->depth || row->depth > walk->depth)
            row->depth = walk->depth;
        if (!row->inside++)
            hs_value__add(&row->total[walk->cost], &walk->nodes->paths.at[at].value);
        if (!i)
            add_own(&row->self[walk->cost], walk->nodes, at);
    }
    if (!(++walk->steps & 0xffff) && walk->cancel && __atomic_load_n(walk->cancel, __ATOMIC_RELAXED))
        return -ECANCELED;
    return walk->failed;
}

static int leave(void *context, uint32_t at, unsigned depth)
{
    struct frame_sums_walk *walk = context;
    const struct hs_frames *frames = hs_trace_symbols__node(walk->symbols, walk->nodes->paths.at[at].place);
    (void)depth;
    walk->depth -= frames->count;
    for (uint32_t i = 0; i < frames->count; i++) {
        struct hs_sum_row *row = row_of(walk->rows, &frames->frame[i], &walk->failed);
        if (row)
            row->inside--;
    }
    return walk->failed;
}

const struct hs_frame *hs_sum_by__frame(enum hs_sum_by by, struct hs_trace_symbols *symbols, uint32_t stack)
{
    const struct hs_frame *frame;
    uint32_t depth;
    if (by == HS_SUM_BY_SITE)
        return hs_frames__of_stack(symbols, stack, true, &frame, 1, &depth) ? frame : NULL;
    if (is_requester(by))
        return hs_frames__requester(symbols, stack);
    return stack ? &hs_trace_symbols__node(symbols, stack)->frame[0] : NULL;
}

// For one frame per stack, `self` and `total` are equal.
static int add_innermost(struct hs_sum_rows *rows, struct hs_question *question, const struct hs_stack_values *stacks,
                         enum hs_cost cost)
{
    int failed = 0;
    for (size_t i = 0; i < stacks->count && !failed; i++) {
        const struct hs_frame *frame = hs_sum_by__frame(rows->by, question->symbols, stacks->at[i].stack);
        struct hs_sum_row *row = frame ? row_of(rows, frame, &failed) : NULL;
        hs_value__add(&rows->sum[cost], &stacks->at[i].value);
        if (row) {
            hs_value__add(&row->self[cost], &stacks->at[i].value);
            hs_value__add(&row->total[cost], &stacks->at[i].value);
        }
        if (!(i & 0xffff) && question->control.cancel && __atomic_load_n(question->control.cancel, __ATOMIC_RELAXED))
            return -ECANCELED;
    }
    return failed;
}

static int add_functions(struct hs_sum_rows *rows, struct hs_question *question, const struct hs_stack_values *stacks,
                         enum hs_cost cost)
{
    struct hs_node_tree nodes = {0};
    int result = hs_node_tree__make(&nodes, question->store, stacks->at, stacks->count);
    if (!result) {
        struct frame_sums_walk walk = {.rows = rows,
                                       .symbols = question->symbols,
                                       .nodes = &nodes,
                                       .cost = cost,
                                       .cancel = question->control.cancel};
        rows->sum[cost] = nodes.paths.at[0].value;
        result = hs_paths__walk(&nodes.paths, enter, leave, &walk);
    }
    hs_node_tree__free(&nodes);
    return result;
}

static int add_cost(struct hs_sum_rows *rows, struct hs_question *question, enum hs_cost cost)
{
    struct hs_stack_values stacks = {0};
    int result = hs_question__values(question, cost, &stacks);
    if (result)
        return result;
    result = is_requester(rows->by) || rows->self_only ? add_innermost(rows, question, &stacks, cost)
                                                       : add_functions(rows, question, &stacks, cost);
    hs_stack_values__free(&stacks);
    if (result == -ECANCELED)
        return hs_error__set(&question->error, ECANCELED, "cancelled");
    return result ? hs_error__set(&question->error, ENOMEM, "out of memory; a narrower filter needs less") : 0;
}

int hs_sum_rows__of_frames(struct hs_sum_rows *rows, struct hs_question *question)
{
    int result = 0;
    for (unsigned cost = 0; cost < HS_COST_COUNT && !result; cost++)
        if (rows->costs >> cost & 1)
            result = add_cost(rows, question, (enum hs_cost)cost);
    return result;
}
