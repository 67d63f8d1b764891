// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/block_scan.h"
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

static int take_block(void *context, unsigned worker, struct hs_matcher *matcher)
{
    struct hs_sum_rows *rows = (struct hs_sum_rows *)context + worker;
    struct hs_column_block *block = &matcher->block;
    const uint64_t *size = hs_column_block__column(block, HS_BLOCK_SIZE),
                   *state = hs_column_block__column(block, HS_BLOCK_STATE);
    const uint64_t *end = hs_column_block__column(block, HS_BLOCK_FREE_TIME);
    for (size_t n = 0; n < matcher->count; n++) {
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

static int add_rows(struct hs_sum_rows *rows, struct hs_question *question)
{
    if (hs_store__summary(question->store)->is_aggregate)
        return hs_query__refuse_aggregate(&question->error);
    const unsigned workers = hs_scan__workers(question->store, &question->control);
    struct hs_sum_rows *found = calloc(workers, sizeof(*found)); // by worker
    const struct hs_block_scan scan = {question->store, &question->filter, &question->control,
                                       workers,         take_block,        found};
    for (unsigned worker = 0; found && worker < workers; worker++)
        found[worker] = (struct hs_sum_rows){.by = rows->by, .costs = rows->costs};
    int result = found ? hs_block_scan__run(&scan, &question->error) : -ENOMEM;
    for (unsigned worker = 0; found && worker < workers; worker++) {
        if (!result)
            result = join(rows, &found[worker]);
        hs_sum_rows__free(&found[worker]);
    }
    free(found);
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
