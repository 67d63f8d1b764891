// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/cells.h"

#include "host/query/leave.h"
#include "host/query/match.h"
#include "host/query/ranking.h"
#include "host/query/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct hs_cells_limits hs_cells_limits = {16, 8, (uint64_t)1 << 20, (size_t)96 << 20};

// A slice may have this many cells in any case.
enum { FEW_CELLS = 4096 };
#define MOST_BYTES ((size_t)128 << 20)

enum { LIFETIME_CLASSES = 252 };

struct hs_cells {
    const struct hs_store *store;
    uint64_t slice_rows;
    size_t slices;
    struct hs_slice *slice;
    bool by_streams; // those of slices
    // By class of lifetimes, one after another; NULL: there would be too many.
    struct hs_cell *classed;
    size_t class_begin[LIFETIME_CLASSES + 1];
};

// Four classes between a power of two and the next.
static unsigned class_of(uint64_t lifetime)
{
    const unsigned power = 63 - (unsigned)__builtin_clzll(lifetime | 4);
    return lifetime < 4 ? (unsigned)lifetime : (power - 1) * 4 + (unsigned)(lifetime >> (power - 2) & 3);
}

static struct hs_bounds lifetimes_of(unsigned class)
{
    const unsigned power = class / 4 + 1;
    if (class < 4)
        return (struct hs_bounds){class, class};
    const uint64_t least = (uint64_t)(4 + class % 4) << (power - 2);
    return (struct hs_bounds){least, least + (((uint64_t)1 << (power - 2)) - 1)};
}

// ---- making --------------------------------------------------------------------------------------------------------

// The cells of the slice at hand.
struct table {
    struct hs_cell *cell;
    size_t count, most;
    size_t before; // cells of earlier slices
    size_t most_bytes;
    uint32_t *slot; // number of a cell + 1
    size_t slots;
};

struct row {
    uint64_t size, usable, time, end;
    uint32_t stack, stream;
    uint16_t state;
    uint8_t lifetime_class;
    uint64_t hash;
};

static uint64_t hash_of(const struct row *row)
{
    uint64_t hash = (row->size << 16 ^ row->state ^ (uint64_t)(row->end == HS_NEVER) << 15) * 0x9e3779b97f4a7c15u;
    const uint64_t other = row->stack ^ (uint64_t)(row->stream ^ row->lifetime_class) << 32;
    hash = (hash ^ hash >> 32 ^ other) * 0xbf58476d1ce4e5b9u;
    return hash ^ hash >> 32;
}

static bool is_of(const struct hs_cell *cell, const struct row *row)
{
    return cell->stack == row->stack && cell->stream == row->stream && cell->size == row->size &&
           cell->state == row->state && cell->lifetime_class == row->lifetime_class &&
           cell->freed == (row->end != HS_NEVER);
}

// NULL: there are too many.
static struct hs_cell *cell_of(struct table *table, const struct row *row)
{
    size_t slot = row->hash & (table->slots - 1);
    for (; table->slot[slot]; slot = (slot + 1) & (table->slots - 1))
        if (is_of(&table->cell[table->slot[slot] - 1], row))
            return &table->cell[table->slot[slot] - 1];
    if (table->count == table->most || (table->before + table->count) * sizeof(struct hs_cell) >= table->most_bytes)
        return NULL;
    struct hs_cell *cell = &table->cell[table->count++];
    table->slot[slot] = (uint32_t)table->count;
    *cell = (struct hs_cell){.stack = row->stack,
                             .stream = row->stream,
                             .state = row->state,
                             .freed = row->end != HS_NEVER,
                             .lifetime_class = row->lifetime_class,
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
    cell->lifetime_sum = hs_lifetimes__add(cell->lifetime_sum, lifetime);
    cell->lifetime_min = lifetime < cell->lifetime_min ? lifetime : cell->lifetime_min;
    cell->lifetime_max = lifetime > cell->lifetime_max ? lifetime : cell->lifetime_max;
}

// Cells with classes lie all over: they are fetched some rows before they are needed.
enum { AHEAD = 8, BATCH = 64 };

static void add_classed(struct table *classed, struct row *row, size_t count, uint64_t end_time)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t end = row[i].end == HS_NEVER ? end_time : row[i].end;
        row[i].stream = 0;
        row[i].lifetime_class = (uint8_t)class_of(end > row[i].time ? end - row[i].time : 0);
        row[i].hash = hash_of(&row[i]);
        __builtin_prefetch(&classed->slot[row[i].hash & (classed->slots - 1)]);
    }
    for (size_t i = 0; i < count && classed->most; i++) {
        const uint32_t ahead = i + AHEAD < count ? classed->slot[row[i + AHEAD].hash & (classed->slots - 1)] : 0;
        if (ahead)
            __builtin_prefetch(&classed->cell[ahead - 1], 1);
        struct hs_cell *cell = cell_of(classed, &row[i]);
        if (cell)
            add_row(cell, &row[i]);
        else
            classed->most = 0; // it is too many: there will be none
    }
}

static size_t read_rows(struct hs_block *block, bool by_streams, size_t first, struct row *row)
{
    const unsigned pointer_size = block->columns->pointer_size;
    const uint64_t *time = hs_block__column(block, HS_BLOCK_TIME);
    const uint64_t *end = hs_block__column(block, HS_BLOCK_FREE_TIME);
    const uint64_t *size = hs_block__column(block, HS_BLOCK_SIZE);
    const uint64_t *slack = hs_block__column(block, HS_BLOCK_SLACK);
    const uint64_t *stack = hs_block__column(block, HS_BLOCK_STACK);
    const uint64_t *state = hs_block__column(block, HS_BLOCK_STATE);
    const uint64_t *stream = hs_block__column(block, HS_BLOCK_STREAM);
    size_t count = 0;
    for (size_t i = first; i < block->count && count < BATCH; i++) {
        row[count] = (struct row){.size = size[i],
                                  .usable = size[i] + hs_row__stored_slack(slack[i], size[i], pointer_size),
                                  .time = time[i],
                                  .end = end[i],
                                  .stack = (uint32_t)stack[i],
                                  .stream = by_streams ? (uint32_t)stream[i] : 0,
                                  .state = (uint16_t)state[i]};
        row[count].hash = hash_of(&row[count]);
        count++;
    }
    return count;
}

static int add_block(struct table *table, struct table *classed, bool by_streams, struct hs_block *block,
                     uint64_t end_time)
{
    struct row row[BATCH];
    for (size_t first = 0, count; first < block->count; first += count) {
        count = read_rows(block, by_streams, first, row);
        for (size_t i = 0; i < count; i++) {
            struct hs_cell *cell = cell_of(table, &row[i]);
            if (!cell)
                return -E2BIG;
            add_row(cell, &row[i]);
        }
        if (classed->most)
            add_classed(classed, row, count, end_time);
    }
    return 0;
}

struct making {
    struct hs_cells *cells;
    struct table table, classed;
    uint64_t end_time;
    const int *cancel;
};

static int make_slice(struct making *making, struct hs_slice *slice, struct hs_block *block, uint64_t first,
                      uint64_t end)
{
    struct table *table = &making->table;
    int failed = 0;
    table->count = 0;
    memset(table->slot, 0, table->slots * sizeof(*table->slot));
    slice->first_time = hs_row__time(block->columns, first);
    slice->last_time = hs_row__time(block->columns, end - 1);
    for (uint64_t row = first; !failed && row < end; row += HS_PACKED_BLOCK) {
        hs_block__move_to(block, row / HS_PACKED_BLOCK);
        failed = making->cancel && __atomic_load_n(making->cancel, __ATOMIC_RELAXED)
                     ? -ECANCELED
                     : add_block(table, &making->classed, making->cells->by_streams, block, making->end_time);
        hs_columns__leave_behind(block->columns, row / HS_PACKED_BLOCK);
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

static int make_slices(struct making *making)
{
    struct hs_cells *cells = making->cells;
    struct hs_block block;
    const uint64_t rows = hs_store__columns(cells->store)->rows;
    int failed = hs_block__create(&block, hs_store__columns(cells->store));
    for (uint64_t first = 0; !failed && first < rows; first += cells->slice_rows) {
        uint64_t end = first + cells->slice_rows < rows ? first + cells->slice_rows : rows;
        failed = make_slice(making, &cells->slice[cells->slices++], &block, first, end);
    }
    hs_block__free(&block);
    return failed;
}

// In the order of their classes.
static int keep_classed(struct hs_cells *cells, const struct table *classed)
{
    size_t at[LIFETIME_CLASSES + 1] = {0};
    if (!classed->most)
        return 0;
    cells->classed = malloc((classed->count + 1) * sizeof(*cells->classed));
    if (!cells->classed)
        return -ENOMEM;
    for (size_t i = 0; i < classed->count; i++)
        at[classed->cell[i].lifetime_class + 1]++;
    for (unsigned class = 0; class < LIFETIME_CLASSES; class ++)
        at[class + 1] += at[class];
    memcpy(cells->class_begin, at, sizeof(at));
    for (size_t i = 0; i < classed->count; i++)
        cells->classed[at[classed->cell[i].lifetime_class]++] = classed->cell[i];
    return 0;
}

static bool start_table(struct table *table, size_t most, size_t most_bytes)
{
    *table = (struct table){.most = most, .most_bytes = most_bytes, .slots = 1};
    while (table->slots < 2 * most)
        table->slots *= 2;
    table->cell = malloc((most + 1) * sizeof(*table->cell));
    table->slot = calloc(table->slots, sizeof(*table->slot));
    return table->cell && table->slot;
}

static void free_table(struct table *table)
{
    free(table->cell);
    free(table->slot);
}

static int make(struct making *making)
{
    struct hs_cells *cells = making->cells;
    const size_t most_bytes = cells->by_streams ? hs_cells_limits.by_streams : MOST_BYTES;
    bool good = start_table(&making->table, cells->slice_rows / hs_cells_limits.rows + FEW_CELLS, most_bytes);
    good = start_table(&making->classed, hs_cells_limits.classed, SIZE_MAX) && good && cells->slice;
    int failed = good ? make_slices(making) : -ENOMEM;
    if (!failed)
        failed = keep_classed(cells, &making->classed);
    free_table(&making->table);
    free_table(&making->classed);
    return failed;
}

static void forget_slices(struct hs_cells *cells)
{
    for (size_t i = 0; i < cells->slices; i++) {
        free((void *)(uintptr_t)cells->slice[i].cell);
        cells->slice[i] = (struct hs_slice){0};
    }
    cells->slices = 0;
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
    *cells = (struct hs_cells){.store = store, .slice_rows = hs_cells_limits.zones * HS_ZONE_ROWS, .by_streams = true};
    cells->slice = calloc(hs_store__columns(store)->rows / cells->slice_rows + 1, sizeof(*cells->slice));
    struct making making = {
        .cells = cells, .end_time = hs_store__summary(store)->end_time, .cancel = control ? control->cancel : NULL};
    int failed = make(&making);
    if (failed == -E2BIG && cells->by_streams) {
        forget_slices(cells);
        cells->by_streams = false;
        failed = make(&making);
    }
    if (!failed) {
        *result = cells;
        return 0;
    }
    hs_cells__destroy(cells);
    return hs_error__set(error, -failed, "cells: %s", strerror(-failed));
}

void hs_cells__destroy(struct hs_cells *cells)
{
    if (cells) {
        forget_slices(cells);
        free(cells->slice);
        free(cells->classed);
    }
    free(cells);
}

// ---- asking --------------------------------------------------------------------------------------------------------

bool hs_cells__know(const struct hs_cells *cells, const struct hs_store *store, const struct hs_filter *filter)
{
    struct hs_filter rest = hs_filter__without_states(filter);
    rest.time_min = 0;
    rest.time_max = UINT64_MAX;
    if (cells && cells->by_streams)
        rest.streams = (struct hs_set){0};
    return cells && cells->store == store && hs_filter__asks_only_stacks(&rest);
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
    return hs_filter__matches_state(filter, cell->state, cell->freed) && cell->size >= filter->size_min &&
           cell->size <= filter->size_max && cell->first_time >= filter->time_min &&
           cell->last_time <= filter->time_max &&
           (!filter->stacks.words || hs_set__has(&filter->stacks, cell->stack)) &&
           (!filter->streams.words || hs_set__has(&filter->streams, cell->stream));
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

// ---- lifetimes -----------------------------------------------------------------------------------------------------

bool hs_cells__know_lifetimes(const struct hs_cells *cells, const struct hs_ranking *lifetimes,
                              const struct hs_store *store, const struct hs_filter *filter)
{
    struct hs_filter rest = hs_filter__without_states(filter);
    rest.lifetime_min = 0;
    rest.lifetime_max = UINT64_MAX;
    return cells && cells->store == store && cells->classed && lifetimes && filter->domains == HS_FILTER_HEAP &&
           (filter->lifetime_min || filter->lifetime_max != UINT64_MAX) && !filter->unfreed_live_forever &&
           hs_ranking__has_lifetimes(lifetimes) && hs_filter__asks_only_stacks(&rest);
}

struct edge {
    const struct hs_columns *columns;
    const struct hs_filter *filter;
    struct hs_bounds lifetimes;
    uint64_t end_time;
    hs_cell_visitor visit;
    void *context;
};

static int visit_row(const struct edge *edge, uint64_t row)
{
    const uint64_t time = hs_row__time(edge->columns, row), free_time = hs_row__free_time(edge->columns, row);
    const uint64_t lifetime = (free_time == HS_NEVER ? edge->end_time : free_time) - time;
    if (lifetime < edge->lifetimes.least || lifetime > edge->lifetimes.most)
        return 0;
    const uint64_t size = hs_row__size(edge->columns, row);
    const struct hs_cell cell = {.stack = hs_row__stack(edge->columns, row),
                                 .count = 1,
                                 .state = (uint16_t)hs_packed__at(&edge->columns->state, row),
                                 .freed = free_time != HS_NEVER,
                                 .size = size,
                                 .usable = size + hs_row__slack_of(edge->columns, row, size),
                                 .first_time = time,
                                 .last_time = time,
                                 .lifetime_min = lifetime,
                                 .lifetime_max = lifetime,
                                 .lifetime_sum = lifetime};
    return hs_cell__matches(&cell, edge->filter) ? edge->visit(edge->context, &cell) : 0;
}

static void fetch(const struct hs_columns *columns, uint64_t row)
{
    hs_packed__fetch(&columns->time, row);
    hs_packed__fetch(&columns->free_time, row);
    hs_packed__fetch(&columns->size, row);
    hs_packed__fetch(&columns->stack, row);
    hs_packed__fetch(&columns->state, row);
    hs_packed__fetch(&columns->slack, row);
}

static int visit_part(const struct edge *edge, const struct hs_ranking *lifetimes, const struct hs_ranked_part *part)
{
    uint64_t row[HS_PACKED_BLOCK];
    int result = 0;
    for (uint64_t rank = part->first; rank < part->end && !result;) {
        const size_t begin = rank % HS_PACKED_BLOCK, rows = hs_ranking__read(lifetimes, rank / HS_PACKED_BLOCK, row);
        const size_t end = part->end - rank < rows - begin ? begin + (size_t)(part->end - rank) : rows;
        for (size_t i = begin; i < end && !result; i++) {
            fetch(edge->columns, row[i + AHEAD < end ? i + AHEAD : i]);
            result = visit_row(edge, row[i]);
        }
        rank += end - begin;
    }
    return result;
}

static int visit_edge(const struct edge *edge, const struct hs_ranking *lifetimes)
{
    int result = 0;
    for (size_t i = 0; i < hs_ranking__parts(lifetimes) && !result; i++) {
        const struct hs_ranked_part part = hs_ranking__part(lifetimes, i);
        if (part.keys.most >= edge->lifetimes.least && part.keys.least <= edge->lifetimes.most)
            result = visit_part(edge, lifetimes, &part);
    }
    return result;
}

int hs_cells__each_of_lifetimes(const struct hs_cells *cells, const struct hs_ranking *lifetimes,
                                const struct hs_filter *filter, hs_cell_visitor visit, void *context)
{
    struct edge edge = {.columns = hs_store__columns(cells->store),
                        .filter = filter,
                        .end_time = hs_store__summary(cells->store)->end_time,
                        .visit = visit,
                        .context = context};
    int result = 0;
    for (unsigned class = 0; class < LIFETIME_CLASSES && !result; class ++) {
        const struct hs_bounds all = lifetimes_of(class);
        const struct hs_bounds asked = {all.least > filter->lifetime_min ? all.least : filter->lifetime_min,
                                        all.most < filter->lifetime_max ? all.most : filter->lifetime_max};
        const bool whole = asked.least == all.least && asked.most == all.most;
        edge.lifetimes = asked;
        if (asked.least <= asked.most && !whole)
            result = visit_edge(&edge, lifetimes);
        for (size_t i = cells->class_begin[class]; whole && i < cells->class_begin[class + 1] && !result; i++)
            if (hs_cell__matches(&cells->classed[i], filter))
                result = visit(context, &cells->classed[i]);
    }
    return result;
}
