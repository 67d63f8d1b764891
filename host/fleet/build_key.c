// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/build_key.h"

#include <string.h>

void hs_fleet_key__build_of_path(const char *path, uint32_t layout, uint8_t build[HS_FLEET_BUILD])
{
    uint64_t hash = 0xcbf29ce484222325u ^ layout;
    for (const char *at = path; *at; at++)
        hash = (hash ^ (uint8_t)*at) * 0x100000001b3u;
    memset(build, 0, HS_FLEET_BUILD);
    memcpy(build, "path", 4);
    for (unsigned i = 0; i < 8; i++)
        build[8 + i] = (uint8_t)(hash >> 8 * i);
}
