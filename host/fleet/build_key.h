// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Files without a build id.
#ifndef HEAPSONDE_HOST_FLEET_BUILD_KEY_H
#define HEAPSONDE_HOST_FLEET_BUILD_KEY_H

#include "host/fleet/row_binary.h"

// What stands for the build id of a file without one.
void hs_fleet_key__build_of_path(const char *path, uint32_t layout, uint8_t build[HS_FLEET_BUILD]);

#endif
