// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How rows ended. Blocks are freed in any order, so the ends of new rows are kept in memory. If nearly all rows of an
// older region have ended, the region is written to an unnamed file and leaves memory; its few live rows become late
// rows. So memory is needed only for live and new rows, however long the trace is.
//
// A region passes through three states:
//   in memory   the builder's thread writes its rows
//   retired     hs_row_ends__retire has taken out its live rows. Nobody writes the others after that; the thread that
//               writes blocks reads them.
//   spilled     hs_row_ends__spill has written them to the file. The writing thread sets this state, and the builder's
//               thread reads it after joining it (hs_write_behind__finish).
// Late rows belong to the builder's thread.
#ifndef HEAPSONDE_IMPORT_ROW_ENDS_H
#define HEAPSONDE_IMPORT_ROW_ENDS_H

#include "host/base/array.h"
#include "host/import/growing.h"
#include "host/store/packed.h"

#include <stdbool.h>
#include <stdint.h>

#define ROW_IS_LIVE ((uint64_t)1 << 63)
#define LAST_TIME   (ROW_IS_LIVE - 2) // later times are damage

// A row that was live when its region was retired.
struct hs_late_row {
    uint64_t time; // as in struct hs_row_ends
    uint32_t place, stack, stream;
    uint8_t state;
};

struct hs_row_ends_region {
    struct hs_row_ends_region *next; // next retired region to spill
    uint64_t number;
    struct hs_late_row *late; // sorted by place; NULL: in memory
    size_t late_count;
    uint64_t look_again; // do not try to retire it before this number of rows
    uint64_t first_block;
    bool spilled;
};

// Indexed by row, in plain memory because of random writes. Most frees have no stack and are by the allocating thread,
// so 0 is not written; pages that are never written take no memory.
struct hs_row_ends {
    struct hs_growing time;   // uint64_t; for a live row, a word with what is known of it and ROW_IS_LIVE
    struct hs_growing stack;  // uint32_t: the stack that freed it
    struct hs_growing stream; // uint32_t: the stream that freed it, XOR the row's stream
    struct hs_growing state;  // uint8_t
    uint64_t room;            // capacity in rows
    int directory_fd;
    struct hs_array regions; // struct hs_row_ends_region *
    uint64_t retired_rows;   // all retired regions are before this row
    struct hs_packed_writer file;
    struct hs_packed spilled; // the contents of the file, after hs_row_ends__settle
};

enum hs_row_ends_column {
    HS_ROW_ENDS_TIME,
    HS_ROW_ENDS_STACK,
    HS_ROW_ENDS_STREAM,
    HS_ROW_ENDS_STATE,
    HS_ROW_ENDS_COLUMNS
};

// The file is created in the directory when it is first needed.
void hs_row_ends__create(struct hs_row_ends *row_ends, int directory_fd);
void hs_row_ends__free(struct hs_row_ends *row_ends);

// Doubles the capacity. No region may be waiting to be spilled. Returns 0 or -ENOMEM.
int hs_row_ends__make_room(struct hs_row_ends *row_ends);

// Retires those of the first `rows` rows (whole regions) that are worth it. Returns a list of them.
struct hs_row_ends_region *hs_row_ends__retire(struct hs_row_ends *row_ends, uint64_t rows);
// Writes the regions of a list to the file. If the disk is full, they stay in memory.
void hs_row_ends__spill(struct hs_row_ends *row_ends, struct hs_row_ends_region *list);
// Makes spilled regions readable; none may be waiting to be spilled. Returns 0 or a negative errno.
int hs_row_ends__settle(struct hs_row_ends *row_ends);

// The late row with this number, or NULL.
struct hs_late_row *hs_row_ends__late_row(const struct hs_row_ends *row_ends, uint64_t row);
// The value of a row in the column of times. After hs_row_ends__settle.
uint64_t hs_row_ends__time_at(const struct hs_row_ends *row_ends, uint64_t row);
// Reads `count` rows of a column from block `number` on. After hs_row_ends__settle. Has no side effects.
void hs_row_ends__read_block(const struct hs_row_ends *row_ends, enum hs_row_ends_column column, uint64_t number,
                             size_t count, uint64_t *to);

// For single-pass readers: drops the pages of the file that were read.
void hs_row_ends__drop_pages_behind(const struct hs_row_ends *row_ends, uint64_t number);

// Changed by tests only.
struct hs_row_ends_limits {
    uint64_t blocks;    // blocks per region
    uint64_t live_part; // a region is retired if at most one in this many of its rows is live
};
extern struct hs_row_ends_limits hs_row_ends_limits;

static inline bool hs_row_ends__begins_region(uint64_t row)
{
    return row % (hs_row_ends_limits.blocks * HS_PACKED_BLOCK) == 0;
}

static inline uint64_t *hs_row_ends__times(const struct hs_row_ends *row_ends)
{
    return row_ends->time.data;
}
static inline uint32_t *hs_row_ends__stacks(const struct hs_row_ends *row_ends)
{
    return row_ends->stack.data;
}
static inline uint32_t *hs_row_ends__streams(const struct hs_row_ends *row_ends)
{
    return row_ends->stream.data;
}
static inline uint8_t *hs_row_ends__states(const struct hs_row_ends *row_ends)
{
    return row_ends->state.data;
}

// Adds to the state of the row that has just ended.
static inline void hs_row_ends__add_to_state(const struct hs_row_ends *row_ends, uint64_t row, uint8_t flags)
{
    struct hs_late_row *late = row < row_ends->retired_rows ? hs_row_ends__late_row(row_ends, row) : NULL;
    if (late)
        late->state |= flags;
    else
        hs_row_ends__states(row_ends)[row] |= flags;
}

#endif
