// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Finds the file of a module and its debug information: by build id in debug directories and below system roots, by
// path below system roots, by .gnu_debuglink, and by name.
#ifndef HEAPSONDE_HOST_SYMBOLS_LOCATE_H
#define HEAPSONDE_HOST_SYMBOLS_LOCATE_H

#include "host/symbols/module_search.h"

void hs_locate(const struct hs_symbols_options *options, const struct hs_symbols_module *module,
               struct hs_located *located);

// The same, but only files that contain code.
void hs_locate_code(const struct hs_symbols_options *options, const struct hs_symbols_module *module,
                    struct hs_located *located);

// The name of the file with debug information, from the file without it (.gnu_debuglink).
struct hs_debug_link {
    const char *file; // the file that contains the link, on this machine; may be NULL
    const char *name; // NULL: no link
    uint32_t checksum;
};

// Finds the file with debug information for a module that has none: by build id, by its link, then in the debug
// directories by name, and by build id under any name. Its build id or the link's checksum has to match. If the module
// has neither, a file with its name in a debug directory is accepted if its contents match. Returns a descriptor and
// the path (which the caller frees), or -1.
int hs_locate_debug(const struct hs_symbols_options *options, const struct hs_symbols_module *module,
                    const struct hs_debug_link *link, char **path);

// Finds the supplementary file (dwz) of a file with debug information: `name` is from that file, `debug_file`. Returns
// a descriptor or -1.
int hs_locate_supplement(const struct hs_symbols_options *options, const char *debug_file, const char *name,
                         const uint8_t *build_id, size_t build_id_length);

// Finds the package of split units (.dwp) of a file: beside the file and beside its debug information, then below the
// system roots and in the debug directories, by name and by build id. `accepts` checks the contents. Returns whether
// one was accepted.
struct hs_package_search {
    const char *files[2]; // on this machine; NULL: none
    bool (*accepts)(void *context, int fd);
    void *context;
};
bool hs_locate_package(const struct hs_symbols_options *options, const struct hs_symbols_module *module,
                       const struct hs_package_search *wanted);

#endif
