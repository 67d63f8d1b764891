// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What is in a store: its rows, its tables and its totals.
//
// One row is one allocation: a block of the heap, of a pool, or a mapping. Rows are ordered by allocation time, then by
// the order of the trace; the row number is the allocation's identity. A realloc ends one row and starts another.
// Times are nanoseconds since recorded time 0 of the trace (hs_store__realtime_ns and hs_store__monotonic_ns convert).
// Sizes are requested bytes; usable size = size + slack. No sum of sizes, requested or usable, passes 2^62.
#ifndef HEAPSONDE_STORE_CONTENTS_H
#define HEAPSONDE_STORE_CONTENTS_H

#include "format/trace_format.h"
#include "host/store/packed.h"

#include <stdbool.h>
#include <stdint.h>

#define HS_NEVER         UINT64_MAX // free time of a block that was never freed
#define HS_NO_ROW        UINT32_MAX
#define HS_ZONE_ROWS     65536 // rows per zone map entry
#define HS_STORE_VERSION 16

// How the block came to be (column `kind`).
enum hs_row_kind {
    HS_KIND_MALLOC = 0,
    HS_KIND_CALLOC = 1,
    HS_KIND_ALIGNED = 2,
    HS_KIND_REALLOC = 3, // the block that a realloc of an existing block returned
    HS_KIND_POOL = 4,    // custom pool: the row's domain is `pool`
    HS_KIND_MMAP = 5,
    HS_KIND_MREMAP = 6,
    HS_KIND_BRK = 7,
    HS_KIND_COUNT
};

// Domains separate blocks that are nested: blocks of a pool are inside heap blocks, and heap blocks are inside
// mappings. Sums and peaks never mix domains. Peak, timeline and summary are those of the heap domain unless stated
// otherwise.
enum hs_domain { HS_DOMAIN_HEAP = 0, HS_DOMAIN_POOL = 1, HS_DOMAIN_MAP = 2, HS_DOMAIN_COUNT };
static inline enum hs_domain hs_kind_domain(uint8_t kind)
{
    return kind < HS_KIND_POOL ? HS_DOMAIN_HEAP : kind == HS_KIND_POOL ? HS_DOMAIN_POOL : HS_DOMAIN_MAP;
}

// Column `flags`.
enum {
    HS_ROW_TEMPORARY = 1,   // freed by the very next allocation or free of its thread
    HS_ROW_REALLOCATED = 2, // ended by a realloc (moved or resized), not by a free
    HS_ROW_MISSED_FREE = 4, // its free is not in the trace: it ended when its address was allocated again
    HS_ROW_AT_PEAK = 8,     // live at the heap's global peak
    HS_ROW_SPLIT = 16       // the rest of a larger mapping after a partial unmap
};

// The position of a row in a realloc chain. Rows in no chain have no link.
struct hs_chain_link {
    uint32_t row;
    uint32_t chain;    // index into hs_store__chains
    uint32_t position; // from 0
    uint32_t next;     // the next row of the chain; 0: none
};

// The columns, packed; read them with hs_row__* below. They stay valid until hs_store__close.
struct hs_columns {
    uint64_t rows;
    unsigned pointer_size;
    struct hs_packed time;
    struct hs_packed free_time; // 0: never; else 1 + the difference to the first time of its block
    struct hs_packed address;
    struct hs_packed size;
    struct hs_packed slack; // zigzag-encoded difference to what an allocator usually adds to this size
    struct hs_packed stack;
    struct hs_packed free_stack;
    struct hs_packed stream;
    struct hs_packed free_stream; // XOR with `stream`
    struct hs_packed detail;
    struct hs_packed state;            // kind + (flags << 3)
    const struct hs_chain_link *links; // by row
    size_t link_count;
};

static inline uint64_t hs_row__time(const struct hs_columns *columns, uint64_t row)
{
    return hs_packed__at(&columns->time, row);
}
static inline uint64_t hs_row__stored_free_time(uint64_t value, uint64_t first_time)
{
    return value ? first_time + (value - 1) : HS_NEVER;
}
static inline uint64_t hs_row__free_time(const struct hs_columns *columns, uint64_t row) // HS_NEVER: not freed
{
    return hs_row__stored_free_time(hs_packed__at(&columns->free_time, row),
                                    columns->time.block[row / HS_PACKED_BLOCK].base);
}
static inline uint64_t hs_row__address(const struct hs_columns *columns, uint64_t row)
{
    return hs_packed__at(&columns->address, row);
}
static inline uint64_t hs_row__size(const struct hs_columns *columns, uint64_t row) // requested
{
    return hs_packed__at(&columns->size, row);
}
// Converts between the slack and its stored value.
static inline uint64_t hs_row__expected_slack(uint64_t size, unsigned pointer_size)
{
    return hs_usable_model(size, pointer_size) - size;
}
static inline uint64_t hs_row__stored_slack(uint64_t value, uint64_t size, unsigned pointer_size)
{
    return hs_row__expected_slack(size, pointer_size) + ((value >> 1) ^ (0 - (value & 1)));
}
static inline uint64_t hs_row__slack_of(const struct hs_columns *columns, uint64_t row, uint64_t size)
{
    return hs_row__stored_slack(hs_packed__at(&columns->slack, row), size, columns->pointer_size);
}
static inline uint32_t hs_row__slack(const struct hs_columns *columns, uint64_t row) // usable - requested
{
    return (uint32_t)hs_row__slack_of(columns, row, hs_row__size(columns, row));
}
static inline uint32_t hs_row__stack(const struct hs_columns *columns, uint64_t row) // 0: unknown
{
    return (uint32_t)hs_packed__at(&columns->stack, row);
}
static inline uint32_t hs_row__free_stack(const struct hs_columns *columns, uint64_t row) // 0: unknown
{
    return (uint32_t)hs_packed__at(&columns->free_stack, row);
}
static inline uint32_t hs_row__stream(const struct hs_columns *columns, uint64_t row) // by stream number
{
    return (uint32_t)hs_packed__at(&columns->stream, row);
}
// The thread that freed the block; equal to the stream if it was not freed.
static inline uint32_t hs_row__free_stream(const struct hs_columns *columns, uint64_t row)
{
    return (uint32_t)(hs_packed__at(&columns->stream, row) ^ hs_packed__at(&columns->free_stream, row));
}
// Pool rows: index into hs_store__pools. Mapping rows: index into hs_store__mappings.
static inline uint32_t hs_row__detail(const struct hs_columns *columns, uint64_t row)
{
    return (uint32_t)hs_packed__at(&columns->detail, row);
}
static inline uint8_t hs_row__kind_of_state(uint64_t state)
{
    return state & 7;
}
static inline uint8_t hs_row__flags_of_state(uint64_t state)
{
    return (uint8_t)(state >> 3);
}
static inline uint8_t hs_row__kind(const struct hs_columns *columns, uint64_t row) // enum hs_row_kind
{
    return hs_row__kind_of_state(hs_packed__at(&columns->state, row));
}
static inline uint8_t hs_row__flags(const struct hs_columns *columns, uint64_t row) // HS_ROW_*
{
    return hs_row__flags_of_state(hs_packed__at(&columns->state, row));
}
// Bounds for each run of HS_ZONE_ROWS rows. A query skips runs that cannot match.
struct hs_zone {
    uint64_t time_min, time_max;
    uint64_t free_min, free_max; // free_max is HS_NEVER if a row was never freed
    uint64_t size_min, size_max;
    uint64_t address_min, address_max;
    uint64_t lifetime_min, lifetime_max; // of the freed rows
    uint32_t stack_min, stack_max;
    uint32_t kinds; // bit per enum hs_row_kind
    uint32_t flags; // union of all flags
};

// A realloc chain: the rows from `first`, each continued by the next.
struct hs_chain {
    uint32_t first, last;
    uint32_t length;
    uint32_t reserved;
    uint64_t first_size, last_size;
    uint64_t first_time;
    uint64_t free_time; // of the last row, or HS_NEVER
};

// A node of the stack table: a frame and its caller. Stack n consists of the frames from node n up to the root. Node 0
// is the empty stack.
struct hs_node {
    uint64_t pc; // return address
    uint32_t parent;
} __attribute__((packed, aligned(4)));
#define HS_CUT_NONE 0
// A node that is not a frame: it gives the reason why the outer frames are missing, or marks the caller of its children
// as a guess.
static inline bool hs_node__is_cut(const struct hs_node *node)
{
    return !node->parent && node->pc < HS_CUT_LIMIT;
}
static inline bool hs_node__is_guess(const struct hs_node *node)
{
    return node->parent && node->pc == HS_NODE_GUESSED;
}

struct hs_module {
    uint64_t start, end;
    uint64_t bias; // run-time address minus address in the file
    uint64_t load_time;
    uint64_t unload_time; // HS_NEVER
    const char *path;
    const uint8_t *build_id;
    uint32_t build_id_length;
    uint32_t layout; // hash of the program headers, if there is no build id; 0: unknown
    uint64_t inode;  // of the file, if there is no build id; 0: unknown
};

struct hs_thread {
    uint32_t stream;
    uint32_t tid;
    uint64_t start_time;
    const char *name; // the last known name; "": unknown
};

struct hs_mapping { // details of a mapping row
    uint64_t offset;
    uint64_t asked; // the requested address
    uint32_t protection;
    uint32_t map_flags;
    int32_t fd;
    uint32_t reserved;
};

enum hs_side_kind { HS_SIDE_MALLOPT = 1, HS_SIDE_TOGGLE = 2, HS_SIDE_MARK = 3 };
struct hs_side_event {
    uint64_t time;
    uint32_t kind; // enum hs_side_kind
    uint32_t stream;
    uint32_t stack;
    int32_t result;    // MALLOPT
    int64_t value;     // MALLOPT: value; TOGGLE: 1 on, 0 off; MARK: value
    int32_t parameter; // MALLOPT
    uint32_t reserved;
    const char *text; // MARK; else ""
};

// Samples of the kernel, in the order in which the recorder received them. The weights of CPU samples are nanoseconds
// and add up to the CPU time of the thread. The weight of HS_SAMPLE_OFF_CPU is the time off the processor, beginning at
// `time`. HS_SAMPLE_ON_CPU and HS_SAMPLE_CPU_CLOCK are not stored.
struct hs_sample {
    uint64_t time;
    uint64_t address; // of page faults
    uint64_t weight;  // the unit depends on the kind: see HS_SAMPLE_* in format/trace_format.h
    uint32_t kind;
    uint32_t tid;
    uint32_t stack;    // 0: none
    uint32_t duration; // of page faults: the first one was this many ns before `time`
};

struct hs_live_total {
    uint64_t bytes;  // requested
    uint64_t usable; // usable bytes
    uint64_t count;
};

// Sums per stack that the recorder kept instead of single blocks.
enum hs_culled_kind {
    HS_CULLED_SHORT = 0, // short-lived blocks: none is live, all have a lifetime
    HS_CULLED_SUMS = 1   // all blocks of a trace with hs_summary.is_aggregate: no lifetimes
};
struct hs_culled {
    uint32_t stack;  // 0, of sums: the stacks that were folded together
    uint16_t kind;   // enum hs_culled_kind
    uint16_t domain; // enum hs_domain
    uint64_t count, size, usable, lifetime_ns;
    // Only for sums:
    struct hs_live_total live, peak; // at the end; at the highest tick
    uint64_t temporary_count, temporary_size;
    uint64_t first_time, last_time; // the first and last tick with a sum of the stack
};

// Totals and facts of the whole trace.
struct hs_summary {
    char trace_id[33]; // hexadecimal
    uint8_t byte_order, pointer_size, clock_source, version_major, version_minor;
    uint16_t machine; // ELF e_machine
    uint32_t pid, parent_pid;
    uint64_t start_monotonic_ns, start_realtime_ns;
    uint64_t forked_at_ns; // 0, or the time of the fork in the parent's time
    uint64_t end_time;     // time of the last recorded fact
    uint64_t state;        // HS_STATE_* of format/trace_format.h; RECORDING: still running or killed
    uint64_t stop_reason, stop_errno;
    uint64_t file_size;

    uint64_t events;      // decoded records
    uint64_t allocations; // heap rows
    uint64_t frees;       // of heap rows, without reallocs
    uint64_t reallocations;
    uint64_t allocated_bytes, allocated_usable;
    uint64_t temporary_count, temporary_bytes;
    struct hs_live_total live; // heap, at the end
    struct hs_live_total peak; // heap, at peak_time: the largest sum of requested bytes, exact
    uint64_t peak_time;        // the first time of the peak
    struct hs_live_total map_live, map_peak;
    uint64_t map_peak_time;
    uint64_t pool_allocations;

    uint64_t unknown_frees; // frees of blocks that are not in the trace: allocated before the recording, or dropped
    uint64_t missed_frees;  // blocks whose free is missing
    uint64_t unknown_unmaps;
    uint64_t dropped[16];   // by enum hs_drop of trace_format.h
    uint64_t truncated[16]; // by cut reason
    uint64_t guessed;
    uint64_t resident_growth; // of the largest resident size since the recording began; 0: also if it is not known
    uint64_t merged_nodes;    // nodes of stacks that had left the recorder's memory and came again
    uint64_t damaged_chunks, damaged_bytes; // sums of `damage`
    uint64_t damage[8];                     // chunks by enum hs_damage of host/import/import.h
    uint64_t damage_bytes[8];
    uint64_t recovered_slots; // live slots of a killed or running process
    uint64_t out_of_order;    // records with a time before that of their predecessor
    uint64_t capped_numbers;  // numbers that count for less than in the trace (allowance.h)

    // Samples of the kernel:
    uint64_t cpu_samples, cpu_ns;
    uint64_t off_cpu_samples, off_cpu_ns;         // times off the processor
    uint64_t faulted_bytes;                       // bytes that page faults made resident
    uint64_t fault_stack_samples, stacked_faults; // samples with a stack, and the faults that they represent

    // Stacks of samples that the import unwound, and those of them that are damaged. The ends of these stacks are also
    // counted in `truncated`.
    uint64_t snapshots, damaged_snapshots;

    // A trace with sums per stack in place of events has no rows. Live memory is known at each tick; `peak` is the
    // highest tick. Times, sizes, lifetimes and threads of single blocks are not known.
    bool is_aggregate;
    bool ends_with_events; // how long the process lived after its last event is not known: it was killed, and had no
                           // writer thread
    uint64_t aggregate_interval_ns;
    uint64_t aggregate_ticks, aggregate_until; // number of ticks; time of the last one
    uint64_t untold_events;                    // events that were recorded after the last tick and are in no sum
    uint64_t folded_stacks;                    // stacks that were folded into stack 0
};

// One interval of the timeline of the heap domain. Bytes are requested bytes.
struct hs_timeline_point {
    uint64_t live_bytes_max, live_count_max; // maximum within the interval
    uint64_t live_bytes_end, live_count_end; // at the end of the interval
    uint64_t allocated_bytes, allocated_count;
    uint64_t freed_bytes, freed_count;
};

// Adds an interval that follows.
static inline void hs_timeline_point__add(struct hs_timeline_point *to, const struct hs_timeline_point *from)
{
    if (from->live_bytes_max > to->live_bytes_max)
        to->live_bytes_max = from->live_bytes_max;
    if (from->live_count_max > to->live_count_max)
        to->live_count_max = from->live_count_max;
    to->live_bytes_end = from->live_bytes_end;
    to->live_count_end = from->live_count_end;
    to->allocated_bytes += from->allocated_bytes;
    to->allocated_count += from->allocated_count;
    to->freed_bytes += from->freed_bytes;
    to->freed_count += from->freed_count;
}

// The pyramid of timelines: level 0 is the finest, intervals of level n are 2^(2n) times as long. All levels start at
// time 0.
struct hs_timeline_level {
    uint64_t interval; // ns
    uint64_t points;
    const struct hs_timeline_point *point;
};

#endif
