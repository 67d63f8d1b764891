// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/cells.h"

#include "host/query/match.h"
#include "host/query/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct hs_cells_limits hs_cells_limits = {16, 8};

// A slice may have this many cells in any case.
enum { FEW_CELLS = 4096 };
#define MOST_BYTES ((size_t)128 << 20)

struct hs_cells {
    const struct hs_store *store;
    uint64_t slice_rows;
    size_t slices;
    struct hs_slice *slice;
};

// ---- making --------------------------------------------------------------------------------------------------------

// The cells of the slice at hand.
struct table {
    struct hs_cell *cell;
    size_t count, most;
    size_t before;  // cells of earlier slices
    uint32_t *slot; // number of a cell + 1
    size_t slots;
};

struct row {
    uint64_t size, usable, time, end;
    uint32_t stack;
    uint16_t state;
};

static uint64_t hash_of(const struct row *row)
{
    uint64_t hash = (row->size << 16 ^ row->state ^ (uint64_t)(row->end == HS_NEVER) << 15) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 32 ^ row->stack) * 0xbf58476d1ce4e5b9u;
    return hash ^ hash >> 32;
}

static bool is_of(const struct hs_cell *cell, const struct row *row)
{
    return cell->stack == row->stack && cell->size == row->size && cell->state == row->state &&
           cell->freed == (row->end != HS_NEVER);
}

// NULL: there are too many.
static struct hs_cell *cell_of(struct table *table, const struct row *row)
{
    size_t slot = hash_of(row) & (table->slots - 1);
    for (; table->slot[slot]; slot = (slot + 1) & (table->slots - 1))
        if (is_of(&table->cell[table->slot[slot] - 1], row))
            return &table->cell[table->slot[slot] - 1];
    if (table->count == table->most || (table->before + table->count) * sizeof(struct hs_cell) >= MOST_BYTES)
        return NULL;
    struct hs_cell *cell = &table->cell[table->count++];
    table->slot[slot] = (uint32_t)table->count;
    *cell = (struct hs_cell){.stack = row->stack,
                             .state = row->state,
                             .freed = row->end != HS_NEVER,
                             .size = row->size,
                             .first_time = row->time,
                             .lifetime_min = UINT64_MAX};
    return cell;
}

static void add_row(struct hs_cell *cell, const struct row *row)
{
    const uint64_t lifetime = cell->freed ? row->end - row->time : 0;
    cell->count++;
    cell->usable += row->usable;
    cell->last_time = row->time > cell->last_time ? row->time : cell->last_time;
    if (!cell->freed)
        return;
    cell->lifetime_sum += lifetime;
    cell->lifetime_min = lifetime < cell->lifetime_min ? lifetime : cell->lifetime_min;
    cell->lifetime_max = lifetime > cell->lifetime_max ? lifetime : cell->lifetime_max;
}

static int add_block(struct table *table, struct hs_block *block)
{
    const unsigned pointer_size = block->columns->pointer_size;
    const uint64_t *time = hs_block__column(block, HS_BLOCK_TIME);
    const uint64_t *end = hs_block__column(block, HS_BLOCK_FREE_TIME);
    const uint64_t *size = hs_block__column(block, HS_BLOCK_SIZE);
    const uint64_t *slack = hs_block__column(block, HS_BLOCK_SLACK);
    const uint64_t *stack = hs_block__column(block, HS_BLOCK_STACK);
    const uint64_t *state = hs_block__column(block, HS_BLOCK_STATE);
    for (size_t i = 0; i < block->count; i++) {
        const struct row row = {.size = size[i],
                                .usable = size[i] + hs_row__stored_slack(slack[i], size[i], pointer_size),
                                .time = time[i],
                                .end = end[i],
                                .stack = (uint32_t)stack[i],
                                .state = (uint16_t)state[i]};
        struct hs_cell *cell = cell_of(table, &row);
        if (!cell)
            return -E2BIG;
        add_row(cell, &row);
    }
    return 0;
}

static int make_slice(struct hs_slice *slice, struct table *table, struct hs_block *block, uint64_t first, uint64_t end)
{
    int failed = 0;
    table->count = 0;
    memset(table->slot, 0, table->slots * sizeof(*table->slot));
    slice->first_time = hs_row__time(block->columns, first);
    slice->last_time = hs_row__time(block->columns, end - 1);
    for (uint64_t row = first; !failed && row < end; row += HS_PACKED_BLOCK) {
        hs_block__move_to(block, row / HS_PACKED_BLOCK);
        failed = add_block(table, block);
    }
    if (failed)
        return failed;
    struct hs_cell *cells = malloc((table->count + 1) * sizeof(*cells));
    if (!cells)
        return -ENOMEM;
    memcpy(cells, table->cell, table->count * sizeof(*cells));
    slice->cell = cells;
    slice->count = table->count;
    table->before += table->count;
    return 0;
}

static int make_slices(struct hs_cells *cells, struct table *table, const struct hs_query_control *control)
{
    struct hs_block block;
    const uint64_t rows = hs_store__columns(cells->store)->rows;
    const int *cancel = control ? control->cancel : NULL;
    int failed = hs_block__create(&block, hs_store__columns(cells->store));
    for (uint64_t first = 0; !failed && first < rows; first += cells->slice_rows) {
        uint64_t end = first + cells->slice_rows < rows ? first + cells->slice_rows : rows;
        failed = cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED)
                     ? -ECANCELED
                     : make_slice(&cells->slice[cells->slices++], table, &block, first, end);
    }
    hs_block__free(&block);
    return failed;
}

int hs_cells__make(struct hs_cells **result, const struct hs_store *store, const struct hs_query_control *control,
                   struct hs_error *error)
{
    *result = NULL;
    if (hs_store__summary(store)->has_sums)
        return hs_query__refuse_sums(error);
    struct hs_cells *cells = calloc(1, sizeof(*cells));
    if (!cells)
        return hs_error__set(error, ENOMEM, "cells: out of memory");
    *cells = (struct hs_cells){.store = store, .slice_rows = hs_cells_limits.zones * HS_ZONE_ROWS};
    cells->slice = calloc(hs_store__columns(store)->rows / cells->slice_rows + 1, sizeof(*cells->slice));
    struct table table = {.most = cells->slice_rows / hs_cells_limits.rows + FEW_CELLS, .slots = 1};
    while (table.slots < 2 * table.most)
        table.slots *= 2;
    table.cell = malloc(table.most * sizeof(*table.cell));
    table.slot = malloc(table.slots * sizeof(*table.slot));
    int failed = cells->slice && table.cell && table.slot ? make_slices(cells, &table, control) : -ENOMEM;
    free(table.cell);
    free(table.slot);
    if (!failed) {
        *result = cells;
        return 0;
    }
    hs_cells__destroy(cells);
    return hs_error__set(error, -failed, "cells: %s", strerror(-failed));
}

void hs_cells__destroy(struct hs_cells *cells)
{
    for (size_t i = 0; cells && cells->slice && i < cells->slices; i++)
        free((void *)(uintptr_t)cells->slice[i].cell);
    if (cells)
        free(cells->slice);
    free(cells);
}

// ---- asking --------------------------------------------------------------------------------------------------------

bool hs_cells__know(const struct hs_cells *cells, const struct hs_store *store, const struct hs_filter *filter)
{
    struct hs_filter rest = *filter;
    if (!cells || cells->store != store)
        return false;
    rest.time_min = rest.size_min = 0;
    rest.time_max = rest.size_max = UINT64_MAX;
    rest.kinds = (1u << HS_KIND_COUNT) - 1;
    rest.flags_all = rest.flags_none = 0;
    rest.freed_only = rest.never_freed_only = false;
    return hs_filter__asks_only_stacks(&rest);
}

size_t hs_cells__slices(const struct hs_cells *cells)
{
    return cells->slices;
}

const struct hs_slice *hs_cells__slice(const struct hs_cells *cells, size_t number)
{
    return &cells->slice[number];
}

const struct hs_slice *hs_cells__slice_of(const struct hs_cells *cells, uint64_t row)
{
    return &cells->slice[row / cells->slice_rows];
}

bool hs_slice__is_whole(const struct hs_slice *slice, const struct hs_filter *filter)
{
    bool within = slice->first_time >= filter->time_min && slice->last_time <= filter->time_max;
    bool without = slice->last_time < filter->time_min || slice->first_time > filter->time_max;
    return within || without;
}

bool hs_cell__matches(const struct hs_cell *cell, const struct hs_filter *filter)
{
    const uint8_t kind = hs_row__kind_of_state(cell->state), flags = hs_row__flags_of_state(cell->state);
    return cell->size >= filter->size_min && cell->size <= filter->size_max && cell->first_time >= filter->time_min &&
           cell->last_time <= filter->time_max && filter->kinds >> kind & 1 &&
           filter->domains >> hs_kind_domain(kind) & 1 && (flags & filter->flags_all) == filter->flags_all &&
           !(flags & filter->flags_none) && !(cell->freed ? filter->never_freed_only : filter->freed_only) &&
           (!filter->stacks.words || hs_set__has(&filter->stacks, cell->stack));
}

void hs_cell__add(const struct hs_cell *cell, struct hs_total *total)
{
    const uint64_t bytes = cell->size * cell->count, usable = cell->usable, count = cell->count;
    const uint8_t flags = hs_row__flags_of_state(cell->state);
    struct hs_total sum = {.allocated_bytes = bytes,
                           .allocated_usable = usable,
                           .allocated_count = count,
                           .size_min = cell->size,
                           .size_max = cell->size,
                           .first_time = cell->first_time,
                           .last_time = cell->last_time,
                           .lifetime_min = UINT64_MAX};
    if (flags & HS_ROW_AT_PEAK) {
        sum.peak_bytes = bytes;
        sum.peak_usable = usable;
        sum.peak_count = count;
    }
    if (flags & HS_ROW_TEMPORARY) {
        sum.temporary_bytes = bytes;
        sum.temporary_count = count;
    }
    if (cell->freed) {
        sum.freed_bytes = bytes;
        sum.freed_count = count;
        sum.lifetime_min = cell->lifetime_min;
        sum.lifetime_max = cell->lifetime_max;
        sum.lifetime_sum = cell->lifetime_sum;
    } else {
        sum.live_bytes = bytes;
        sum.live_usable = usable;
        sum.live_count = count;
    }
    hs_total__add(total, &sum);
}
