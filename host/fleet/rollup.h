// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The table `growth`, which the questions `growth` and `new` read.
#ifndef HEAPSONDE_HOST_FLEET_ROLLUP_H
#define HEAPSONDE_HOST_FLEET_ROLLUP_H

#include "host/fleet/database.h"

// Makes it anew, in parts: each takes the server a few seconds and a bounded amount of memory. Until all of them are
// there, and if this is ended before, questions read the rollup before. `least`: see hs_fleet_rollup_part.
int hs_fleet_rollup__make(struct hs_database *database, uint64_t least, struct hs_error *error);

#endif
