// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Rank counts: the number of rows of each code in each stretch of a sorted index. They tell where a page of the rows
// that match a filter begins, without reading the rows before it.
#ifndef HEAPSONDE_QUERY_TALLY_H
#define HEAPSONDE_QUERY_TALLY_H

#include "host/query/dictionary.h"
#include "host/query/ranking.h"

struct hs_tally {
    const struct hs_dictionary *dictionary;
    uint64_t *first; // rank of each stretch; one more for the end
    size_t stretches;
    uint32_t *count; // by stretch and code
};

// Takes about a second for fifty million rows, on one thread. -E2BIG: there are too many codes.
// Stretches begin with parts of the list, or within one whose rows have one key. The dictionary must outlive it.
int hs_tally__make(struct hs_tally **tally, const struct hs_ranking *ranking, const struct hs_dictionary *dictionary,
                   const struct hs_query_control *control, struct hs_error *error);
void hs_tally__destroy(struct hs_tally *tally);

// The number of matching rows of a stretch. `mask` has UINT32_MAX for each code that matches, else 0.
uint64_t hs_tally__matches(const struct hs_tally *tally, size_t stretch, const uint32_t *mask);

// Tests change them.
struct hs_tally_limits {
    uint64_t rows;    // least number of rows in a stretch
    uint64_t numbers; // most counts that are kept
};
extern struct hs_tally_limits hs_tally_limits;

#endif
