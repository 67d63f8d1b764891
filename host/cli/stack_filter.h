// SPDX-License-Identifier: MIT OR Apache-2.0
//
// From a regular expression to the set of stacks that have a matching function.
#ifndef HEAPSONDE_HOST_CLI_STACK_FILTER_H
#define HEAPSONDE_HOST_CLI_STACK_FILTER_H

#include "host/query/query.h"
#include "host/symbols/trace_symbols.h"

// Allocates *words (to be freed) and points `set` at it. Returns 0 or a negative errno with `error` filled.
int hs_stack_filter__by_function(struct hs_trace_symbols *symbols, const char *pattern, uint64_t **words,
                                 struct hs_set *set, struct hs_error *error);

#endif
