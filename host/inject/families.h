// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocators by the names of their functions: what each function does, and where a module has them all.
#ifndef HEAPSONDE_HOST_INJECT_FAMILIES_H
#define HEAPSONDE_HOST_INJECT_FAMILIES_H

#include "host/inject/family_tables.h"
#include "host/inject/modules.h"
#include "host/inject/named.h"

enum { HS_SET_FUNCTIONS = 96, HS_SETS = 16, HS_SET_NAME = 96 };

// The functions of one allocator in a module.
struct hs_allocator_set {
    char name[HS_SET_NAME]; // of its first function: "je_malloc"
    const struct hs_inject_module *module;
    struct {
        const struct hs_family_function *is;
        struct hs_function function;
    } each[HS_SET_FUNCTIONS];
    size_t count;
    bool is_named;        // by the user
    uint64_t usable_size; // address of its function that tells the usable size of a block; 0: none
};

struct hs_allocator_sets {
    struct hs_allocator_set *each;
    size_t count;
};

// Finds the allocators of the program and its libraries, but not those of libc. `interposed`: functions that are
// exported under the usual names are recorded already. What the user named has to be there.
int hs_families__find(struct hs_allocator_sets *sets, const struct hs_inject_modules *modules, bool interposed,
                      const struct hs_named_allocators *named, struct hs_error *error);
// Whether a program calls functions of an allocator in a library by names other than the usual ones.
bool hs_families__are_imported(const struct hs_inject_module *module);
void hs_families__free(struct hs_allocator_sets *sets);

#endif
