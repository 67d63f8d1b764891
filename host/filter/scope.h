// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Private to host/filter: what a scope keeps.
#ifndef HEAPSONDE_FILTER_SCOPE_H
#define HEAPSONDE_FILTER_SCOPE_H

#include "host/filter/filter.h"
#include "host/filter/names.h"

struct hs_filter_scope {
    const struct hs_store *store;
    struct hs_trace_symbols *symbols;
    pthread_mutex_t *symbols_lock;
    pthread_mutex_t mutex; // held while a member below is computed; later it does not change
    bool has_names, has_groups;
    struct hs_names names;
    struct hs_totals groups; // where the store has no table of them
};

// Makes the names unless they are there.
int hs_filter_scope__prepare_names(struct hs_filter_scope *scope, const struct hs_query_control *control,
                                   struct hs_error *error);

#endif
