// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/rollups.h"

#include "host/query/drop_pages.h"
#include "host/query/match.h"
#include "host/query/scan.h"
#include "host/query/sorted_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct hs_rollups_limits hs_rollups_limits = {16, 8, (uint64_t)1 << 20, (size_t)96 << 20};

// A slice may have this many rollups in any case.
enum { FEW_CELLS = 4096 };
#define MOST_BYTES ((size_t)128 << 20)

enum { LIFETIME_CLASSES = 252 };

struct hs_rollups {
    const struct hs_store *store;
    uint64_t slice_rows;
    size_t slices;
    struct hs_slice *slice;
    bool by_streams; // those of slices
    // By class of lifetimes, one after another; NULL: there would be too many.
    struct hs_rollup *classed;
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

// The rollups of the current slice.
struct table {
    struct hs_rollup *rollup;
    size_t count, most;
    size_t before; // rollups of earlier slices
    size_t most_bytes;
    uint32_t *slot; // number of a rollup + 1
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

static bool is_of(const struct hs_rollup *rollup, const struct row *row)
{
    return rollup->stack == row->stack && rollup->stream == row->stream && rollup->size == row->size &&
           rollup->state == row->state && rollup->lifetime_class == row->lifetime_class &&
           rollup->freed == (row->end != HS_NEVER);
}

// NULL: there are too many.
static struct hs_rollup *rollup_of(struct table *table, const struct row *row)
{
    size_t slot = row->hash & (table->slots - 1);
    for (; table->slot[slot]; slot = (slot + 1) & (table->slots - 1))
        if (is_of(&table->rollup[table->slot[slot] - 1], row))
            return &table->rollup[table->slot[slot] - 1];
    if (table->count == table->most || (table->before + table->count) * sizeof(struct hs_rollup) >= table->most_bytes)
        return NULL;
    struct hs_rollup *rollup = &table->rollup[table->count++];
    table->slot[slot] = (uint32_t)table->count;
    *rollup = (struct hs_rollup){.stack = row->stack,
                                 .stream = row->stream,
                                 .state = row->state,
                                 .freed = row->end != HS_NEVER,
                                 .lifetime_class = row->lifetime_class,
                                 .size = row->size,
                                 .first_time = row->time,
                                 .lifetime_min = UINT64_MAX};
    return rollup;
}

static void add_row(struct hs_rollup *rollup, const struct row *row)
{
    const uint64_t lifetime = rollup->freed ? row->end - row->time : 0;
    rollup->count++;
    rollup->usable += row->usable;
    rollup->last_time = row->time > rollup->last_time ? row->time : rollup->last_time;
    if (!rollup->freed)
        return;
    rollup->lifetime_sum = hs_lifetimes__add(rollup->lifetime_sum, lifetime);
    rollup->lifetime_min = lifetime < rollup->lifetime_min ? lifetime : rollup->lifetime_min;
    rollup->lifetime_max = lifetime > rollup->lifetime_max ? lifetime : rollup->lifetime_max;
}

// Rollups with classes lie all over: they are fetched some rows before they are needed.
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
            __builtin_prefetch(&classed->rollup[ahead - 1], 1);
        struct hs_rollup *rollup = rollup_of(classed, &row[i]);
        if (rollup)
            add_row(rollup, &row[i]);
        else
            classed->most = 0; // it is too many: there will be none
    }
}

static size_t read_rows(struct hs_column_block *block, bool by_streams, size_t first, struct row *row)
{
    const unsigned pointer_size = block->columns->pointer_size;
    const uint64_t *time = hs_column_block__column(block, HS_BLOCK_TIME);
    const uint64_t *end = hs_column_block__column(block, HS_BLOCK_FREE_TIME);
    const uint64_t *size = hs_column_block__column(block, HS_BLOCK_SIZE);
    const uint64_t *slack = hs_column_block__column(block, HS_BLOCK_SLACK);
    const uint64_t *stack = hs_column_block__column(block, HS_BLOCK_STACK);
    const uint64_t *state = hs_column_block__column(block, HS_BLOCK_STATE);
    const uint64_t *stream = hs_column_block__column(block, HS_BLOCK_STREAM);
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

static int add_block(struct table *table, struct table *classed, bool by_streams, struct hs_column_block *block,
                     uint64_t end_time)
{
    struct row row[BATCH];
    for (size_t first = 0, count; first < block->count; first += count) {
        count = read_rows(block, by_streams, first, row);
        for (size_t i = 0; i < count; i++) {
            struct hs_rollup *rollup = rollup_of(table, &row[i]);
            if (!rollup)
                return -E2BIG;
            add_row(rollup, &row[i]);
        }
        if (classed->most)
            add_classed(classed, row, count, end_time);
    }
    return 0;
}

struct rollups_making {
    struct hs_rollups *rollups;
    struct table table, classed;
    uint64_t end_time;
    const int *cancel;
};

static int make_slice(struct rollups_making *making, struct hs_slice *slice, struct hs_column_block *block,
                      uint64_t first, uint64_t end)
{
    struct table *table = &making->table;
    int failed = 0;
    table->count = 0;
    memset(table->slot, 0, table->slots * sizeof(*table->slot));
    slice->first_time = hs_row__time(block->columns, first);
    slice->last_time = hs_row__time(block->columns, end - 1);
    for (uint64_t row = first; !failed && row < end; row += HS_PACKED_BLOCK) {
        hs_column_block__move_to(block, row / HS_PACKED_BLOCK);
        failed = making->cancel && __atomic_load_n(making->cancel, __ATOMIC_RELAXED)
                     ? -ECANCELED
                     : add_block(table, &making->classed, making->rollups->by_streams, block, making->end_time);
        hs_columns__drop_pages_behind(block->columns, row / HS_PACKED_BLOCK);
    }
    if (failed)
        return failed;
    struct hs_rollup *rollups = malloc((table->count + 1) * sizeof(*rollups));
    if (!rollups)
        return -ENOMEM;
    memcpy(rollups, table->rollup, table->count * sizeof(*rollups));
    slice->rollup = rollups;
    slice->count = table->count;
    table->before += table->count;
    return 0;
}

static int make_slices(struct rollups_making *making)
{
    struct hs_rollups *rollups = making->rollups;
    struct hs_column_block block;
    const uint64_t rows = hs_store__columns(rollups->store)->rows;
    int failed = hs_column_block__create(&block, hs_store__columns(rollups->store));
    for (uint64_t first = 0; !failed && first < rows; first += rollups->slice_rows) {
        uint64_t end = first + rollups->slice_rows < rows ? first + rollups->slice_rows : rows;
        failed = make_slice(making, &rollups->slice[rollups->slices++], &block, first, end);
    }
    hs_column_block__free(&block);
    return failed;
}

// In the order of their classes.
static int keep_classed(struct hs_rollups *rollups, const struct table *classed)
{
    size_t at[LIFETIME_CLASSES + 1] = {0};
    if (!classed->most)
        return 0;
    rollups->classed = malloc((classed->count + 1) * sizeof(*rollups->classed));
    if (!rollups->classed)
        return -ENOMEM;
    for (size_t i = 0; i < classed->count; i++)
        at[classed->rollup[i].lifetime_class + 1]++;
    for (unsigned class = 0; class < LIFETIME_CLASSES; class ++)
        at[class + 1] += at[class];
    memcpy(rollups->class_begin, at, sizeof(at));
    for (size_t i = 0; i < classed->count; i++)
        rollups->classed[at[classed->rollup[i].lifetime_class]++] = classed->rollup[i];
    return 0;
}

static bool start_table(struct table *table, size_t most, size_t most_bytes)
{
    *table = (struct table){.most = most, .most_bytes = most_bytes, .slots = 1};
    while (table->slots < 2 * most)
        table->slots *= 2;
    table->rollup = malloc((most + 1) * sizeof(*table->rollup));
    table->slot = calloc(table->slots, sizeof(*table->slot));
    return table->rollup && table->slot;
}

static void free_table(struct table *table)
{
    free(table->rollup);
    free(table->slot);
}

static int make(struct rollups_making *making)
{
    struct hs_rollups *rollups = making->rollups;
    const size_t most_bytes = rollups->by_streams ? hs_rollups_limits.by_streams : MOST_BYTES;
    bool good = start_table(&making->table, rollups->slice_rows / hs_rollups_limits.rows + FEW_CELLS, most_bytes);
    good = start_table(&making->classed, hs_rollups_limits.classed, SIZE_MAX) && good && rollups->slice;
    int failed = good ? make_slices(making) : -ENOMEM;
    if (!failed)
        failed = keep_classed(rollups, &making->classed);
    free_table(&making->table);
    free_table(&making->classed);
    return failed;
}

static void forget_slices(struct hs_rollups *rollups)
{
    for (size_t i = 0; i < rollups->slices; i++) {
        free((void *)(uintptr_t)rollups->slice[i].rollup);
        rollups->slice[i] = (struct hs_slice){0};
    }
    rollups->slices = 0;
}

int hs_rollups__make(struct hs_rollups **result, const struct hs_store *store, const struct hs_query_control *control,
                     struct hs_error *error)
{
    *result = NULL;
    if (hs_store__summary(store)->is_aggregate)
        return hs_query__refuse_aggregate(error);
    struct hs_rollups *rollups = calloc(1, sizeof(*rollups));
    if (!rollups)
        return hs_error__set(error, ENOMEM, "rollups: out of memory");
    *rollups =
        (struct hs_rollups){.store = store, .slice_rows = hs_rollups_limits.zones * HS_ZONE_ROWS, .by_streams = true};
    rollups->slice = calloc(hs_store__columns(store)->rows / rollups->slice_rows + 1, sizeof(*rollups->slice));
    struct rollups_making making = {
        .rollups = rollups, .end_time = hs_store__summary(store)->end_time, .cancel = control ? control->cancel : NULL};
    int failed = make(&making);
    if (failed == -E2BIG && rollups->by_streams) {
        forget_slices(rollups);
        rollups->by_streams = false;
        failed = make(&making);
    }
    if (!failed) {
        *result = rollups;
        return 0;
    }
    hs_rollups__destroy(rollups);
    return hs_error__set(error, -failed, "rollups: %s", strerror(-failed));
}

uint64_t hs_rollups__bytes(const struct hs_rollups *rollups)
{
    uint64_t bytes = (rollups->slices + 1) * sizeof(*rollups->slice);
    for (size_t i = 0; i < rollups->slices; i++)
        bytes += (rollups->slice[i].count + 1) * sizeof(*rollups->slice[i].rollup);
    if (rollups->classed)
        bytes += rollups->class_begin[LIFETIME_CLASSES] * sizeof(*rollups->classed);
    return bytes;
}

void hs_rollups__destroy(struct hs_rollups *rollups)
{
    if (rollups) {
        forget_slices(rollups);
        free(rollups->slice);
        free(rollups->classed);
    }
    free(rollups);
}

// ---- asking --------------------------------------------------------------------------------------------------------

bool hs_rollups__know(const struct hs_rollups *rollups, const struct hs_store *store, const struct hs_filter *filter)
{
    struct hs_filter rest = hs_filter__without_states(filter);
    rest.time_min = 0;
    rest.time_max = UINT64_MAX;
    if (rollups && rollups->by_streams)
        rest.streams = (struct hs_set){0};
    return rollups && rollups->store == store && hs_filter__asks_only_stacks(&rest);
}

size_t hs_rollups__slices(const struct hs_rollups *rollups)
{
    return rollups->slices;
}

const struct hs_slice *hs_rollups__slice(const struct hs_rollups *rollups, size_t number)
{
    return &rollups->slice[number];
}

const struct hs_slice *hs_rollups__slice_of(const struct hs_rollups *rollups, uint64_t row)
{
    return &rollups->slice[row / rollups->slice_rows];
}

bool hs_slice__is_whole(const struct hs_slice *slice, const struct hs_filter *filter)
{
    bool within = slice->first_time >= filter->time_min && slice->last_time <= filter->time_max;
    bool without = slice->last_time < filter->time_min || slice->first_time > filter->time_max;
    return within || without;
}

bool hs_rollup__matches(const struct hs_rollup *rollup, const struct hs_filter *filter)
{
    return hs_filter__matches_state(filter, rollup->state, rollup->freed) && rollup->size >= filter->size_min &&
           rollup->size <= filter->size_max && rollup->first_time >= filter->time_min &&
           rollup->last_time <= filter->time_max &&
           (!filter->stacks.words || hs_set__has(&filter->stacks, rollup->stack)) &&
           (!filter->streams.words || hs_set__has(&filter->streams, rollup->stream));
}

void hs_rollup__add(const struct hs_rollup *rollup, struct hs_total *total)
{
    const uint64_t bytes = rollup->size * rollup->count, usable = rollup->usable, count = rollup->count;
    const uint8_t flags = hs_row__flags_of_state(rollup->state);
    struct hs_total sum = {.allocated_bytes = bytes,
                           .allocated_usable = usable,
                           .allocated_count = count,
                           .size_min = rollup->size,
                           .size_max = rollup->size,
                           .first_time = rollup->first_time,
                           .last_time = rollup->last_time,
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
    if (rollup->freed) {
        sum.freed_bytes = bytes;
        sum.freed_count = count;
        sum.lifetime_min = rollup->lifetime_min;
        sum.lifetime_max = rollup->lifetime_max;
        sum.lifetime_sum = rollup->lifetime_sum;
    } else {
        sum.live_bytes = bytes;
        sum.live_usable = usable;
        sum.live_count = count;
    }
    hs_total__add(total, &sum);
}

// ---- lifetimes -----------------------------------------------------------------------------------------------------

bool hs_rollups__know_lifetimes(const struct hs_rollups *rollups, const struct hs_sorted_index *lifetimes,
                                const struct hs_store *store, const struct hs_filter *filter)
{
    struct hs_filter rest = hs_filter__without_states(filter);
    rest.lifetime_min = 0;
    rest.lifetime_max = UINT64_MAX;
    return rollups && rollups->store == store && rollups->classed && lifetimes && filter->domains == HS_FILTER_HEAP &&
           (filter->lifetime_min || filter->lifetime_max != UINT64_MAX) && !filter->unfreed_live_forever &&
           hs_sorted_index__has_lifetimes(lifetimes) && hs_filter__asks_only_stacks(&rest);
}

struct edge {
    const struct hs_columns *columns;
    const struct hs_filter *filter;
    struct hs_bounds lifetimes;
    uint64_t end_time;
    hs_rollup_visitor visit;
    void *context;
};

static int visit_row(const struct edge *edge, uint64_t row)
{
    const uint64_t time = hs_row__time(edge->columns, row), free_time = hs_row__free_time(edge->columns, row);
    const uint64_t lifetime = (free_time == HS_NEVER ? edge->end_time : free_time) - time;
    if (lifetime < edge->lifetimes.least || lifetime > edge->lifetimes.most)
        return 0;
    const uint64_t size = hs_row__size(edge->columns, row);
    const struct hs_rollup rollup = {.stack = hs_row__stack(edge->columns, row),
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
    return hs_rollup__matches(&rollup, edge->filter) ? edge->visit(edge->context, &rollup) : 0;
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

static int visit_part(const struct edge *edge, const struct hs_sorted_index *lifetimes,
                      const struct hs_sorted_part *part)
{
    uint64_t row[HS_PACKED_BLOCK];
    int result = 0;
    for (uint64_t rank = part->first; rank < part->end && !result;) {
        const size_t begin = rank % HS_PACKED_BLOCK,
                     rows = hs_sorted_index__read(lifetimes, rank / HS_PACKED_BLOCK, row);
        const size_t end = part->end - rank < rows - begin ? begin + (size_t)(part->end - rank) : rows;
        for (size_t i = begin; i < end && !result; i++) {
            fetch(edge->columns, row[i + AHEAD < end ? i + AHEAD : i]);
            result = visit_row(edge, row[i]);
        }
        rank += end - begin;
    }
    return result;
}

static int visit_edge(const struct edge *edge, const struct hs_sorted_index *lifetimes)
{
    int result = 0;
    for (size_t i = 0; i < hs_sorted_index__parts(lifetimes) && !result; i++) {
        const struct hs_sorted_part part = hs_sorted_index__part(lifetimes, i);
        if (part.keys.most >= edge->lifetimes.least && part.keys.least <= edge->lifetimes.most)
            result = visit_part(edge, lifetimes, &part);
    }
    return result;
}

int hs_rollups__each_of_lifetimes(const struct hs_rollups *rollups, const struct hs_sorted_index *lifetimes,
                                  const struct hs_filter *filter, hs_rollup_visitor visit, void *context)
{
    struct edge edge = {.columns = hs_store__columns(rollups->store),
                        .filter = filter,
                        .end_time = hs_store__summary(rollups->store)->end_time,
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
        for (size_t i = rollups->class_begin[class]; whole && i < rollups->class_begin[class + 1] && !result; i++)
            if (hs_rollup__matches(&rollups->classed[i], filter))
                result = visit(context, &rollups->classed[i]);
    }
    return result;
}
