// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Names for the places in the database, from the files of the builds: once for each build, whenever the files are at
// hand.
#ifndef HEAPSONDE_HOST_FLEET_SYMBOLIZE_H
#define HEAPSONDE_HOST_FLEET_SYMBOLIZE_H

#include "host/fleet/database.h"
#include "host/symbols/symbols.h"

struct hs_fleet_symbolized {
    uint64_t named, unnamed; // places
    uint64_t builds, missing_builds;
};

// Looks up the places that have no name yet. A file is used only if it has the build id; builds without one get no
// names. `missing` (may be NULL) is called for each build whose file was not found. 0, or a negative errno.
int hs_fleet__symbolize(struct hs_database *database, const struct hs_symbols_options *options,
                        void (*missing)(void *context, const char *build, const char *path), void *context,
                        struct hs_fleet_symbolized *result, struct hs_error *error);

#endif
