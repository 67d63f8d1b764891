// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Running sums: the heap of a trace that is being written, added up by stack. They stay in memory, so that each look at
// the file costs what is new in it. A look takes the events up to the newest one of an earlier look: by then, those of
// all threads are in the file.
#ifndef HEAPSONDE_IMPORT_RUNNING_SUMS_H
#define HEAPSONDE_IMPORT_RUNNING_SUMS_H

#include "host/import/import.h"
#include "host/store/layout.h"

#include <stdbool.h>

struct hs_running_sums;

struct hs_running_sum {
    uint64_t live_bytes, live_count;
    uint64_t all_bytes, all_count; // everything that was allocated
};

// A stack that allocated.
struct hs_running_stack {
    struct hs_running_sum sums;
    uint32_t node;
    bool has_changed; // in the last look
};
struct hs_running_change {
    uint32_t stack; // its place
    struct hs_running_sum before;
};

// Valid until the next look.
struct hs_running_state {
    char trace_id[HS_TRACE_ID];
    const struct hs_node *nodes; // the stack table: no two are the same
    size_t node_count;
    const struct hs_running_stack *stack;
    size_t stacks;
    const struct hs_running_change *change; // not of the look that added up the first events: all stacks are new then
    size_t changes;
    struct hs_running_sum sum; // of all
    uint64_t most_bytes;       // that were live at a time
    uint64_t time_ns;          // 0: nothing was added up yet
    uint64_t code_changes;     // how often code was loaded or made
    uint64_t modules;          // how often it was loaded
};

// Takes a first look. NULL: this is no trace that can be added up in this way, or no memory.
struct hs_running_sums *hs_running_sums__create(const char *path);
void hs_running_sums__free(struct hs_running_sums *running); // may be NULL

// Looks again. 0, or a negative errno: the sums cannot go on, because the trace has ended, was replaced or cut, or
// because it has what only an import can add up: culled blocks, or modules that were unloaded. -ECANCELED: `*cancel`
// became nonzero.
int hs_running_sums__look(struct hs_running_sums *running, const int *cancel);
const struct hs_running_state *hs_running_sums__state(const struct hs_running_sums *running);

// How old a look has to be to be the end of the next one, in ns. Changed by tests only.
extern uint64_t hs_running_age;

#endif
