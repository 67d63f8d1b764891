// SPDX-License-Identifier: MIT OR Apache-2.0
//
// `fleet flame`: what a slice of the fleet has in use, in every format of `export` that holds sums.
#ifndef HEAPSONDE_HOST_CLI_FLEET_FLAME_H
#define HEAPSONDE_HOST_CLI_FLEET_FLAME_H

#include "host/cli/command.h"
#include "host/fleet/database.h"
#include "host/fleet/questions.h"

// An exit status.
int hs_fleet_flame__run(const struct hs_arguments *arguments, struct hs_database *database,
                        const struct hs_fleet_slice *slice);

#endif
