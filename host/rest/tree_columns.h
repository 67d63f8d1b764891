// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A tree of functions with one array per property, for clients that show tens of thousands of nodes.
#ifndef HEAPSONDE_HOST_REST_TREE_COLUMNS_H
#define HEAPSONDE_HOST_REST_TREE_COLUMNS_H

#include "host/rest/function_costs.h"
#include "host/rest/question.h"

// 0 or a negative errno.
int hs_tree_columns__write(struct hs_question *question, FILE *out, const struct hs_function_tree *tree,
                           const struct hs_function_costs *costs);

#endif
