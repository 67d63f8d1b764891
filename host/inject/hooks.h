// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which functions of a target are patched, and what they jump to.
#ifndef HEAPSONDE_HOST_INJECT_HOOKS_H
#define HEAPSONDE_HOST_INJECT_HOOKS_H

#include "host/inject/image.h"
#include "host/inject/region.h"

struct hs_hooks {
    const struct hs_inject_target *target;
    const struct hs_inject_modules *modules;
    const struct hs_inject_module *allocator; // that defines the program's malloc
    struct hs_inject_image *image;
    struct hs_region *region;
    uint8_t *islands; // what is to lie at HS_REGION_ISLANDS
    size_t islands_used;
    bool is_starting; // libc has not begun
    char *unpatched;  // names of functions that could not be patched
    size_t unpatched_size;
};

// The module whose malloc is recorded. NULL: none.
const struct hs_inject_module *hs_hooks__allocator(const struct hs_inject_modules *modules, uint64_t *malloc_at);

// Plans the patches, fills the islands and the library's table of the program's functions. The image is relocated.
int hs_hooks__prepare(struct hs_hooks *hooks, struct hs_error *error);

#endif
