// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Stacks of two builds that look the same.
#ifndef HEAPSONDE_HOST_DUMP_ALIKE_H
#define HEAPSONDE_HOST_DUMP_ALIKE_H

#include "host/dump/view.h"

// Fills view->like, if the view has frames that are known by their keys. 0 or -ENOMEM.
int hs_dump_view__find_alike(struct hs_dump_view *view);

#endif
