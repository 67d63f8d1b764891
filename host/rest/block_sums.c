// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/sum_rows.h"

#include <errno.h>
#include <stdlib.h>

// Never freed: behind all lifetimes.
enum { POWERS = 65, NEVER = POWERS };

static unsigned power_of(uint64_t value)
{
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

static uint64_t number_of(const struct hs_sum_rows *rows, const struct hs_columns *columns, uint64_t row)
{
    uint64_t end;
    switch (rows->by) {
    case HS_SUM_BY_THREAD:
        return hs_row__stream(columns, row);
    case HS_SUM_BY_SIZE:
        return power_of(hs_row__size(columns, row));
    case HS_SUM_BY_LIFETIME:
        end = hs_row__free_time(columns, row);
        return end == HS_NEVER ? NEVER : power_of(end - hs_row__time(columns, row));
    default:
        return hs_row__kind(columns, row);
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

static int take_row(void *context, const struct hs_store *store, uint64_t number)
{
    struct hs_sum_rows *rows = context;
    const struct hs_columns *columns = hs_store__columns(store);
    const uint64_t group = number_of(rows, columns, number), bytes = hs_row__size(columns, number);
    const uint8_t flags = hs_row__flags(columns, number);
    if (make_room(rows, group))
        return -ENOMEM;
    struct hs_sum_row *row = &rows->row[group];
    row->inside = 1;
    add(rows, row, HS_COST_ALLOCATED, bytes);
    if (hs_row__free_time(columns, number) == HS_NEVER)
        add(rows, row, HS_COST_LIVE, bytes);
    if (flags & HS_ROW_AT_PEAK)
        add(rows, row, HS_COST_PEAK, bytes);
    if (flags & HS_ROW_TEMPORARY)
        add(rows, row, HS_COST_TEMPORARY, bytes);
    return 0;
}

int hs_sum_rows__of_blocks(struct hs_sum_rows *rows, struct hs_question *question)
{
    if (question->events != HS_EVENTS_HEAP)
        return hs_error__set(&question->error, EINVAL,
                             "by: of samples there are function, library, source, line and site");
    int result =
        hs_query__each(question->store, &question->filter, &question->control, take_row, rows, &question->error);
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
