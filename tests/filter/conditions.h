// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Makes up conditions on a trace: for every parameter values at, beside and far from what the trace has.
#ifndef HEAPSONDE_TESTS_CONDITIONS_H
#define HEAPSONDE_TESTS_CONDITIONS_H

#include "tests/filter/slow.h"
#include "tests/store/trace_writer.h"

// A condition with the parameter of this name; false: the trace has nothing for it, or it is made of others.
bool condition__make(struct slow_condition *condition, const char *name, const struct hs_store *store,
                     struct random_state *random);

#endif
