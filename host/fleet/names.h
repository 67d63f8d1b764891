// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The frames of stacks in the database, with the names that 'heapsonde fleet symbolize' has found.
#ifndef HEAPSONDE_HOST_FLEET_NAMES_H
#define HEAPSONDE_HOST_FLEET_NAMES_H

#include "host/fleet/database.h"

struct hs_fleet_frame {
    const char *function; // "": no name is known
    const char *file;     // of the source; "": unknown
    uint32_t line;
    const char *module; // file name; "": the frame is in no file
    uint64_t offset;
    bool inlined; // into the next frame
};

struct hs_fleet_stack {
    uint64_t key;
    struct hs_fleet_frame *frames; // innermost first
    size_t count;
};

struct hs_fleet_names;

// The frames of these stacks. 0, or a negative errno with the reason in `error`.
int hs_fleet_names__read(struct hs_database *database, const uint64_t *keys, size_t count,
                         struct hs_fleet_names **names, struct hs_error *error);
void hs_fleet_names__free(struct hs_fleet_names *names);

// NULL: the stack is not in the database.
const struct hs_fleet_stack *hs_fleet_names__stack(const struct hs_fleet_names *names, uint64_t key);

#endif
