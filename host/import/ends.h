// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How rows ended. Frees come in any order, so the newest rows stand in memory; older regions of which nearly all rows
// ended go to a file without a name and leave memory. Their few rows that are still live become late rows, so that
// memory is for live rows and new ones, however long the trace is.
//
// A region is in one of three states, in this order:
//   in memory   the thread of the builder writes its rows.
//   retired     ends__retire took its live rows out; nobody writes the others any more, and the thread that writes
//               blocks reads them.
//   spilled     ends__spill put them into the file. Set by the thread that writes blocks, read by the other when that
//               one ended (write_behind__finish): the join orders both.
// Late rows belong to the thread of the builder.
#ifndef HEAPSONDE_IMPORT_ENDS_H
#define HEAPSONDE_IMPORT_ENDS_H

#include "host/import/array.h"
#include "host/import/growing.h"
#include "host/store/packed.h"

#include <stdbool.h>
#include <stdint.h>

#define ROW_IS_LIVE ((uint64_t)1 << 63)
#define LAST_TIME   (ROW_IS_LIVE - 2) // later ones are damage

// A row that was live when its region was retired.
struct late_row {
    uint64_t time; // as struct ends has it
    uint32_t place, stack, stream;
    uint8_t state;
};

struct ends_region {
    struct ends_region *next; // retired, to be spilled
    uint64_t number;
    struct late_row *late; // by place; NULL: in memory
    size_t late_count;
    uint64_t look_again; // rows there have to be before it is worth it
    uint64_t first_block;
    bool spilled;
};

// By row; in memory, as it is written all over. Most frees come without a stack and from the thread that allocated:
// what is 0 is not written, and what is never written takes no memory.
struct ends {
    struct hs_growing time;   // uint64_t; while the row is live, what is known of it in a word, with ROW_IS_LIVE
    struct hs_growing stack;  // uint32_t: that freed it
    struct hs_growing stream; // uint32_t: that freed it, exclusive or with the row's stream
    struct hs_growing state;  // uint8_t
    uint64_t room;            // rows
    int directory_fd;
    struct hs_array regions; // struct ends_region *
    uint64_t retired_rows;   // no row from here on is in a retired region
    struct hs_packed_writer file;
    struct hs_packed spilled; // what is in the file, once ends__settle was called
};

enum ends_column { ENDS_TIME, ENDS_STACK, ENDS_STREAM, ENDS_STATE, ENDS_COLUMNS };

// The file is made in the directory when it is needed.
void ends__create(struct ends *ends, int directory_fd);
void ends__free(struct ends *ends);

// Twice the room. No region may be on its way to the file. Returns 0 or -ENOMEM.
int ends__make_room(struct ends *ends);

// Of `rows` rows, which are whole regions: retires those that are worth it. Returns a list of them.
struct ends_region *ends__retire(struct ends *ends, uint64_t rows);
// Writes the regions of a list to the file. Without room on the disk they stay in memory.
void ends__spill(struct ends *ends, struct ends_region *list);
// Makes spilled regions readable, for what follows; none may be on its way. Returns 0 or a negative errno.
int ends__settle(struct ends *ends);

// The late row of a number; NULL where it is none.
struct late_row *ends__late_row(const struct ends *ends, uint64_t row);
// What the column of times says of a row; settled.
uint64_t ends__time_at(const struct ends *ends, uint64_t row);
// `count` rows of a column from the block `number` on; settled. Reading is free of side effects.
void ends__read_block(const struct ends *ends, enum ends_column column, uint64_t number, size_t count, uint64_t *to);

// For readers that read block after block: drops the pages of the file that were read.
void ends__leave_behind(const struct ends *ends, uint64_t number);

// Tests change them.
struct ends_limits {
    uint64_t blocks;    // of a region
    uint64_t live_part; // a region is retired when at most one of so many rows is live
};
extern struct ends_limits ends_limits;

static inline bool ends__begins_region(uint64_t row)
{
    return row % (ends_limits.blocks * HS_PACKED_BLOCK) == 0;
}

static inline uint64_t *ends__times(const struct ends *ends)
{
    return ends->time.data;
}
static inline uint32_t *ends__stacks(const struct ends *ends)
{
    return ends->stack.data;
}
static inline uint32_t *ends__streams(const struct ends *ends)
{
    return ends->stream.data;
}
static inline uint8_t *ends__states(const struct ends *ends)
{
    return ends->state.data;
}

// Adds to the state of a row that ended just now.
static inline void ends__add_to_state(const struct ends *ends, uint64_t row, uint8_t flags)
{
    struct late_row *late = row < ends->retired_rows ? ends__late_row(ends, row) : NULL;
    if (late)
        late->state |= flags;
    else
        ends__states(ends)[row] |= flags;
}

#endif
