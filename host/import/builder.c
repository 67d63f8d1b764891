// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/builder.h"

#include "format/trace_format.h"
#include "host/import/import.h"

#include <errno.h>
#include <string.h>

#define STREAM_LIMIT (1u << 22) // a larger stream number is damage; threads are numbered from 0
#define POOL_LIMIT   (1u << 20)

int builder__create(struct builder *builder, int directory_fd, struct hs_summary *summary, uint64_t end_ns)
{
    builder->directory_fd = directory_fd;
    builder->summary = summary;
    int failed = hs_live_map__create(&builder->live);
    if (!failed)
        failed = timeline__create(&builder->timeline, end_ns);
#define CREATE(name, type)                                                                                             \
    builder->name.fd = -1;                                                                                             \
    if (!failed)                                                                                                       \
        failed = hs_column_file__create(&builder->name, directory_fd, #name, sizeof(type));
    HS_STORE_COLUMNS(CREATE)
#undef CREATE
    // Chain 0 is none.
    struct hs_chain *none = failed ? NULL : hs_array__add(&builder->chains, sizeof *none);
    if (!failed && !none)
        failed = -ENOMEM;
    if (none)
        *none = (struct hs_chain){0};
    return failed;
}

void builder__free(struct builder *builder)
{
#define ABANDON(name, type) hs_column_file__abandon(&builder->name);
    HS_STORE_COLUMNS(ABANDON)
#undef ABANDON
    hs_live_map__free(&builder->live);
    hs_clock_map__free(&builder->clock);
    timeline__free(&builder->timeline);
    free(builder->streams.data);
    free(builder->chains.data);
    free(builder->pools.data);
    free(builder->mappings.data);
    free(builder->maps.data);
    free(builder->side.data);
    free(builder->at_peak.data);
}

// ---- rows
// --------------------------------------------------------------------------------------------------------------

static int make_room(struct builder *builder)
{
    if (builder->rows >= HS_NO_ROW - 1)
        return -EOVERFLOW;
    uint64_t room = UINT64_MAX;
#define RESERVE(name, type)                                                                                            \
    {                                                                                                                  \
        int failed = hs_column_file__reserve(&builder->name, builder->rows + 1);                                       \
        if (failed)                                                                                                    \
            return failed;                                                                                             \
        if (builder->name.capacity < room)                                                                             \
            room = builder->name.capacity;                                                                             \
    }
    HS_STORE_COLUMNS(RESERVE)
#undef RESERVE
    builder->room = room;
    return 0;
}

int64_t builder__add_row(struct builder *builder, const struct new_row *row)
{
    if (builder->rows == builder->room) {
        int failed = make_room(builder);
        if (failed)
            return failed;
    }
    uint64_t number = builder->rows++;
    uint64_t slack = row->usable > row->size ? row->usable - row->size : 0;
    column_u64(&builder->time)[number] = builder->now;
    column_u64(&builder->free_time)[number] = HS_NEVER;
    column_u64(&builder->address)[number] = row->address;
    column_u64(&builder->size)[number] = row->size;
    column_u32(&builder->slack)[number] = slack < UINT32_MAX ? (uint32_t)slack : UINT32_MAX;
    column_u32(&builder->stack)[number] = row->stack;
    column_u32(&builder->stream)[number] = row->stream;
    column_u32(&builder->free_stream)[number] = row->stream;
    column_u8(&builder->kind)[number] = row->kind;
    // The other columns are zero already; what stays zero is never touched.
    if (row->detail)
        column_u32(&builder->detail)[number] = row->detail;
    return (int64_t)number;
}

static void note_end_at_peak(struct builder *builder, uint32_t row, uint64_t peak_time, uint64_t peak_rows)
{
    if (builder->now != peak_time || row >= peak_rows)
        return;
    uint32_t *noted = hs_array__add(&builder->at_peak, sizeof *noted);
    if (noted)
        *noted = row;
}

static inline void add_live(struct builder *builder, uint64_t size, uint64_t usable)
{
    struct hs_live_total *live = &builder->live_total;
    struct hs_timeline_point *point = &builder->timeline.point[builder->timeline.current];
    live->bytes += size;
    live->usable += usable;
    live->count++;
    point->allocated_bytes += size;
    point->allocated_count++;
    if (live->bytes > point->live_bytes_max)
        point->live_bytes_max = live->bytes;
    if (live->count > point->live_count_max)
        point->live_count_max = live->count;
    if (live->bytes > builder->summary->peak.bytes) {
        builder->summary->peak = *live;
        builder->summary->peak_time = builder->now;
        builder->peak_rows = builder->rows;
        builder->at_peak.count = 0;
    }
}

void builder__end_row(struct builder *builder, uint32_t row, uint32_t stream, uint32_t stack, uint8_t flags)
{
    uint64_t size = column_u64(&builder->size)[row];
    enum hs_domain domain = hs_kind_domain(column_u8(&builder->kind)[row]);
    column_u64(&builder->free_time)[row] = builder->now;
    if (stream != column_u32(&builder->stream)[row])
        column_u32(&builder->free_stream)[row] = stream;
    if (stack)
        column_u32(&builder->free_stack)[row] = stack;
    if (flags)
        column_u8(&builder->flags)[row] |= flags;
    if (domain == HS_DOMAIN_HEAP) {
        struct hs_timeline_point *point = &builder->timeline.point[builder->timeline.current];
        note_end_at_peak(builder, row, builder->summary->peak_time, builder->peak_rows);
        builder->live_total.bytes -= size;
        builder->live_total.usable -= size + column_u32(&builder->slack)[row];
        builder->live_total.count--;
        point->freed_bytes += size;
        point->freed_count++;
    } else if (domain == HS_DOMAIN_MAP) {
        builder->map_total.bytes -= size;
        builder->map_total.usable -= size + column_u32(&builder->slack)[row];
        builder->map_total.count--;
    }
}

int builder__link(struct builder *builder, uint32_t row, uint32_t next)
{
    uint32_t number = column_u32(&builder->chain)[row];
    struct hs_chain *chain;
    if (!number) {
        number = (uint32_t)builder->chains.count;
        chain = hs_array__add(&builder->chains, sizeof *chain);
        if (!chain)
            return -ENOMEM;
        *chain = (struct hs_chain){.first = row,
                                   .length = 1,
                                   .first_size = column_u64(&builder->size)[row],
                                   .first_time = column_u64(&builder->time)[row]};
        column_u32(&builder->chain)[row] = number;
    }
    chain = (struct hs_chain *)builder->chains.data + number;
    column_u32(&builder->next)[row] = next;
    column_u32(&builder->chain)[next] = number;
    column_u32(&builder->position)[next] = chain->length++;
    chain->last = next;
    return 0;
}

// ---- heap and pools
// ------------------------------------------------------------------------------------------------------

static struct stream_state *stream_state(struct builder *builder, uint32_t stream)
{
    while (stream >= builder->streams.count) {
        struct stream_state *added = hs_array__add(&builder->streams, sizeof *added);
        if (!added)
            return NULL;
        *added = (struct stream_state){0};
    }
    return (struct stream_state *)builder->streams.data + stream;
}

static uint8_t row_kind(uint8_t event_kind)
{
    static const uint8_t kinds[HS_EVENT_KINDS] = {
        [HS_EVENT_MALLOC] = HS_KIND_MALLOC,   [HS_EVENT_CALLOC] = HS_KIND_CALLOC,
        [HS_EVENT_ALIGNED] = HS_KIND_ALIGNED, [HS_EVENT_REALLOC] = HS_KIND_REALLOC,
        [HS_EVENT_POOL_ALLOC] = HS_KIND_POOL,
    };
    return kinds[event_kind];
}

static inline uint32_t known_stack(const struct builder *builder, uint32_t stack)
{
    return stack < builder->stack_limit ? stack : 0;
}

// Adds a block to the live ones. Returns the row or a negative errno.
static int64_t add_block(struct builder *builder, uint32_t stream, const struct hs_event *event, uint32_t space)
{
    if (hs_live_map__is_full(&builder->live) && hs_live_map__grow(&builder->live))
        return -ENOMEM;
    struct hs_live_entry *entry = hs_live_map__find(&builder->live, event->address, space);
    if (entry->row_plus_1) {
        builder->summary->missed_frees++;
        builder__end_row(builder, entry->row_plus_1 - 1, column_u32(&builder->stream)[entry->row_plus_1 - 1], 0,
                         HS_ROW_MISSED_FREE);
    }
    const struct new_row row = {.address = event->address,
                                .size = event->size,
                                .usable = event->usable,
                                .stack = known_stack(builder, event->stack),
                                .stream = stream,
                                .detail = space ? space - 1 : 0,
                                .kind = row_kind(event->kind)};
    int64_t number = builder__add_row(builder, &row);
    if (number < 0)
        return number;
    if (entry->row_plus_1)
        entry->row_plus_1 = (uint32_t)number + 1;
    else
        hs_live_map__fill(&builder->live, entry, event->address, space, (uint32_t)number);
    if (!space)
        add_live(builder, row.size, row.size + column_u32(&builder->slack)[number]);
    return number;
}

// Ends the block at an address; returns its row + 1, 0 when the trace does not know it.
static uint32_t remove_block(struct builder *builder, uint32_t stream, uint64_t address, uint32_t stack, uint32_t space,
                             uint8_t flags)
{
    struct hs_live_entry *entry = hs_live_map__find(&builder->live, address, space);
    uint32_t row_plus_1 = entry->row_plus_1;
    if (!row_plus_1) {
        builder->summary->unknown_frees++;
        return 0;
    }
    hs_live_map__remove(&builder->live, entry);
    builder__end_row(builder, row_plus_1 - 1, stream, known_stack(builder, stack), flags);
    return row_plus_1;
}

static int free_block(struct builder *builder, uint32_t stream, struct stream_state *state,
                      const struct hs_event *event)
{
    uint32_t row_plus_1 = remove_block(builder, stream, event->address, event->stack, 0, 0);
    builder->summary->frees++;
    if (row_plus_1 && row_plus_1 == state->last_row_plus_1)
        column_u8(&builder->flags)[row_plus_1 - 1] |= HS_ROW_TEMPORARY;
    state->last_row_plus_1 = 0;
    return 0;
}

static int allocate_block(struct builder *builder, uint32_t stream, struct stream_state *state,
                          const struct hs_event *event)
{
    int64_t row = add_block(builder, stream, event, 0);
    if (row < 0)
        return (int)row;
    state->last_row_plus_1 = (uint32_t)row + 1;
    if (event->kind != HS_EVENT_REALLOC)
        return 0;
    uint32_t old = state->realloc_row_plus_1;
    state->realloc_row_plus_1 = 0;
    builder->summary->reallocations++;
    return old ? builder__link(builder, old - 1, (uint32_t)row) : 0;
}

// The space of a pool's blocks: its index + 1; 0 without memory or with too many pools. Handles live in the same map as
// blocks, in a space of their own.
static uint32_t pool_space(struct builder *builder, uint64_t handle)
{
    if (hs_live_map__is_full(&builder->live) && hs_live_map__grow(&builder->live))
        return 0;
    struct hs_live_entry *entry = hs_live_map__find(&builder->live, handle, UINT32_MAX);
    if (entry->row_plus_1)
        return entry->row_plus_1;
    uint64_t *added = builder->pools.count < POOL_LIMIT ? hs_array__add(&builder->pools, sizeof *added) : NULL;
    if (!added)
        return 0;
    *added = handle;
    hs_live_map__fill(&builder->live, entry, handle, UINT32_MAX, (uint32_t)builder->pools.count - 1);
    return (uint32_t)builder->pools.count;
}

static int pool_event(struct builder *builder, uint32_t stream, const struct hs_event *event)
{
    uint32_t space = pool_space(builder, event->pool);
    if (!space)
        return -ENOMEM;
    if (event->kind == HS_EVENT_POOL_FREE) {
        remove_block(builder, stream, event->address, event->stack, space, 0);
        return 0;
    }
    builder->summary->pool_allocations++;
    int64_t row = add_block(builder, stream, event, space);
    return row < 0 ? (int)row : 0;
}

// ---- side events
// -----------------------------------------------------------------------------------------------------

static int side_event(struct builder *builder, uint32_t stream, const struct hs_event *event)
{
    struct hs_stored_side_event *side = hs_array__add(&builder->side, sizeof *side);
    if (!side)
        return -ENOMEM;
    *side = (struct hs_stored_side_event){.time = builder->now, .stream = stream, .kind = HS_SIDE_MARK};
    if (event->kind == HS_EVENT_MARK) {
        side->value = (int64_t)event->value;
        return 0;
    }
    side->kind = HS_SIDE_MALLOPT;
    side->stack = known_stack(builder, event->stack);
    side->parameter = event->parameter;
    side->value = event->argument;
    side->result = event->result;
    return 0;
}

int builder__visit(void *context, uint32_t stream, const struct hs_event *event, int phase, uint64_t time)
{
    struct builder *builder = context;
    if (stream >= STREAM_LIMIT)
        stream = 0;
    struct stream_state *state = stream_state(builder, stream);
    if (!state)
        return -ENOMEM;
    uint64_t now = hs_clock_map__ns(&builder->clock, time);
    if (now > builder->now)
        builder->now = now;
    if (builder->now >= builder->timeline.current_end)
        timeline__advance(builder);
    switch (event->kind) {
    case HS_EVENT_FREE:
        return free_block(builder, stream, state, event);
    case HS_EVENT_REALLOC:
        if (phase == HS_PHASE_BEGIN) {
            state->realloc_row_plus_1 =
                remove_block(builder, stream, event->old_address, event->stack, 0, HS_ROW_REALLOCATED);
            return 0;
        }
        return allocate_block(builder, stream, state, event);
    case HS_EVENT_MALLOC:
    case HS_EVENT_CALLOC:
    case HS_EVENT_ALIGNED:
        return allocate_block(builder, stream, state, event);
    case HS_EVENT_POOL_ALLOC:
    case HS_EVENT_POOL_FREE:
        return pool_event(builder, stream, event);
    case HS_EVENT_MALLOPT:
    case HS_EVENT_MARK:
        return side_event(builder, stream, event);
    default:
        return builder__map_event(builder, stream, event);
    }
}
