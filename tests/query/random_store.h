// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Random traces of several zones, random filters, and answers that come from looking at one row after another. One
// trace is open at a time. Times are coarse, so that much happens at once.
#ifndef HEAPSONDE_TESTS_QUERY_RANDOM_STORE_H
#define HEAPSONDE_TESTS_QUERY_RANDOM_STORE_H

#include "host/query/query.h"
#include "tests/store/trace_writer.h"

#define RANDOM_STORE_STACKS 65536

// Of the open trace; hs_store__close(store) when done.
extern struct hs_store *store;
extern const struct hs_columns *columns;
extern uint64_t rows, end_time;
extern uint64_t stack_words[RANDOM_STORE_STACKS / 64]; // of the filter that was chosen last

void open_trace(uint64_t seed, uint64_t coarseness);
uint64_t some_row(struct random_state *random);

// Conditions have the numbers below 17.
void add_this_condition(struct hs_filter *filter, struct random_state *random, unsigned number);
void choose_filter(struct hs_filter *filter, struct random_state *random);

// The matching rows, in order. `row` has room for all.
uint64_t slow_rows(const struct hs_filter *filter, uint32_t *row);
uint64_t slow_key(enum hs_row_key by, uint32_t row);

#endif
