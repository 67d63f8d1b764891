// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Dictionary encoding of the rows: a code stands for all rows that have the same stack (unless that makes too many),
// size, usable size, state and stream and were freed, or were not. Where such rows are many, whether a filter matches
// is found out once per code.
#ifndef HEAPSONDE_QUERY_DICTIONARY_H
#define HEAPSONDE_QUERY_DICTIONARY_H

#include "host/query/query.h"

struct hs_code {
    uint64_t size, usable;
    uint32_t stack, stream;
    uint32_t rows;
    uint16_t state; // as in the store
    bool freed;
};

struct hs_dictionary {
    const struct hs_store *store;
    struct hs_code *code;
    size_t count;
    bool by_stacks;          // else the stack of all codes is 0
    struct hs_packed of_row; // the code of each row, in a temporary file that nobody else sees
};

// Takes a moment: a second for some twenty million rows. One thread works at it. -E2BIG: there are too many.
int hs_dictionary__make(struct hs_dictionary **dictionary, const struct hs_store *store,
                        const struct hs_query_control *control, struct hs_error *error);
void hs_dictionary__destroy(struct hs_dictionary *dictionary);

// Whether a filter asks for nothing that codes do not know.
bool hs_dictionary__knows(const struct hs_dictionary *dictionary, const struct hs_store *store,
                          const struct hs_filter *filter);
// How many rows match a filter that it knows.
uint64_t hs_dictionary__count(const struct hs_dictionary *dictionary, const struct hs_filter *filter);
bool hs_code__matches(const struct hs_code *code, const struct hs_filter *filter);

// Tests change them.
struct hs_dictionary_limits {
    uint64_t rows;  // that a code has to stand for, on average
    uint64_t codes; // at most
};
extern struct hs_dictionary_limits hs_dictionary_limits;

#endif
