// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Before there is a region, a borrowed thread's instructions lie in bytes behind the end of a module's code that nobody
// uses: they are zero, and are zero again afterwards.
#ifndef HEAPSONDE_HOST_INJECT_CAVE_H
#define HEAPSONDE_HOST_INJECT_CAVE_H

#include "host/inject/target.h"

// HS_INJECT_CODE bytes, as close to an address as possible; 0: there are none.
uint64_t hs_cave__find(const struct hs_inject_target *target, uint64_t near);
void hs_cave__empty(const struct hs_inject_target *target, uint64_t cave);

// Empties what killed commands have left, unless a stopped thread of the target is there.
void hs_cave__empty_all(const struct hs_inject_target *target);

#endif
