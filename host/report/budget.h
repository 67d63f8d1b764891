// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Why resident memory is what it is: parts of what page faults made resident, which add up to all of it. The text
// report, the JSON report, the server and the findings use this.
#ifndef HEAPSONDE_HOST_REPORT_BUDGET_H
#define HEAPSONDE_HOST_REPORT_BUDGET_H

#include "host/query/query.h"

#include <stdio.h>

// A page belongs to the heap if a block lies or lay in it, or if it is in glibc's main heap. Pages that do not belong
// to the heap belong to the first of the later parts that fits.
enum hs_budget_part {
    HS_BUDGET_TOUCHED, // of live blocks, what they requested
    HS_BUDGET_ADDED,   // of live blocks, what the allocator added
    HS_BUDGET_FREED,   // other pages of the heap
    HS_BUDGET_MAPPED,  // mappings that exist and that the program made itself
    HS_BUDGET_CODE,    // the program, its libraries, the stack of the main thread; if known, all stacks
    HS_BUDGET_REST,
    HS_BUDGET_PARTS
};

struct hs_budget {
    uint64_t time;
    uint64_t resident; // the sum of all parts
    uint64_t part[HS_BUDGET_PARTS];
    bool has_stacks; // the trace says where the stacks of threads are
    uint64_t live;   // requested by live blocks: the touched part, and what is not resident
};

// When most was resident, and at the end.
struct hs_budgets {
    struct hs_budget peak, end;
};

// Whether page faults were recorded. Without them nothing is known.
bool hs_budget__is_known(const struct hs_store *store);

// Of the whole process, at an instant. Each returns 0, or a negative errno with the error set.
int hs_budget__make(struct hs_budget *budget, const struct hs_store *store, uint64_t time,
                    const struct hs_query_control *control, struct hs_error *error);
int hs_budgets__make(struct hs_budgets *budgets, const struct hs_store *store, const struct hs_query_control *control,
                     struct hs_error *error);

#endif
