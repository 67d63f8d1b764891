// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Private to host/filter: the names of all frames of a trace, each once, so that a pattern is tried once per name and
// not once per stack.
#ifndef HEAPSONDE_FILTER_NAMES_H
#define HEAPSONDE_FILTER_NAMES_H

#include "host/symbols/trace_symbols.h"

#include <pthread.h>

// Numbers of names; 0: it has none.
struct hs_named_frame {
    uint32_t function, source, library;
};

// The frames of one code address: one and those inlined into it.
struct hs_named_site {
    uint32_t first, count; // of `frames`
};

struct hs_name_list {
    const char **name; // [0] is NULL
    size_t count;
};

struct hs_names {
    struct hs_name_list functions, sources, libraries;
    struct hs_named_frame *frames;
    struct hs_named_site *sites; // [0] has no frames
    uint32_t *site_of;           // by node of the stack table; 0: no frame
    size_t node_count;
};

// `symbols` may be NULL: then each node has one frame without any name. Holds the lock (may be NULL) while it asks for
// symbols. Returns 0, -ENOMEM, or -ECANCELED soon after *cancel is not 0.
int hs_names__collect(struct hs_names *names, const struct hs_store *store, struct hs_trace_symbols *symbols,
                      pthread_mutex_t *symbols_lock, const int *cancel);
void hs_names__free(struct hs_names *names);

#endif
