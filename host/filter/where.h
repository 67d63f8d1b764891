// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Private to host/filter: the filters of `where`, each of them resolved, as one.
#ifndef HEAPSONDE_FILTER_WHERE_H
#define HEAPSONDE_FILTER_WHERE_H

#include "host/filter/filter.h"
#include "host/filter/logic.h"

// Narrows the filter by its parts, which the logic joins. What says something of stacks alone becomes a set of stacks,
// which every question is quick about; the rest is asked block by block. -ENOMEM.
int hs_where__join(const struct hs_logic *logic, const struct hs_store *store, struct hs_resolved_filter *resolved);

#endif
