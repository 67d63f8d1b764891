// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The store: an imported trace as immutable columns in mapped files. host/import makes one and opens it
// (hs_import__open); everything else reads it through this header and asks questions through host/query/query.h. What a
// store contains is in host/store/contents.h. A store is read-only and may be used by any number of threads.
#ifndef HEAPSONDE_STORE_STORE_H
#define HEAPSONDE_STORE_STORE_H

#include "host/base/error.h"
#include "host/store/contents.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_store;

// Opens the store in this directory. 0, or a negative errno with the error set. What the functions below return belongs
// to the store and lasts until it is closed, unless it is said otherwise. Errors of functions without `error` are a
// negative errno. `time` is ns since the recording began.
int hs_store__open(const char *directory, struct hs_store **store, struct hs_error *error);
void hs_store__close(struct hs_store *store);

// Whether the files still have their lengths. Reading a truncated part raises SIGBUS.
bool hs_store__is_whole(const struct hs_store *store);

// Reads and writes results that were computed from the whole store. They are in a separate file, which is found
// whenever the same store is opened again (host/store/kept.h). Nothing is written for a store that is removed when it
// is closed (-EROFS). The caller frees *bytes and checks what is in them: a checksum detects damage, but not a forged
// file. -ENOENT: there are none; -EBADMSG: they are damaged or another store's.
int hs_store__read_kept(const struct hs_store *store, uint8_t **bytes, size_t *count);
int hs_store__keep(const struct hs_store *store, const void *bytes, size_t count);

const struct hs_summary *hs_store__summary(const struct hs_store *store);
const struct hs_columns *hs_store__columns(const struct hs_store *store);
// The largest live sum of each stack: for each block of stacks, a block of bytes and a block of times. Stacks after the
// last block had no live memory.
const struct hs_packed *hs_store__stack_peaks(const struct hs_store *store);
// The table of host/query/stack_totals_column.h, or NULL.
const struct hs_packed *hs_store__totals(const struct hs_store *store);
// Arrays: *count becomes the number of elements. Without any, the result may be NULL.
const struct hs_zone *hs_store__zones(const struct hs_store *store, size_t *count);
const struct hs_chain *hs_store__chains(const struct hs_store *store, size_t *count); // [0] is unused
const struct hs_node *hs_store__nodes(const struct hs_store *store, size_t *count);   // [0] is the empty stack
const struct hs_module *hs_store__modules(const struct hs_store *store, size_t *count);
const struct hs_thread *hs_store__threads(const struct hs_store *store, size_t *count);
const struct hs_mapping *hs_store__mappings(const struct hs_store *store, size_t *count);
const uint64_t *hs_store__pools(const struct hs_store *store, size_t *count); // pool handles
const struct hs_culled *hs_store__culled(const struct hs_store *store, size_t *count);
const struct hs_sample *hs_store__samples(const struct hs_store *store, size_t *count);
const struct hs_side_event *hs_store__side_events(const struct hs_store *store, size_t *count);
const struct hs_timeline_level *hs_store__timeline(const struct hs_store *store, size_t *count);

// NULL: not in a chain.
const struct hs_chain_link *hs_row__link(const struct hs_columns *columns, uint64_t row);
static inline uint32_t hs_row__next(const struct hs_columns *columns,
                                    uint64_t row) // the next row of its chain; 0: none
{
    const struct hs_chain_link *link = hs_row__link(columns, row);
    return link ? link->next : 0;
}

// Value of an INFO record of the trace (executable, command line, host, allocator, ...), or NULL.
const char *hs_store__info(const struct hs_store *store, const char *key);

// The frames of a stack, innermost first. Writes at most `max` return addresses and returns their number. *cut (may be
// NULL) becomes HS_CUT_NONE, or the reason why the outermost frames are missing (enum hs_end of unwind/walk.h).
size_t hs_store__frames(const struct hs_store *store, uint32_t stack, uint64_t *pcs, size_t max, unsigned *cut);

// The number of return addresses of each node, without inlined functions. The caller frees it. NULL: out of memory.
uint32_t *hs_store__depths(const struct hs_store *store);

// When a node was recorded, exact enough to choose among modules that were unloaded.
uint64_t hs_store__node_time(const struct hs_store *store, uint32_t node);

// The module that contained `pc` at `time`, or NULL. For a node, pass its own time.
const struct hs_module *hs_store__module_at(const struct hs_store *store, uint64_t pc, uint64_t time);
// The same, with the interval in which this is the answer: from *from to before *until. HS_NEVER: without end.
const struct hs_module *hs_store__module_during(const struct hs_store *store, uint64_t pc, uint64_t time,
                                                uint64_t *from, uint64_t *until);

const struct hs_thread *hs_store__thread(const struct hs_store *store, uint32_t stream); // NULL: unknown

// What the wall clock showed at a time, in ns since 1970.
uint64_t hs_store__realtime_ns(const struct hs_store *store, uint64_t time);
// The latest that it may have been: the wall clock may have been set ahead later.
uint64_t hs_store__latest_realtime_ns(const struct hs_store *store, uint64_t time);
// Like hs_store__realtime_ns, with the interval in which the wall clock was not set: from *from to before *until.
uint64_t hs_store__realtime_during(const struct hs_store *store, uint64_t time, uint64_t *from, uint64_t *until);
// CLOCK_MONOTONIC of the recorded machine at a time, in ns.
uint64_t hs_store__monotonic_ns(const struct hs_store *store, uint64_t time);
// The first time at which the wall clock showed this or more; 0 if it always did.
uint64_t hs_store__time_of_realtime(const struct hs_store *store, uint64_t realtime_ns);

// Functions that an interpreter ran: addresses of the trace stand for their instructions (docs/format.md, 5.3).
struct hs_interpreted {
    uint64_t start, end;
    uint32_t first_line, kind;
    const char *function, *file;
    const uint8_t *lines;
    size_t lines_length;
};
// The function of an address, and its number. False: none.
bool hs_store__function(const struct hs_store *store, uint64_t address, struct hs_interpreted *function,
                        uint32_t *number);

// Embedded files of the trace. Their contents can be read only if the store was opened with hs_import__open.
struct hs_embedded {
    const char *name;
    uint64_t length;
};
const struct hs_embedded *hs_store__embedded(const struct hs_store *store, size_t *count);
// Copies the whole file to `to`, which has room for its length. 0, or a negative errno with the error set.
int hs_store__read_embedded(const struct hs_store *store, size_t index, void *to, struct hs_error *error);

#endif
