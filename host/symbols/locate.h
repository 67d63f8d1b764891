// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Finding the file of a module: on disk, under a system root, in debug directories, by build id.
#ifndef HEAPSONDE_HOST_SYMBOLS_LOCATE_H
#define HEAPSONDE_HOST_SYMBOLS_LOCATE_H

#include "host/symbols/symbols.h"

struct hs_located {
    enum hs_symbols_state state;
    int fd;     // of the file when found, else -1; the caller closes it
    char *path; // the file that was taken, else the one that speaks against it; NULL when there was none. To be freed
};

void hs_locate(const struct hs_symbols_options *options, const struct hs_symbols_module *module,
               struct hs_located *located);

// The file with debug information for a module that has none itself, looked for by name in the debug directories and
// accepted by its build id only. Returns a descriptor and its path (to be freed), or -1.
int hs_locate_debug(const struct hs_symbols_options *options, const struct hs_symbols_module *module, char **path);

#endif
