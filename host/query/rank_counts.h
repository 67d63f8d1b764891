// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Rank counts: the number of rows of each code in each stretch of a sorted index. They give the beginning of a page of
// matching rows without reading the rows before it.
#ifndef HEAPSONDE_QUERY_RANK_COUNTS_H
#define HEAPSONDE_QUERY_RANK_COUNTS_H

#include "host/query/dictionary.h"
#include "host/query/sorted_index.h"

struct hs_rank_counts {
    const struct hs_dictionary *dictionary;
    uint64_t *first; // rank of each stretch; one more for the end
    size_t stretches;
    uint32_t *count; // by stretch and code
};

// Takes about a second for fifty million rows, on one thread. -E2BIG: there are too many codes.
// Stretches begin with parts of the list, or within one whose rows have one key. The dictionary must outlive it.
int hs_rank_counts__make(struct hs_rank_counts **rank_counts, const struct hs_sorted_index *sorted_index,
                         const struct hs_dictionary *dictionary, const struct hs_query_control *control,
                         struct hs_error *error);
void hs_rank_counts__destroy(struct hs_rank_counts *rank_counts);
uint64_t hs_rank_counts__bytes(const struct hs_rank_counts *rank_counts); // in memory, without files

// The number of matching rows of a stretch. `mask` has UINT32_MAX for each code that matches, else 0.
uint64_t hs_rank_counts__matches(const struct hs_rank_counts *rank_counts, size_t stretch, const uint32_t *mask);

// Tests change them.
struct hs_rank_counts_limits {
    uint64_t rows;    // least number of rows in a stretch
    uint64_t numbers; // most counts that are kept
};
extern struct hs_rank_counts_limits hs_rank_counts_limits;

#endif
