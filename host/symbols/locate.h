// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Finding the file of a module and its debug information: by build id in debug directories and below system roots, by
// path below system roots, by .gnu_debuglink, by name.
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

// The same for a file with code: none that has but debug information.
void hs_locate_code(const struct hs_symbols_options *options, const struct hs_symbols_module *module,
                    struct hs_located *located);

// Where a file without debug information says that it is.
struct hs_debug_link {
    const char *file; // the file that says so, on this machine; may be NULL
    const char *name; // NULL: it does not say
    uint32_t checksum;
};

// The file with debug information for a module that has none itself: by build id, by its link, then by name in
// the debug directories, and there by build id under any name. Its build id or the link's checksum has to be right; a
// file of the module's name in a debug directory needs neither when the module has none, but the same contents. Returns
// a descriptor and its path (to be freed), or -1.
int hs_locate_debug(const struct hs_symbols_options *options, const struct hs_symbols_module *module,
                    const struct hs_debug_link *link, char **path);

// The supplementary file (dwz) of a file with debug information: `name` as that file, `debug_file`, has it. Returns a
// descriptor or -1.
int hs_locate_supplement(const struct hs_symbols_options *options, const char *debug_file, const char *name,
                         const uint8_t *build_id, size_t build_id_length);

// The package of split units (.dwp) that belongs to a file: beside it and beside its debug information, then below the
// system roots and in the debug directories, by name and by build id. `accepts` decides by what is in a file; whether
// there was one is returned.
struct hs_package_search {
    const char *files[2]; // on this machine; NULL: none
    bool (*accepts)(void *context, int fd);
    void *context;
};
bool hs_locate_package(const struct hs_symbols_options *options, const struct hs_symbols_module *module,
                       const struct hs_package_search *wanted);

#endif
