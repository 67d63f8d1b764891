// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which functions of a target are patched, and what they jump to.
#ifndef HEAPSONDE_HOST_INJECT_HOOKS_H
#define HEAPSONDE_HOST_INJECT_HOOKS_H

#include "host/inject/families.h"
#include "host/inject/image.h"
#include "host/inject/inject.h"
#include "host/inject/region.h"

// Memory of the target for islands.
struct hs_area {
    uint64_t at;
    uint8_t *bytes; // what is to lie there, HS_AREA_SIZE
    size_t used;
    const struct hs_inject_module *module; // for which it was added; NULL: for all
};

struct hs_planned {
    struct hs_function function;
    uint64_t original;    // pointer to the moved code
    struct hs_area *area; // of `record`
    size_t record;        // offset of its struct hs_attach_function; 0: the function has a hook of its own
};

enum { HS_AREA_SIZE = HS_REGION_IMAGE - HS_REGION_ISLANDS, HS_AREAS = 8 };

struct hs_hooks {
    struct hs_inject_target *target;
    const struct hs_inject_modules *modules;
    const struct hs_inject_module *allocator; // that defines the program's malloc; NULL: only sets are recorded
    struct hs_inject_image *image;            // NULL: a dynamic linker has loaded the library
    struct hs_region *region;                 // its patches are filled
    struct hs_allocator_sets sets;
    uint64_t adopted;                // what functions of sets jump to
    bool is_starting;                // libc has not begun
    struct hs_inject_result *result; // its names of allocators and functions are filled

    // Private.
    struct hs_area areas[HS_AREAS];
    size_t area_count;
    struct hs_planned planned[HS_REGION_PATCHES];
    size_t planned_count;
};

// The module whose malloc is recorded. NULL: none.
const struct hs_inject_module *hs_hooks__allocator(const struct hs_inject_modules *modules, uint64_t *malloc_at);

// Plans the patches, fills the islands and the library's table of the program's functions. The image is relocated.
int hs_hooks__prepare(struct hs_hooks *hooks, struct hs_error *error);

// Has no set recorded: their names become some of what cannot be patched.
void hs_hooks__leave_out(struct hs_hooks *hooks);

// An area that exists already. Out of memory: -ENOMEM.
int hs_hooks__add_area(struct hs_hooks *hooks, uint64_t at);

// Writes the islands. Returns 0 or a negative errno.
int hs_hooks__write(const struct hs_hooks *hooks);

void hs_hooks__free(struct hs_hooks *hooks);

#endif
