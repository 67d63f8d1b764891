// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The filters once more, slow and obvious: row by row and condition by condition, with the C library's own regular
// expressions. Nothing of host/filter and host/query is used. What a value's text means is said by who makes it up.
#ifndef HEAPSONDE_TESTS_SLOW_H
#define HEAPSONDE_TESTS_SLOW_H

#include "host/symbols/trace_symbols.h"

#include <stdbool.h>
#include <stdint.h>

enum slow_form {
    SLOW_NUMBER,  // a number, a size, an address, a length of time in ns, a time in ns since the start
    SLOW_PERCENT, // `number` thousandths of a percent
    SLOW_SECONDS, // since 1970; a whole second
    SLOW_MILLISECONDS,
    SLOW_TEXT
};

struct slow_condition {
    const char *name; // of the parameter
    enum slow_form form;
    uint64_t number;
    char text[128]; // as it is given to the other implementation; of SLOW_TEXT also what it means
};

struct slow_where;

struct slow_filter {
    struct slow_condition condition[16];
    unsigned count;
    const struct slow_where *where;  // NULL: none
    const struct slow_filter *outer; // of a part of `where`: what it stands in
};

// Filters within a filter.
struct slow_where {
    enum { SLOW_PART, SLOW_NOT, SLOW_AND, SLOW_OR } join;
    struct slow_where *left, *right; // NOT: left
    struct slow_filter part;
};

struct slow_trace; // what is known of a trace

struct slow_trace *slow_trace__open(const struct hs_store *store, struct hs_trace_symbols *symbols);
void slow_trace__close(struct slow_trace *trace);

// Sets matches[row] for every row; returns how many there are.
uint64_t slow_filter__run(const struct slow_filter *filter, const struct slow_trace *trace, bool *matches);

// The same of one sample of CPU time or page faults. Only conditions that mean something there are looked at.
bool slow_filter__matches_sample(const struct slow_filter *filter, const struct slow_trace *trace,
                                 const struct hs_sample *sample);

// When the stack's blocks first held the most.
uint64_t slow_trace__peak_time(const struct slow_trace *trace, uint32_t stack);

#endif
