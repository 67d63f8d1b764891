// SPDX-License-Identifier: MIT OR Apache-2.0
//
// New memory in a process, within reach of a patch.
#ifndef HEAPSONDE_HOST_INJECT_PLACE_H
#define HEAPSONDE_HOST_INJECT_PLACE_H

#include "host/inject/target.h"

// Has a thread of the target map `size` bytes: near an address of code, or, if they do not have to be there, where the
// kernel likes. They are readable and executable, but from `writable_at` on readable and writable. *at becomes their
// address.
int hs_place__map(struct hs_inject_target *target, uint64_t near, bool has_to_be_near, uint64_t size,
                  uint64_t writable_at, uint64_t *at, struct hs_error *error);

#endif
