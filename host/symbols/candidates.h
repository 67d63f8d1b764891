// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Trying files that might be the one of a module: what the searches for modules and for debug information share.
#ifndef HEAPSONDE_HOST_SYMBOLS_CANDIDATES_H
#define HEAPSONDE_HOST_SYMBOLS_CANDIDATES_H

#include "host/symbols/locate.h"

#include <stdbool.h>

struct hs_search {
    const struct hs_symbols_options *options;
    const struct hs_symbols_module *module;
    struct hs_located *located;
    bool needs_debug_information; // a file without is not what is looked for
    const char *own;              // with that: the module's file, which has none; may be NULL
    bool needs_code;
    // What decides about a file in place of its build id and contents, where there is such a function.
    bool (*accepts)(void *context, int fd);
    void *context;
};

// What makes a file the module's. A name alone is enough only when it is the full path on the recorded machine: debug
// directories, and this machine's own folders, hold other files of the same name.
enum hs_trust {
    HS_TRUST_PATH,
    HS_TRUST_BUILD_ID,
    HS_TRUST_LAYOUT,  // the build id or, when neither has one, the pages that the module filled, and hs_search.own's
                      // bytes
    HS_TRUST_CHECKSUM // the build id, or hs_candidate.checksum when one of the two has none
};

// A file: `directory` and `path` and `suffix`, together. With `root` all of it is a path of the machine whose files lie
// below that folder.
struct hs_candidate {
    const char *root;
    const char *directory;
    const char *path;
    const char *suffix;
    enum hs_trust trust;
    uint32_t checksum;
    // A file of this machine, when the trace is of another kind of machine. One that is not for that kind is not worth
    // a word; one without a build id has to fill the pages that the module filled.
    bool is_own;
};

// True when it is the module's: hs_search.located then has it. What speaks against a file that was expected to be the
// one (HS_TRUST_PATH) is remembered there.
bool hs_candidate__try(struct hs_search *search, const struct hs_candidate *candidate);

// The same for a file that is open already; `fd` is consumed.
bool hs_candidate__try_descriptor(struct hs_search *search, const struct hs_candidate *candidate, int fd,
                                  const char *path);

// The folders that hold debug information by build id or by path: the debug directories, then usr/lib/debug of each
// system root, then of this machine. False behind the last.
bool hs_debug_place(const struct hs_symbols_options *options, size_t index, struct hs_candidate *place);

// "/.build-id/ab/cdef..." of a build id; false when it is too short.
bool hs_build_id_path(const uint8_t *build_id, size_t length, char *path, size_t size);

// Whether the trace is of another kind of machine than this one.
bool hs_is_foreign(const struct hs_symbols_options *options);

#endif
