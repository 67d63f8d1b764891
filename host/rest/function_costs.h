// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Several costs in one tree of functions. The first one decides which nodes there are and their order; the others are
// added up in these nodes.
#ifndef HEAPSONDE_HOST_REST_FUNCTION_COSTS_H
#define HEAPSONDE_HOST_REST_FUNCTION_COSTS_H

#include "host/report/cost.h"
#include "host/rest/function_tree.h"

struct hs_function_values {
    struct hs_value all, self;
};

struct hs_function_costs {
    unsigned count;
    enum hs_cost cost[HS_COST_COUNT];
    struct hs_function_values *values[HS_COST_COUNT]; // by node of the tree; NULL: those of the tree itself
};

// What the stacks that are meant have in the nodes of a grown tree. The starts and the growth are as for the tree, but
// of another cost; so `nodes` is there if it was there then. The caller frees the array. 0, -ENOMEM or -ECANCELED.
int hs_function_values__make(struct hs_function_values **values, const struct hs_function_tree *tree,
                             const struct hs_function_growth *growth, const struct hs_function_start *starts,
                             size_t count);
struct hs_function_values hs_function_costs__of(const struct hs_function_costs *costs, unsigned number,
                                                const struct hs_function_tree *tree, uint32_t node);
void hs_function_costs__free(struct hs_function_costs *costs);

#endif
