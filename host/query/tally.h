// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How many rows of each code are in each stretch of a sorted list: where a page of what matches a filter begins is
// found without a look at the rows before it.
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

// Takes a moment: a second for some fifty million rows. One thread works at it. -E2BIG: there are too many codes.
// Stretches begin with parts of the list, or within one whose rows have one key. The dictionary must outlive it.
int hs_tally__make(struct hs_tally **tally, const struct hs_ranking *ranking, const struct hs_dictionary *dictionary,
                   const struct hs_query_control *control, struct hs_error *error);
void hs_tally__destroy(struct hs_tally *tally);

// How many rows of a stretch match, of which `mask` says for each code: 0 or UINT32_MAX.
uint64_t hs_tally__matches(const struct hs_tally *tally, size_t stretch, const uint32_t *mask);

// Tests change them.
struct hs_tally_limits {
    uint64_t rows;    // that a stretch has at least
    uint64_t numbers; // that are kept at most
};
extern struct hs_tally_limits hs_tally_limits;

#endif
