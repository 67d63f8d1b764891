// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Builds the rows of a store from events in time order. builder.c holds the heap and the pools, mappings.c the maps,
// timeline.c the pyramid, finish.c what needs all rows.
#ifndef HEAPSONDE_IMPORT_BUILDER_H
#define HEAPSONDE_IMPORT_BUILDER_H

#include "format/event.h"
#include "host/import/array.h"
#include "host/import/clock_map.h"
#include "host/import/growing.h"
#include "host/import/live_map.h"
#include "host/import/stack_peaks.h"
#include "host/import/step.h"
#include "host/import/trace.h"
#include "host/import/write_behind.h"
#include "host/store/column_file.h"
#include "host/store/layout.h"

#include <stdbool.h>

// What is known of one stream while events go by.
struct stream_state {
    uint32_t last_row_plus_1;    // the row that its last call allocated; 0: its last call did not
    uint32_t realloc_row_plus_1; // the block that its realloc in progress ends
    uint32_t realloc_link;       // and that block's link + 1, or 0
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
    uint32_t row, stack, stream, detail;
    uint32_t link; // + 1, or 0
    uint8_t kind;
};

// What is to be known of a block that ends and does not fit into a word (struct ends).
struct large_block {
    uint64_t size;
    uint32_t slack, stream;
};

// How a row ended, or, while it is live, what is to be known of it then: 16 bytes, which lie in one cache line.
struct row_end {
    uint64_t time;   // while live: size, slack and stream, with ROW_IS_LIVE
    uint32_t stack;  // that freed it; while live, that allocated it
    uint32_t stream; // exclusive or with the row's stream
};

// What may change until the end of the trace, by row; in memory, as it is written all over.
struct ends {
    struct hs_growing row;   // struct row_end
    struct hs_growing state; // uint8_t
};

#define ROW_IS_LIVE ((uint64_t)1 << 63)
#define LAST_TIME   (ROW_IS_LIVE - 2) // later ones are damage

struct builder {
#define HS_WRITER(name) struct hs_packed_writer name;
    HS_STORE_COLUMNS(HS_WRITER)
#undef HS_WRITER
    struct staged *staged; // the rows of the block in progress, from the first row on
    struct write_behind *behind;
    struct ends ends;
    uint64_t rows, room; // room: rows that `ends` has space for
    int directory_fd;

    struct hs_clock_map clock;
    uint64_t now; // ns; never goes back
    uint64_t last_time;
    struct hs_live_map live;
    struct hs_array streams;  // struct stream_state, by stream
    struct hs_array zones;    // struct hs_zone; while there are rows to come, of the thread that writes
    struct hs_array links;    // struct hs_link, in the order in which they were made
    struct hs_array chains;   // struct hs_chain
    struct hs_array pools;    // uint64_t
    struct hs_array mappings; // struct hs_mapping
    struct hs_array maps;     // struct live_mapping, by start
    struct hs_array side;     // struct hs_stored_side_event
    struct hs_array samples;  // struct hs_sample
    struct hs_array large;    // struct large_block
    struct hs_array at_peak;  // uint32_t: rows that ended in the peak's nanosecond, but after the peak
    struct timeline timeline;
    struct stack_peaks stack_peaks;
    struct hs_live_total live_total, map_total;
    uint64_t peak_rows, map_peak_rows; // rows that existed at the peak
    uint32_t stack_limit;              // stack ids from here on are not in the node table
    uint64_t page_size;
    struct hs_summary *summary;
};

// end_ns: the end of the trace as far as it is known, for the width of the timeline.
int builder__create(struct builder *builder, int directory_fd, struct hs_summary *summary, uint64_t end_ns);
void builder__free(struct builder *builder);

// Steps in the order of their times.
int builder__visit(struct builder *builder, struct hs_step *steps, size_t count);

// ---- between the files of the builder ------------------------------------------------------------------------------

struct new_row {
    uint64_t address, size, usable;
    uint32_t stack, stream, detail;
    uint8_t kind;
};
// Appends a row that starts now. Returns its number or a negative errno.
int64_t builder__add_row(struct builder *builder, const struct new_row *row);
// Writes the staged rows, and waits for those before them.
int builder__write_rest(struct builder *builder);

// Ends a mapping's row now.
void builder__end_mapping(struct builder *builder, uint32_t row, uint32_t stream, uint32_t stack, uint8_t flags);
// Makes `next` the continuation of `row`, whose link + 1 (or 0) is `link`. Returns the link + 1 of `next` or a negative
// errno.
int64_t builder__link(struct builder *builder, uint32_t row, uint32_t link, uint32_t next);
int builder__map_event(struct builder *builder, uint32_t stream, const struct hs_event *event);

void timeline__advance(struct builder *builder);
int timeline__create(struct timeline *timeline, uint64_t end_ns);
int timeline__finish(struct builder *builder, struct hs_store_head *head);
void timeline__free(struct timeline *timeline);

static inline struct row_end *row_ends(struct builder *builder)
{
    return builder->ends.row.data;
}
// When a row ended: HS_NEVER while it is live.
static inline uint64_t end_of_row(const struct row_end *end)
{
    return end->time & ROW_IS_LIVE ? HS_NEVER : end->time;
}
static inline uint8_t *states(struct builder *builder)
{
    return builder->ends.state.data;
}
static inline uint32_t slack_of(uint64_t size, uint64_t usable)
{
    uint64_t slack = usable > size ? usable - size : 0;
    return slack < UINT32_MAX ? (uint32_t)slack : UINT32_MAX;
}

#endif
