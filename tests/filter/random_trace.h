// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Random traces that have something for every filter: several threads, libraries and mappings, marks, culled blocks, a
// wall clock that is set, names with inlined frames.
#ifndef HEAPSONDE_TESTS_RANDOM_TRACE_H
#define HEAPSONDE_TESTS_RANDOM_TRACE_H

#include "host/symbols/trace_symbols.h"
#include "tests/store/trace_writer.h"

enum random_allocator { RANDOM_GLIBC, RANDOM_JEMALLOC, RANDOM_MUSL };

struct random_trace_options {
    uint64_t seed;
    size_t events;
    uint64_t time_factor; // a program's times are so many times as long
    enum random_allocator allocator;
    bool clock_is_set; // forward, once
    size_t samples;    // of the kernel's
};

// Writes it to `path`.
void random_trace__write(const struct random_trace_options *options, const char *path);

// Gives every node frames of its own choice. Equal names are equal pointers, as those of real symbols.
void random_trace__name(const struct hs_store *store, struct hs_trace_symbols *symbols, uint64_t seed);

#endif
