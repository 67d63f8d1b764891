// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What lists of traces say of one, also while its store is closed. Immutable; counted by its holders.
#ifndef HEAPSONDE_HOST_REST_TRACE_FACTS_H
#define HEAPSONDE_HOST_REST_TRACE_FACTS_H

#include "host/store/store.h"

struct hs_trace_facts {
    struct hs_summary summary;
    size_t stacks; // stacks that allocated
    uint32_t deepest;
    uint64_t began_ns; // real time
    char *executable;  // "": unknown
    char *command;     // arguments with spaces are quoted
    char *dumps;       // how many; NULL: these are not heap dumps
    char *clock;       // what its times count; NULL: time
    char *since;       // when their process began, as they say it; NULL: unknown
    char *host;        // of their process; NULL: unknown
    char *incomplete;  // why something is missing; NULL: nothing is
    unsigned costs;    // bit per enum hs_cost: those of the heap that are known
    unsigned holders;  // atomic
};

// NULL: out of memory. The maker is its first holder.
struct hs_trace_facts *hs_trace_facts__make(const struct hs_store *store);
struct hs_trace_facts *hs_trace_facts__hold(struct hs_trace_facts *facts); // NULL gives NULL
void hs_trace_facts__release(const struct hs_trace_facts *facts);

#endif
