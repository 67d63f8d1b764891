// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which served trace a session of the fleet is of: the trace of its process, or the heap dumps of it.
#ifndef HEAPSONDE_HOST_REST_FLEET_TRACES_H
#define HEAPSONDE_HOST_REST_FLEET_TRACES_H

#include "host/rest/traces.h"

struct hs_fleet_traces;

// Of the traces that are served now; they must outlive it. NULL: out of memory.
struct hs_fleet_traces *hs_fleet_traces__make(struct hs_rest_traces *traces);
void hs_fleet_traces__destroy(struct hs_fleet_traces *self);

// The id of the trace of a session; NULL: none. Of several, the one that was served first.
const char *hs_fleet_traces__find(const struct hs_fleet_traces *self, uint64_t session, const char *device,
                                  uint32_t pid);

#endif
