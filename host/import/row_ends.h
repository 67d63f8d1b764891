// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How rows ended. Frees come in any order, so the newest rows stand in memory; older regions of which nearly all rows
// ended go to a file without a name and leave memory. Their few rows that are still live become late rows, so that
// memory is for live rows and new ones, however long the trace is.
//
// A region is in one of three states, in this order:
//   in memory   the thread of the builder writes its rows.
//   retired     hs_row_ends__retire took its live rows out; nobody writes the others any more, and the thread that
//   writes
//               blocks reads them.
//   spilled     hs_row_ends__spill put them into the file. Set by the thread that writes blocks, read by the other when
//   that
//               one ended (hs_write_behind__finish): the join orders both.
// Late rows belong to the thread of the builder.
#ifndef HEAPSONDE_IMPORT_ROW_ENDS_H
#define HEAPSONDE_IMPORT_ROW_ENDS_H

#include "host/import/array.h"
#include "host/import/growing.h"
#include "host/store/packed.h"

#include <stdbool.h>
#include <stdint.h>

#define ROW_IS_LIVE ((uint64_t)1 << 63)
#define LAST_TIME   (ROW_IS_LIVE - 2) // later ones are damage

// A row that was live when its region was retired.
struct hs_late_row {
    uint64_t time; // as struct hs_row_ends has it
    uint32_t place, stack, stream;
    uint8_t state;
};

struct hs_row_ends_region {
    struct hs_row_ends_region *next; // retired, to be spilled
    uint64_t number;
    struct hs_late_row *late; // by place; NULL: in memory
    size_t late_count;
    uint64_t look_again; // rows there have to be before it is worth it
    uint64_t first_block;
    bool spilled;
};

// By row; in memory, as it is written all over. Most frees come without a stack and from the thread that allocated:
// what is 0 is not written, and what is never written takes no memory.
struct hs_row_ends {
    struct hs_growing time;   // uint64_t; while the row is live, what is known of it in a word, with ROW_IS_LIVE
    struct hs_growing stack;  // uint32_t: that freed it
    struct hs_growing stream; // uint32_t: that freed it, exclusive or with the row's stream
    struct hs_growing state;  // uint8_t
    uint64_t room;            // rows
    int directory_fd;
    struct hs_array regions; // struct hs_row_ends_region *
    uint64_t retired_rows;   // no row from here on is in a retired region
    struct hs_packed_writer file;
    struct hs_packed spilled; // what is in the file, once hs_row_ends__settle was called
};

enum hs_row_ends_column {
    HS_ROW_ENDS_TIME,
    HS_ROW_ENDS_STACK,
    HS_ROW_ENDS_STREAM,
    HS_ROW_ENDS_STATE,
    HS_ROW_ENDS_COLUMNS
};

// The file is made in the directory when it is needed.
void hs_row_ends__create(struct hs_row_ends *row_ends, int directory_fd);
void hs_row_ends__free(struct hs_row_ends *row_ends);

// Twice the room. No region may be on its way to the file. Returns 0 or -ENOMEM.
int hs_row_ends__make_room(struct hs_row_ends *row_ends);

// Of `rows` rows, which are whole regions: retires those that are worth it. Returns a list of them.
struct hs_row_ends_region *hs_row_ends__retire(struct hs_row_ends *row_ends, uint64_t rows);
// Writes the regions of a list to the file. Without room on the disk they stay in memory.
void hs_row_ends__spill(struct hs_row_ends *row_ends, struct hs_row_ends_region *list);
// Makes spilled regions readable, for what follows; none may be on its way. Returns 0 or a negative errno.
int hs_row_ends__settle(struct hs_row_ends *row_ends);

// The late row of a number; NULL where it is none.
struct hs_late_row *hs_row_ends__late_row(const struct hs_row_ends *row_ends, uint64_t row);
// What the column of times says of a row; settled.
uint64_t hs_row_ends__time_at(const struct hs_row_ends *row_ends, uint64_t row);
// `count` rows of a column from the block `number` on; settled. Reading is free of side effects.
void hs_row_ends__read_block(const struct hs_row_ends *row_ends, enum hs_row_ends_column column, uint64_t number,
                             size_t count, uint64_t *to);

// For readers that read block after block: drops the pages of the file that were read.
void hs_row_ends__drop_pages_behind(const struct hs_row_ends *row_ends, uint64_t number);

// Tests change them.
struct hs_row_ends_limits {
    uint64_t blocks;    // of a region
    uint64_t live_part; // a region is retired when at most one of so many rows is live
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

// Adds to the state of a row that ended just now.
static inline void hs_row_ends__add_to_state(const struct hs_row_ends *row_ends, uint64_t row, uint8_t flags)
{
    struct hs_late_row *late = row < row_ends->retired_rows ? hs_row_ends__late_row(row_ends, row) : NULL;
    if (late)
        late->state |= flags;
    else
        hs_row_ends__states(row_ends)[row] |= flags;
}

#endif
