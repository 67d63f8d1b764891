// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Builds the rows of a store from events in time order. builder.c holds the heap and the pools, mappings.c the maps,
// timeline.c the pyramid, finish.c what needs all rows.
#ifndef HEAPSONDE_IMPORT_BUILDER_H
#define HEAPSONDE_IMPORT_BUILDER_H

#include "format/event.h"
#include "host/import/array.h"
#include "host/import/clock_map.h"
#include "host/import/live_map.h"
#include "host/import/trace.h"
#include "host/store/column_file.h"
#include "host/store/layout.h"

#include <stdbool.h>

// What is known of one stream while events go by.
struct stream_state {
    uint32_t last_row_plus_1;    // the row that its last call allocated; 0: its last call did not
    uint32_t realloc_row_plus_1; // the block that its realloc in progress ends
};

struct timeline {
    uint64_t interval;
    uint64_t current;                // point in progress
    uint64_t current_end;            // ns
    struct hs_timeline_point *point; // HS_TIMELINE_POINTS
};

// A live mapping: [start, end) of the map domain's row.
struct live_mapping {
    uint64_t start, end;
    uint32_t row;
};

struct builder {
#define HS_COLUMN_FILE(name, type) struct hs_column_file name;
    HS_STORE_COLUMNS(HS_COLUMN_FILE)
#undef HS_COLUMN_FILE
    uint64_t rows, room; // room: rows that every column has space for
    int directory_fd;

    struct hs_clock_map clock;
    uint64_t now; // ns; never goes back
    uint64_t last_time;
    struct hs_live_map live;
    struct hs_array streams;  // struct stream_state, by stream
    struct hs_array chains;   // struct hs_chain
    struct hs_array pools;    // uint64_t
    struct hs_array mappings; // struct hs_mapping
    struct hs_array maps;     // struct live_mapping, by start
    struct hs_array side;     // struct hs_stored_side_event
    struct hs_array at_peak;  // uint32_t: rows that ended in the peak's nanosecond, but after the peak
    struct timeline timeline;
    struct hs_live_total live_total, map_total;
    uint64_t peak_rows, map_peak_rows; // rows that existed at the peak
    uint32_t stack_limit;              // stack ids from here on are not in the node table
    uint64_t page_size;
    struct hs_summary *summary;
};

// end_ns: the end of the trace as far as it is known, for the width of the timeline.
int builder__create(struct builder *builder, int directory_fd, struct hs_summary *summary, uint64_t end_ns);
void builder__free(struct builder *builder);

// A hs_trace_visitor; `context` is the builder.
int builder__visit(void *context, uint32_t stream, const struct hs_event *event, int phase, uint64_t time);

// ---- between the files of the builder
// ----------------------------------------------------------------------------------

struct new_row {
    uint64_t address, size, usable;
    uint32_t stack, stream, detail;
    uint8_t kind;
};
// Appends a row that starts now. Returns its number or a negative errno.
int64_t builder__add_row(struct builder *builder, const struct new_row *row);
// Ends a row now.
void builder__end_row(struct builder *builder, uint32_t row, uint32_t stream, uint32_t stack, uint8_t flags);
// Makes `next` the continuation of `row` in a chain.
int builder__link(struct builder *builder, uint32_t row, uint32_t next);
int builder__map_event(struct builder *builder, uint32_t stream, const struct hs_event *event);

void timeline__advance(struct builder *builder);
int timeline__create(struct timeline *timeline, uint64_t end_ns);
int timeline__finish(struct builder *builder, struct hs_store_head *head);
void timeline__free(struct timeline *timeline);

static inline uint64_t *column_u64(struct hs_column_file *file)
{
    return file->data;
}
static inline uint32_t *column_u32(struct hs_column_file *file)
{
    return file->data;
}
static inline uint8_t *column_u8(struct hs_column_file *file)
{
    return file->data;
}

// Fetches what the events soon to come will touch: first the place of a block in the live map, then, when that is
// there, the block's row.
static inline void builder__look_ahead(struct builder *builder, const struct hs_event *event)
{
    const struct hs_event *near = event + HS_TRACE_EVENTS_AHEAD / 2;
    hs_live_map__prefetch(&builder->live, event[HS_TRACE_EVENTS_AHEAD].address);
    if (near->kind != HS_EVENT_FREE)
        return;
    uint32_t row_plus_1 = hs_live_map__find(&builder->live, near->address, 0)->row_plus_1;
    if (!row_plus_1)
        return;
    __builtin_prefetch(&column_u64(&builder->free_time)[row_plus_1 - 1], 1);
    __builtin_prefetch(&column_u64(&builder->size)[row_plus_1 - 1]);
    __builtin_prefetch(&column_u32(&builder->slack)[row_plus_1 - 1]);
    __builtin_prefetch(&column_u32(&builder->stream)[row_plus_1 - 1]);
    __builtin_prefetch(&column_u8(&builder->kind)[row_plus_1 - 1]);
}

#endif
