// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The tables of a store that come from meta records: nodes, modules, threads, clock points, info and others.
#ifndef HEAPSONDE_IMPORT_TABLES_H
#define HEAPSONDE_IMPORT_TABLES_H

#include "host/base/array.h"
#include "host/base/id_map.h"
#include "host/import/clock_map.h"
#include "host/import/growing.h"
#include "host/import/import.h"
#include "host/import/same_stacks.h"
#include "host/import/snapshot_records.h"
#include "host/store/allowance.h"
#include "host/store/column_file.h"
#include "host/store/layout.h"

struct hs_import_tables {
    struct hs_column_file nodes;   // struct hs_node
    struct hs_growing node_epochs; // uint32_t by node: index of the last entry of `epochs` when it was recorded
    struct hs_array epochs;        // uint64_t: times of loads and unloads of modules; [0] is 0
    struct hs_same_stacks same;
    uint32_t node_count;
    uint32_t node_limit; // beyond it is damage
    uint32_t node_most;  // beyond it there are more than files of this size have
    bool nodes_left_out; // of the chunk that is read: they are beyond the limit
    bool nodes_too_many;
    struct hs_array strings;    // char
    struct hs_array modules;    // struct hs_stored_module
    struct hs_array threads;    // struct hs_stored_thread
    struct hs_id_map thread_of; // by stream
    struct hs_id_map module_at; // by start: the last loaded module there, or NO_MODULE
    struct hs_array clock;      // struct hs_clock_point; recorded time until hs_import_tables__convert
    struct hs_array side;       // struct hs_stored_side_event
    struct hs_array info;       // struct hs_stored_info
    struct hs_array culled;     // struct hs_culled
    struct hs_allowance culled_allowance;
    struct hs_array embedded;  // struct hs_stored_embedded
    struct hs_array functions; // struct hs_stored_function
    struct hs_snapshot_records snapshots;
    uint64_t damage[HS_DAMAGE_COUNT], damage_bytes[HS_DAMAGE_COUNT];
};

int hs_import_tables__create(struct hs_import_tables *tables, int directory_fd);
void hs_import_tables__free(struct hs_import_tables *tables);
// Reads all META and FILE chunks, and finds the nodes that are the same. -ENOBUFS: the trace has more nodes than
// hs_memory__unpacked() allows.
int hs_import_tables__load(struct hs_import_tables *tables, const struct hs_trace *trace);
const char *hs_import_tables__info(const struct hs_import_tables *tables, const char *key);

// Adds what the trace itself does not contain. Returns 0 or -ENOMEM.
int hs_import_tables__add_info(struct hs_import_tables *tables, const char *key, const char *value);
// Converts all recorded times to ns.
void hs_import_tables__convert(struct hs_import_tables *tables, struct hs_clock_map *clock);
// `side`: more side events, from the builder.
int hs_import_tables__write(struct hs_import_tables *tables, int directory_fd, const struct hs_array *side);

#endif
