// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Checks whether files are the one of a module. Shared by the searches for modules and for debug information.
#ifndef HEAPSONDE_HOST_SYMBOLS_CANDIDATES_H
#define HEAPSONDE_HOST_SYMBOLS_CANDIDATES_H

#include "host/symbols/module_search.h"

#include <stdbool.h>

struct hs_search {
    const struct hs_symbols_options *options;
    const struct hs_symbols_module *module;
    struct hs_located *located;
    bool needs_debug_information; // a file without debug information is not accepted
    const char *own;              // with needs_debug_information: the module's own file, which has none; may be NULL
    bool needs_code;
    // If set, this function decides about a file, instead of its build id and contents.
    bool (*accepts)(void *context, int fd);
    void *context;
};

// What proves that a file is the module's. A name alone is sufficient only if it is the full path on the recorded
// machine: debug directories, and the folders of this machine, contain other files of the same name.
enum hs_trust {
    HS_TRUST_PATH,
    HS_TRUST_BUILD_ID,
    HS_TRUST_LAYOUT,  // the build id; or, if neither has one, the pages that the module filled, and the bytes of
                      // hs_search.own
    HS_TRUST_CHECKSUM // the build id, or hs_candidate.checksum if one of the two has none
};

// A file: `directory`, `path` and `suffix`, joined. With `root`, the whole is a path on the machine whose files are
// below that folder.
struct hs_candidate {
    const char *root;
    const char *directory;
    const char *path;
    const char *suffix;
    enum hs_trust trust;
    uint32_t checksum;
    // The file is on this machine, and the trace is of another kind of machine. If the file is not for that kind, this
    // is not reported. Without a build id, it has to fill the pages that the module filled.
    bool is_own;
};

// True if the file is the module's; it is then stored in hs_search.located. If a file that was expected to be the right
// one (HS_TRUST_PATH) is not, the reason is stored there.
bool hs_candidate__try(struct hs_search *search, const struct hs_candidate *candidate);

// The same for an open file; takes ownership of `fd`.
bool hs_candidate__try_descriptor(struct hs_search *search, const struct hs_candidate *candidate, int fd,
                                  const char *path);

// Folders with debug information by build id or by path: the debug directories, then usr/lib/debug of each system root,
// then that of this machine. False after the last one.
bool hs_debug_place(const struct hs_symbols_options *options, size_t index, struct hs_candidate *place);

// "/.build-id/ab/cdef..." for a build id; false if it is too short.
bool hs_build_id_path(const uint8_t *build_id, size_t length, char *path, size_t size);

// Whether files of this file system have one inode for as long as they exist, and the kernel's maps show the one that
// stat does.
bool hs_has_lasting_inodes(int fd);

// Whether the trace is of another kind of machine than this one.
bool hs_is_foreign(const struct hs_symbols_options *options);

#endif
