// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/match.h"
#include "host/query/scan.h"
#include "host/rest/sum_rows.h"

#include <errno.h>
#include <stdlib.h>

// Blocks that were never freed are sorted after all lifetimes.
enum { POWERS = 65, NEVER = POWERS };

static unsigned power_of(uint64_t value)
{
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

// The number of the row to which a block belongs.
static uint64_t number_of(const struct hs_sum_rows *rows, struct hs_column_block *block, size_t i)
{
    uint64_t end;
    switch (rows->by) {
    case HS_SUM_BY_THREAD:
        return hs_column_block__column(block, HS_BLOCK_STREAM)[i];
    case HS_SUM_BY_SIZE:
        return power_of(hs_column_block__column(block, HS_BLOCK_SIZE)[i]);
    case HS_SUM_BY_LIFETIME:
        end = hs_column_block__column(block, HS_BLOCK_FREE_TIME)[i];
        return end == HS_NEVER ? NEVER : power_of(end - hs_column_block__column(block, HS_BLOCK_TIME)[i]);
    default:
        return hs_row__kind_of_state((unsigned)hs_column_block__column(block, HS_BLOCK_STATE)[i]);
    }
}

static void add(struct hs_sum_rows *rows, struct hs_sum_row *row, enum hs_cost cost, uint64_t bytes)
{
    if (!(rows->costs >> cost & 1))
        return;
    row->self[cost].bytes += bytes;
    row->self[cost].count++;
    rows->sum[cost].bytes += bytes;
    rows->sum[cost].count++;
}

static int make_room(struct hs_sum_rows *rows, uint64_t number)
{
    if (number < rows->room)
        return 0;
    const size_t room = 2 * (size_t)number + 64;
    struct hs_sum_row *grown = reallocarray(rows->row, room, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    for (size_t i = rows->room; i < room; i++)
        grown[i] = (struct hs_sum_row){.number = i};
    rows->row = grown;
    rows->room = room;
    return 0;
}

static int take_block(struct hs_sum_rows *rows, struct hs_matcher *matcher, size_t count)
{
    struct hs_column_block *block = &matcher->block;
    const uint64_t *size = hs_column_block__column(block, HS_BLOCK_SIZE),
                   *state = hs_column_block__column(block, HS_BLOCK_STATE);
    const uint64_t *end = hs_column_block__column(block, HS_BLOCK_FREE_TIME);
    for (size_t n = 0; n < count; n++) {
        const size_t i = matcher->place[n];
        const uint64_t group = number_of(rows, block, i);
        const uint8_t flags = hs_row__flags_of_state((unsigned)state[i]);
        if (make_room(rows, group))
            return -ENOMEM;
        struct hs_sum_row *row = &rows->row[group];
        row->inside = 1;
        add(rows, row, HS_COST_ALLOCATED, size[i]);
        if (end[i] == HS_NEVER)
            add(rows, row, HS_COST_LIVE, size[i]);
        if (flags & HS_ROW_AT_PEAK)
            add(rows, row, HS_COST_PEAK, size[i]);
        if (flags & HS_ROW_TEMPORARY)
            add(rows, row, HS_COST_TEMPORARY, size[i]);
    }
    return 0;
}

// Results of one thread of a scan.
struct block_sums_looking {
    struct hs_matcher **matcher; // by worker
    struct hs_sum_rows *found;
    unsigned workers;
};

static int look_at_rows(void *context, unsigned worker, uint64_t first, uint64_t end)
{
    const struct block_sums_looking *looking = context;
    int failed = 0;
    for (uint64_t row = first; row < end && !failed; row += HS_PACKED_BLOCK) {
        const size_t count = hs_matcher__match(looking->matcher[worker], row / HS_PACKED_BLOCK);
        if (count)
            failed = take_block(&looking->found[worker], looking->matcher[worker], count);
    }
    return failed;
}

static void add_value(struct hs_value *to, struct hs_value value)
{
    to->bytes += value.bytes;
    to->count += value.count;
}

static int join(struct hs_sum_rows *rows, const struct hs_sum_rows *found)
{
    for (size_t i = 0; i < found->room; i++) {
        if (!found->row[i].inside)
            continue;
        if (make_room(rows, i))
            return -ENOMEM;
        rows->row[i].inside = 1;
        for (unsigned cost = 0; cost < HS_COST_COUNT; cost++)
            add_value(&rows->row[i].self[cost], found->row[i].self[cost]);
    }
    for (unsigned cost = 0; cost < HS_COST_COUNT; cost++)
        add_value(&rows->sum[cost], found->sum[cost]);
    return 0;
}

static int look(struct hs_sum_rows *rows, struct hs_question *question, struct block_sums_looking *looking)
{
    const struct hs_scan scan = {.store = question->store,
                                 .filter = &question->filter,
                                 .control = &question->control,
                                 .workers = looking->workers,
                                 .work = look_at_rows,
                                 .context = looking};
    if (!looking->matcher || !looking->found)
        return -ENOMEM;
    for (unsigned worker = 0; worker < looking->workers; worker++) {
        looking->found[worker].by = rows->by;
        looking->found[worker].costs = rows->costs;
    }
    int result = hs_scan__run(&scan, &question->error);
    for (unsigned worker = 0; worker < looking->workers && !result; worker++)
        result = join(rows, &looking->found[worker]);
    return result;
}

static int add_rows(struct hs_sum_rows *rows, struct hs_question *question)
{
    if (hs_store__summary(question->store)->is_aggregate)
        return hs_query__refuse_aggregate(&question->error);
    struct block_sums_looking looking = {.workers = hs_scan__workers(question->store, &question->control)};
    looking.matcher = hs_matchers__create(question->store, &question->filter, looking.workers);
    looking.found = calloc(looking.workers, sizeof(*looking.found));
    int result = look(rows, question, &looking);
    for (unsigned worker = 0; looking.found && worker < looking.workers; worker++)
        hs_sum_rows__free(&looking.found[worker]);
    hs_matchers__destroy(looking.matcher, looking.workers);
    free(looking.found);
    return result;
}

int hs_sum_rows__of_blocks(struct hs_sum_rows *rows, struct hs_question *question)
{
    if (question->events != HS_EVENTS_HEAP)
        return hs_error__set(&question->error, EINVAL,
                             "by: of samples there are function, library, source, line and site");
    int result = add_rows(rows, question);
    for (size_t i = 0; i < rows->room; i++) {
        struct hs_sum_row row = rows->row[i];
        if (!row.inside)
            continue;
        for (unsigned cost = 0; cost < HS_COST_COUNT; cost++)
            row.total[cost] = row.self[cost];
        rows->row[rows->count++] = row;
    }
    if (result == -ENOMEM)
        return hs_error__set(&question->error, ENOMEM, "out of memory; a narrower filter needs less");
    return result;
}
