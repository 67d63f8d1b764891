// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a slice of the fleet has in use, stack by stack.
#ifndef HEAPSONDE_HOST_FLEET_SLICE_STACKS_H
#define HEAPSONDE_HOST_FLEET_SLICE_STACKS_H

#include "host/base/paths.h"
#include "host/fleet/names.h"
#include "host/fleet/questions.h"

// Not 0: out of memory. `stack` is NULL if it has no frames, and valid until this returns.
typedef int (*hs_slice_visitor)(void *context, const struct hs_fleet_stack *stack, const struct hs_value *in_use);

// Visits all stacks of the slice, the largest first. `per_device`: every number is divided by the number of devices of
// the slice. 0, or a negative errno with the reason in `error`.
int hs_slice_stacks__each(struct hs_database *database, const struct hs_fleet_slice *slice, bool per_device,
                          hs_slice_visitor visit, void *context, struct hs_error *error);

// What a report calls the function of a frame: its name, or the place in its file, which is written to `text`.
enum { HS_SLICE_NAME = 320 };
const char *hs_slice_frame__name(const struct hs_fleet_frame *frame, char text[HS_SLICE_NAME]);

#endif
