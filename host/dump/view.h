// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A dump as the subject of reports and exports: its stacks as one tree, its modules with their symbols, its estimates
// as per-stack totals. Several dumps make one view when they are compared: equal frames are one, wherever the modules
// lay in memory. A module is known by its build id, without one by the name of its file. Frames in two builds of a file
// are known by their keys, see host/report/frame_key.h; they have no lines then, which are others in another build.
#ifndef HEAPSONDE_HOST_DUMP_VIEW_H
#define HEAPSONDE_HOST_DUMP_VIEW_H

#include "host/dump/dump.h"
#include "host/report/report.h"

struct hs_dump_view {
    struct hs_subject subject; // its totals are those of hs_dump_view__add_up
    const struct hs_dump **dumps;
    unsigned dump_count;
    bool by_function; // one dump has names without libraries: frames are compared by the functions' names alone
    // private
    struct hs_store *store;
    size_t node_count; // of its stacks
    struct hs_strings *strings;
    uint32_t **nodes;                 // by dump and context
    uint64_t **codes;                 // by dump and location: its address in the store
    const struct hs_frames ***frames; // by dump and location; NULL: not asked yet
    bool **rebuilt;                   // by dump and mapping: in another build of this file; NULL: none
    uint32_t *like;                   // by node: the first one whose stack looks the same; NULL: each is its own
};

// `second` may be NULL. The dumps must outlive the view. What `options` says about the machine is taken from the dumps.
int hs_dump_view__open(struct hs_dump_view *view, const struct hs_dump *first, const struct hs_dump *second,
                       const struct hs_symbols_options *options);
// The same of any number of dumps. `sums`, which may be NULL, is called when the stacks are known, and adds to the
// tables of the store.
struct hs_store_tables;
typedef int (*hs_dump_view_sums)(void *context, const struct hs_dump_view *view, struct hs_store_tables *tables);
int hs_dump_view__open_all(struct hs_dump_view *view, const struct hs_dump *const *dumps, unsigned count,
                           const struct hs_symbols_options *options, hs_dump_view_sums sums, void *context);
void hs_dump_view__close(struct hs_dump_view *view);

// The selection to add up; NULL: all.
struct hs_dump_choice {
    const uint8_t *threads;      // by thread: whether it is wanted; NULL: whole contexts
    const struct hs_set *stacks; // NULL: all
};

// The estimated sums of one of the dumps: allocated_* and live_*. Returns 0 or -ENOMEM.
int hs_dump_view__totals(const struct hs_dump_view *view, unsigned which, const struct hs_dump_choice *choice,
                         struct hs_totals *totals);
// Fills the subject's totals with those of the first dump.
int hs_dump_view__add_up(struct hs_dump_view *view, const struct hs_dump_choice *choice);

// The estimated sums of each thread of the dump. Returns 0 or -ENOMEM.
int hs_dump_view__by_thread(const struct hs_dump_view *view, const struct hs_dump_choice *choice,
                            struct hs_total *totals);

// For two dumps: live_* is what the second has in use, peak_* what the first one has; allocated_* and temporary_*
// likewise. Stacks for which nothing differs are left out; the sum counts them.
int hs_dump_view__compare(struct hs_dump_view *view);

// The frames of a location of dump `which`, innermost first. NULL: out of memory.
const struct hs_frames *hs_dump_view__location(struct hs_dump_view *view, unsigned which, uint32_t location);

#endif
