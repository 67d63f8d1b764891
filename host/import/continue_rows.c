// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Rows of an earlier import of the same trace, as they were at a time: read from the columns of its store, with all
// that happened later taken back.
#include "host/import/builder.h"

#include <errno.h>

static void take_rest(const struct hs_row_start *rest, size_t count, struct hs_staged_block *staged)
{
    for (size_t i = 0; i < count; i++) {
        staged->time[i] = rest[i].time;
        staged->address[i] = rest[i].address;
        staged->size[i] = rest[i].size;
        staged->slack[i] = rest[i].slack;
        staged->stack[i] = rest[i].stack;
        staged->stream[i] = rest[i].stream;
        staged->detail[i] = rest[i].detail;
    }
}

static void read_starts(const struct hs_columns *columns, uint64_t number, struct hs_staged_block *staged)
{
    size_t count = hs_packed__read_block(&columns->time, number, staged->time);
    hs_packed__read_block(&columns->address, number, staged->address);
    hs_packed__read_block(&columns->size, number, staged->size);
    hs_packed__read_block(&columns->slack, number, staged->slack);
    hs_packed__read_block(&columns->stack, number, staged->stack);
    hs_packed__read_block(&columns->stream, number, staged->stream);
    hs_packed__read_block(&columns->detail, number, staged->detail);
    for (size_t i = 0; i < count; i++)
        staged->slack[i] = hs_row__stored_slack(staged->slack[i], staged->size[i], columns->pointer_size);
}

struct ended_block {
    uint64_t time[HS_PACKED_BLOCK], stack[HS_PACKED_BLOCK], stream[HS_PACKED_BLOCK], state[HS_PACKED_BLOCK];
};

// A row that was live: heap rows and those of pools are in the live map.
static int continue_live_row(struct hs_builder *builder, const struct hs_staged_block *staged, size_t place)
{
    const struct hs_new_row row = {.size = staged->size[place],
                                   .stack = (uint32_t)staged->stack[place],
                                   .stream = (uint32_t)staged->stream[place]};
    uint64_t number = staged->first + place;
    uint8_t kind = hs_row__kind_of_state(hs_row_ends__states(&builder->row_ends)[number]);
    enum hs_domain domain = hs_kind_domain(kind);
    if (!hs_builder__mark_live(builder, number, &row, (uint32_t)staged->slack[place]))
        return -ENOMEM;
    if (domain == HS_DOMAIN_MAP)
        return 0;
    if (staged->stack[place] >= builder->stack_limit ||
        (domain == HS_DOMAIN_POOL && staged->detail[place] >= builder->pools.count))
        return -EBADMSG;
    const struct hs_live_entry live = {
        .address = staged->address[place],
        .row_plus_1 = (uint32_t)number + 1,
        .tag = domain == HS_DOMAIN_POOL ? HS_LIVE_OTHER | ((uint32_t)staged->detail[place] + 1) : HS_LIVE_HEAP};
    while (hs_live_map__is_full(&builder->live))
        if (hs_live_map__grow(&builder->live))
            return -ENOMEM;
    struct hs_live_entry *entry = hs_live_map__find(&builder->live, live.address, live.tag);
    if (entry->row_plus_1)
        return -EBADMSG;
    hs_live_map__fill(&builder->live, entry, &live);
    return 0;
}

// Reverts everything that happened after `now`. All flags except HS_ROW_SPLIT describe the end of a row; the rows at
// the peak are determined again.
static int continue_row_ends(struct hs_builder *builder, const struct hs_staged_block *staged,
                             const struct ended_block *ended)
{
    const struct hs_row_ends *row_ends = &builder->row_ends;
    int failed = 0;
    for (size_t i = 0; i < staged->count && !failed; i++) {
        uint64_t row = staged->first + i, end = hs_row__stored_free_time(ended->time[i], staged->time[0]);
        bool live = end > builder->now;
        uint64_t flags = live ? HS_ROW_SPLIT : (uint64_t)~HS_ROW_AT_PEAK;
        hs_row_ends__states(row_ends)[row] = (uint8_t)(ended->state[i] & (flags << 3 | 7));
        if (live) {
            failed = continue_live_row(builder, staged, i);
            continue;
        }
        hs_row_ends__times(row_ends)[row] = end;
        if (ended->stack[i])
            hs_row_ends__stacks(row_ends)[row] = (uint32_t)ended->stack[i];
        if (ended->stream[i])
            hs_row_ends__streams(row_ends)[row] = (uint32_t)ended->stream[i];
    }
    return failed;
}

static void drop_pages_behind(const struct hs_columns *columns, uint64_t number)
{
#define DROP_PAGES(name) hs_packed__drop_pages_behind(&columns->name, number);
    HS_STORE_COLUMNS(DROP_PAGES)
#undef DROP_PAGES
}

static int continue_block(struct hs_builder *builder, const struct hs_columns *columns, uint64_t number,
                          const struct hs_row_start *rest, struct hs_staged_block *staged, struct ended_block *ended)
{
    staged->first = number * HS_PACKED_BLOCK;
    uint64_t left = builder->rows - staged->first;
    staged->count = left < HS_PACKED_BLOCK ? (size_t)left : HS_PACKED_BLOCK;
    // `time[0]` is the least: time never goes back.
    if (rest && left < HS_PACKED_BLOCK)
        take_rest(rest, staged->count, staged);
    else
        read_starts(columns, number, staged);
    hs_packed__read_block(&columns->free_time, number, ended->time);
    hs_packed__read_block(&columns->free_stack, number, ended->stack);
    hs_packed__read_block(&columns->free_stream, number, ended->stream);
    hs_packed__read_block(&columns->state, number, ended->state);
    if (staged->time[staged->count - 1] > builder->now)
        return -EBADMSG;
    int failed = left < HS_PACKED_BLOCK ? 0 : hs_builder__widen_zone(builder, staged);
    return failed ? failed : continue_row_ends(builder, staged, ended);
}

// Heap rows in a chain know their link.
static void continue_tags(struct hs_builder *builder, const struct hs_columns *columns, const struct hs_row_start *rest)
{
    const uint64_t full = rest ? builder->rows - builder->rows % HS_PACKED_BLOCK : builder->rows;
    const struct hs_chain_link *links = builder->links.data;
    for (size_t i = 0; i < builder->links.count; i++) {
        if (!(hs_row_ends__time_at(&builder->row_ends, links[i].row) & ROW_IS_LIVE))
            continue;
        const uint32_t row = links[i].row;
        uint64_t address = row < full ? hs_row__address(columns, row) : rest[row - full].address;
        struct hs_live_entry *entry = hs_live_map__find(&builder->live, address, HS_LIVE_HEAP);
        if (entry->row_plus_1 == row + 1)
            entry->tag = (uint32_t)i + 1;
    }
}

static int continue_pools(struct hs_builder *builder)
{
    const uint64_t *pools = builder->pools.data;
    for (size_t i = 0; i < builder->pools.count; i++) {
        while (hs_live_map__is_full(&builder->live))
            if (hs_live_map__grow(&builder->live))
                return -ENOMEM;
        struct hs_live_entry *entry = hs_live_map__find(&builder->live, pools[i], UINT32_MAX);
        if (entry->row_plus_1)
            return -EBADMSG;
        const struct hs_live_entry pool = {.address = pools[i], .row_plus_1 = (uint32_t)i + 1, .tag = UINT32_MAX};
        hs_live_map__fill(&builder->live, entry, &pool);
    }
    return 0;
}

static int continue_files(struct hs_builder *builder, const struct hs_columns *columns)
{
    const struct {
        struct hs_packed_writer *writer;
        const struct hs_packed *from;
    } files[] = {{&builder->time, &columns->time},    {&builder->address, &columns->address},
                 {&builder->size, &columns->size},    {&builder->slack, &columns->slack},
                 {&builder->stack, &columns->stack},  {&builder->stream, &columns->stream},
                 {&builder->detail, &columns->detail}};
    int failed = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files && !failed; i++)
        failed = hs_packed_writer__continue(files[i].writer, files[i].from, builder->rows / HS_PACKED_BLOCK);
    return failed;
}

int hs_builder__continue(struct hs_builder *builder, const struct hs_columns *columns, uint64_t rows,
                         const struct hs_row_start *rest)
{
    struct hs_staged_block *staged = hs_write_behind__empty_block(builder->behind);
    struct ended_block *ended = malloc(sizeof *ended);
    int failed = staged && ended ? continue_pools(builder) : -ENOMEM;
    while (builder->row_ends.room < rows && !failed)
        failed = hs_row_ends__make_room(&builder->row_ends);
    builder->rows = rows;
    for (uint64_t first = 0; first < rows && !failed; first += HS_PACKED_BLOCK) {
        if (hs_row_ends__begins_region(first))
            hs_row_ends__spill(&builder->row_ends, hs_row_ends__retire(&builder->row_ends, first));
        failed = continue_block(builder, columns, first / HS_PACKED_BLOCK, rest, staged, ended);
        drop_pages_behind(columns, first / HS_PACKED_BLOCK);
    }
    if (!failed)
        failed = hs_row_ends__settle(&builder->row_ends);
    if (!failed)
        failed = continue_files(builder, columns);
    if (!failed)
        continue_tags(builder, columns, rest);
    free(ended);
    // The next row begins a block, or goes on with this one.
    if (!failed && rows % HS_PACKED_BLOCK)
        builder->staged = staged;
    return failed;
}
