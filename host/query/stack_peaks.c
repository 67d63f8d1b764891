// SPDX-License-Identifier: MIT OR Apache-2.0
//
// When each stack held the most. The rows are put in order of their stacks first; then each stack is a short history of
// its own.
#include "host/query/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct ending {
    uint64_t time;
    uint32_t row;
};

struct work {
    const struct hs_columns *columns;
    const struct hs_query_control *control;
    size_t stacks;
    uint64_t *end;          // by stack: behind its last row in `rows`
    uint32_t *rows;         // of the heap, by stack, then in order
    struct ending *endings; // of one stack
    size_t endings_room;
};

static uint32_t stack_of(const struct work *work, uint64_t row)
{
    uint32_t stack = hs_row__stack(work->columns, row);
    return stack < work->stacks ? stack : 0;
}

static bool is_heap(const struct work *work, uint64_t row)
{
    return hs_kind_domain(hs_row__kind(work->columns, row)) == HS_DOMAIN_HEAP;
}

static bool is_cancelled(const struct work *work)
{
    const int *cancel = work->control ? work->control->cancel : NULL;
    return cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED);
}

// Returns 0 or a negative errno.
static int order_by_stack(struct work *work)
{
    uint64_t heap_rows = 0;
    work->end = calloc(work->stacks + 1, sizeof(*work->end));
    if (!work->end)
        return -ENOMEM;
    for (uint64_t row = 0; row < work->columns->rows; row++) {
        work->end[stack_of(work, row)] += is_heap(work, row);
        if (row % HS_ZONE_ROWS == 0 && is_cancelled(work))
            return -ECANCELED;
    }
    for (size_t stack = 0; stack < work->stacks; stack++) {
        uint64_t count = work->end[stack];
        work->end[stack] = heap_rows; // its begin for now
        heap_rows += count;
    }
    work->rows = malloc((heap_rows + 1) * sizeof(*work->rows));
    if (!work->rows)
        return -ENOMEM;
    for (uint64_t row = 0; row < work->columns->rows; row++) {
        if (is_heap(work, row))
            work->rows[work->end[stack_of(work, row)]++] = (uint32_t)row;
    }
    return 0;
}

static int compare_endings(const void *left, const void *right)
{
    const struct ending *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static int collect_endings(struct work *work, const uint32_t *rows, size_t count, size_t *endings)
{
    *endings = 0;
    if (count > work->endings_room) {
        free(work->endings);
        work->endings_room = 0;
        work->endings = malloc(count * sizeof(*work->endings));
        if (!work->endings)
            return -ENOMEM;
        work->endings_room = count;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t time = hs_row__free_time(work->columns, rows[i]);
        if (time != HS_NEVER)
            work->endings[(*endings)++] = (struct ending){time, rows[i]};
    }
    if (*endings)
        qsort(work->endings, *endings, sizeof(*work->endings), compare_endings);
    return 0;
}

// At one instant a block that ended there comes before one that began there, except when it is the same.
static bool ends_before(const struct ending *ending, uint64_t time, uint32_t row)
{
    return ending->time != time ? ending->time < time : ending->row < row;
}

static int find_peak(struct work *work, const uint32_t *rows, size_t count, struct hs_stack_peak *peak)
{
    const struct hs_columns *columns = work->columns;
    size_t endings = 0, ended = 0;
    uint64_t bytes = 0;
    int result = collect_endings(work, rows, count, &endings);
    for (size_t i = 0; !result && i < count; i++) {
        uint64_t time = hs_row__time(columns, rows[i]);
        while (ended < endings && ends_before(&work->endings[ended], time, rows[i]))
            bytes -= hs_row__size(columns, work->endings[ended++].row);
        bytes += hs_row__size(columns, rows[i]);
        if (bytes > peak->bytes || i == 0)
            *peak = (struct hs_stack_peak){bytes, time};
    }
    return result;
}

static int find_peaks(struct work *work, struct hs_stack_peaks *peaks)
{
    uint64_t first = 0;
    int result = 0;
    peaks->count = work->stacks;
    peaks->peak = calloc(work->stacks + 1, sizeof(*peaks->peak));
    if (!peaks->peak)
        return -ENOMEM;
    for (size_t stack = 0; !result && stack < work->stacks; stack++) {
        uint64_t end = work->end[stack];
        result =
            is_cancelled(work) ? -ECANCELED : find_peak(work, work->rows + first, end - first, &peaks->peak[stack]);
        first = end;
    }
    return result;
}

int hs_query__stack_peaks(const struct hs_store *store, const struct hs_query_control *control,
                          struct hs_stack_peaks *peaks, struct hs_error *error)
{
    struct work work = {.columns = hs_store__columns(store), .control = control};
    hs_store__nodes(store, &work.stacks);
    work.stacks += !work.stacks;
    *peaks = (struct hs_stack_peaks){0};
    if (hs_store__summary(store)->has_sums)
        return hs_query__refuse_sums(error);
    int result = order_by_stack(&work);
    if (!result)
        result = find_peaks(&work, peaks);
    free(work.end);
    free(work.rows);
    free(work.endings);
    if (!result)
        return 0;
    hs_stack_peaks__free(peaks);
    return hs_error__set(error, -result, "query: %s", strerror(-result));
}

void hs_stack_peaks__free(struct hs_stack_peaks *peaks)
{
    free(peaks->peak);
    *peaks = (struct hs_stack_peaks){0};
}
