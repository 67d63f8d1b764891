// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Dictionary encoding of the rows. A code stands for all rows that have the same size, usable size, state and stream,
// and were all freed or all not freed; also the same stack, unless that makes too many codes. A filter on these
// properties is tested once per code instead of once per row.
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
    bool by_stacks;          // whether codes have stacks; else the stack of all codes is 0
    struct hs_packed of_row; // the code of each row, in a temporary file that is not visible to others
};

// Takes about a second for twenty million rows, on one thread. -E2BIG: there are too many codes.
int hs_dictionary__make(struct hs_dictionary **dictionary, const struct hs_store *store,
                        const struct hs_query_control *control, struct hs_error *error);
void hs_dictionary__destroy(struct hs_dictionary *dictionary);
uint64_t hs_dictionary__bytes(const struct hs_dictionary *dictionary); // in memory, without files

// Whether codes have all the properties that a filter tests.
bool hs_dictionary__knows(const struct hs_dictionary *dictionary, const struct hs_store *store,
                          const struct hs_filter *filter);
// The number of rows that match such a filter.
uint64_t hs_dictionary__count(const struct hs_dictionary *dictionary, const struct hs_filter *filter);
bool hs_code__matches(const struct hs_code *code, const struct hs_filter *filter);

// Tests change them.
struct hs_dictionary_limits {
    uint64_t rows;  // least average number of rows per code
    uint64_t codes; // most codes
};
extern struct hs_dictionary_limits hs_dictionary_limits;

#endif
