// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Builds the rows of a store from events in the order of time. builder.c handles the heap and pools, mappings.c the
// mappings, timeline.c the pyramid, and finish.c what needs all rows.
#ifndef HEAPSONDE_IMPORT_BUILDER_H
#define HEAPSONDE_IMPORT_BUILDER_H

#include "format/event.h"
#include "host/base/array.h"
#include "host/import/clock_map.h"
#include "host/import/live_map.h"
#include "host/import/live_ranges.h"
#include "host/import/row_ends.h"
#include "host/import/same_stacks.h"
#include "host/import/stack_peaks.h"
#include "host/import/step.h"
#include "host/import/ties.h"
#include "host/import/trace.h"
#include "host/import/write_behind.h"
#include "host/store/allowance.h"
#include "host/store/column_file.h"
#include "host/store/layout.h"

#include <stdbool.h>

#define HS_POOL_LIMIT (1u << 20)

// The state of one stream during the replay.
struct hs_stream_state {
    uint32_t last_row_plus_1;    // the row that its last call allocated; 0: the last call did not allocate
    uint32_t realloc_row_plus_1; // the block that its realloc in progress ends
    uint32_t realloc_link;       // the link + 1 of that block, or 0
};

struct hs_timeline_builder {
    uint64_t interval;
    uint64_t current;                // interval in progress
    uint64_t current_end;            // ns
    struct hs_timeline_point *point; // HS_TIMELINE_POINTS
};

// The start of a row whose block (of packed values) is not full yet.
struct hs_row_start {
    uint64_t time, address, size, slack, stack, stream, detail;
};

// What is needed when a block ends.
struct hs_known_block {
    uint64_t size;
    uint32_t slack, stack, stream;
};

// The number of bits for each value in the word of a live row, lowest bits first, in this order.
struct hs_live_bits {
    unsigned slack, stream, stack, size;
};

struct hs_builder {
#define HS_WRITER(name) struct hs_packed_writer name;
    HS_STORE_COLUMNS(HS_WRITER)
#undef HS_WRITER
    struct hs_staged_block *staged; // rows of the packed block in progress, from the first row on
    struct hs_write_behind *behind;
    struct hs_row_ends row_ends; // the word of a live row is a struct hs_known_block with the widths in `live_bits`
    struct hs_row_ends_region *retired; // to be spilled after the packed block in progress
    struct hs_live_bits live_bits;
    uint64_t rows;
    int directory_fd;

    struct hs_clock_map clock;
    uint64_t now; // ns; never decreases
    struct hs_ties ties;
    bool takes_all; // also takes events that do not fit the live blocks, unchanged
    // For steps with events of mappings; set by the caller: hs_builder__map_event (mappings.c).
    int (*map_event)(struct hs_builder *builder, const struct hs_step *step);
    struct hs_live_map live;
    uint64_t live_most;       // blocks; beyond them -E2BIG; set after hs_builder__create
    struct hs_array streams;  // struct hs_stream_state, by stream
    struct hs_array zones;    // struct hs_zone; until all rows are written, only the writing thread uses it
    struct hs_array links;    // struct hs_chain_link, in the order of their creation
    struct hs_array chains;   // struct hs_chain
    struct hs_array pools;    // uint64_t
    struct hs_array mappings; // struct hs_mapping
    struct hs_live_ranges maps;
    struct hs_array side;    // struct hs_stored_side_event
    struct hs_array samples; // struct hs_sample
    struct hs_array large;   // struct hs_known_block that do not fit into a word
    struct hs_array at_peak; // uint32_t: rows that ended in the nanosecond of the peak, but after the peak
    struct hs_timeline_builder timeline;
    struct hs_stack_peaks stack_peaks;
    struct hs_allowance block_allowance, map_allowance, sample_allowance;
    struct hs_live_total live_total, map_total;
    uint64_t peak_rows, map_peak_rows; // number of rows at the peak
    const struct hs_same_stacks *same; // of the trace, or NULL; set by the caller
    uint32_t stack_limit;              // stack ids from here on are not in the node table
    bool unknown_stacks;               // an event has such an id; when the trace has grown, the id may be known
    uint64_t page_size;
    struct hs_summary *summary;
};

// `builder->clock` has to be there already. end_ns: the known end of the trace, for the width of the timeline.
int hs_builder__create(struct hs_builder *builder, int directory_fd, struct hs_summary *summary, uint64_t end_ns);
void hs_builder__free(struct hs_builder *builder);
// Before the first step: ids of stacks and streams are below these limits, except in damaged traces. Returns 0 or
// -ENOMEM.
int hs_builder__expect(struct hs_builder *builder, uint32_t stacks, uint32_t streams);

// Adds steps, in the order of their times.
int hs_builder__visit(struct hs_builder *builder, struct hs_step *steps, size_t count);
// All steps up to a recorded time have been added, and the next ones are at least 1 ns later: what has waited long
// enough for others waits no longer.
int hs_builder__expire(struct hs_builder *builder, uint64_t time);
// Called when no more steps will follow.
int hs_builder__settle(struct hs_builder *builder);

// ---- between the files of the builder ------------------------------------------------------------------------------

struct hs_new_row {
    uint64_t address, size, usable;
    uint32_t stack, stream, detail;
    uint8_t kind;
};
// The sizes with which a row counts (host/store/allowance.h).
struct hs_allowed_size {
    uint64_t size, usable; // usable >= size
};
struct hs_allowed_size hs_builder__allow_large(struct hs_allowance *allowance, uint64_t size, uint64_t usable);
// Appends a row that starts now. Returns its number or a negative errno.
int64_t hs_builder__add_row(struct hs_builder *builder, const struct hs_new_row *row);
// False: out of memory.
bool hs_builder__mark_live(struct hs_builder *builder, uint64_t row, const struct hs_new_row *as, uint32_t slack);
int hs_builder__widen_zone(struct hs_builder *builder, const struct hs_staged_block *staged);
// Restores the first `rows` rows of an earlier import as they were at `builder->now` (continue_rows.c). The lists of
// that time must be loaded already; this fills the live map. `rest`: the rows of the last block if `columns` ends
// before it, else NULL. -EBADMSG: the data is inconsistent.
int hs_builder__continue(struct hs_builder *builder, const struct hs_columns *columns, uint64_t rows,
                         const struct hs_row_start *rest);
// Writes the staged rows, and waits until they and all earlier rows are written.
int hs_builder__write_rest(struct hs_builder *builder);

// Ends the row of a mapping now.
void hs_builder__end_mapping(struct hs_builder *builder, uint32_t row, uint32_t stream, uint32_t stack, uint8_t flags);
// Makes `next` the continuation of `row`, whose link + 1 (or 0) is `link`. Returns the link + 1 of `next`, or a
// negative errno.
int64_t hs_builder__link(struct hs_builder *builder, uint32_t row, uint32_t link, uint32_t next);
// HS_TIE_WAITS: see ties.h.
// Steps with events.
int hs_builder__map_event(struct hs_builder *builder, const struct hs_step *step);
int hs_builder__side_event(struct hs_builder *builder, const struct hs_step *step);
int hs_builder__sample_event(struct hs_builder *builder, const struct hs_step *step);

void hs_timeline_builder__advance(struct hs_builder *builder);
int hs_timeline_builder__create(struct hs_timeline_builder *timeline, uint64_t end_ns);
// Restores the points of an earlier import, up to the one in progress. -EBADMSG unless the intervals of the current
// pyramid are multiples of its intervals.
int hs_timeline_builder__continue(struct hs_timeline_builder *timeline, uint64_t interval,
                                  const struct hs_timeline_point *points, uint64_t count);
int hs_timeline_builder__finish(struct hs_builder *builder, struct hs_store_head *head);
void hs_timeline_builder__free(struct hs_timeline_builder *timeline);

static inline uint32_t hs_builder__known_stack(const struct hs_builder *builder, uint32_t stack)
{
    return stack < builder->stack_limit ? stack : 0;
}
// When a row ended; HS_NEVER: it is live.
static inline uint64_t hs_builder__end_of_row(uint64_t time)
{
    return time & ROW_IS_LIVE ? HS_NEVER : time;
}
static inline uint32_t hs_builder__slack_of(uint64_t size, uint64_t usable)
{
    uint64_t slack = usable > size ? usable - size : 0;
    return slack < UINT32_MAX ? (uint32_t)slack : UINT32_MAX;
}
static inline struct hs_allowed_size hs_builder__allow(struct hs_allowance *allowance, uint64_t size, uint64_t usable)
{
    if (__builtin_expect((size | usable) >= HS_SMALL_BLOCK, 0))
        return hs_builder__allow_large(allowance, size, usable);
    return (struct hs_allowed_size){size, size + hs_builder__slack_of(size, usable)};
}

#endif
