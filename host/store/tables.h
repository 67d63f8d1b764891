// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A store without rows, with stacks, modules and threads from another source than a trace, such as a heap dump. Code
// that needs only these (symbols, reports of totals per stack, exports) works with it as with an imported trace.
#ifndef HEAPSONDE_STORE_TABLES_H
#define HEAPSONDE_STORE_TABLES_H

#include "host/store/contents.h"

struct hs_store_fact {
    const char *key, *value; // NULL: unknown
};

struct hs_store_tables {
    const struct hs_node *nodes; // [0] is the empty stack; parents before their children
    size_t node_count;
    const struct hs_module *modules; // by start
    size_t module_count;
    const struct hs_thread *threads; // indexed by stream
    size_t thread_count;
    struct hs_summary summary;
    const char *executable, *command; // NULL: unknown
    // Of sums per stack, in place of rows; the summary then says so.
    const struct hs_culled *culled;
    size_t culled_count;
    const struct hs_timeline_point *points; // of the finest level, at most HS_TIMELINE_POINTS of host/store/layout.h
    size_t point_count;
    uint64_t interval;                 // of the points, ns
    const struct hs_store_fact *facts; // more INFO records
    size_t fact_count;
};

// Copies the tables; the strings of modules and threads must outlive the store. 0 or -ENOMEM.
int hs_store__of_tables(const struct hs_store_tables *tables, struct hs_store **store);

#endif
