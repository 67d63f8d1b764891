// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The functions of each family of allocators.
#ifndef HEAPSONDE_HOST_INJECT_FAMILY_TABLES_H
#define HEAPSONDE_HOST_INJECT_FAMILY_TABLES_H

#include "format/attach.h"

#include <stdbool.h>
#include <stddef.h>

// `silent`: of one that throws, the function with the same arguments that returns NULL.
struct hs_family_function {
    const char *name;                       // without prefix
    uint8_t what, kind, size, count, block; // as in struct hs_attach_function
    // A function that may stay as it is: all that it does is call others of the family.
    bool forwards;
    const char *silent;
};

enum { HS_FAMILY_SIGNS = 5, HS_FAMILY_MANY = 12 };

struct hs_family {
    // With the same prefix, all of these have to be there. The first one says what the prefix is.
    const char *signs[HS_FAMILY_SIGNS];
    const char *title;       // NULL: its first function, with the prefix
    const char *prefixes[3]; // only these; a first one of NULL: any
    const char *usable_size;
    const struct hs_family_function *functions; // a name of NULL ends them
    size_t least;                               // of these functions, how many have to be there
    // Where fewer than HS_FAMILY_MANY are there, so has to be another function, whose name begins with this. NULL:
    // none.
    const char *internal;
    bool is_exported; // only exported functions count
};

extern const struct hs_family hs_families[]; // no functions: the end

// malloc, free and the rest, under any prefix.
extern const struct hs_family hs_family_usual;
// Operators new and delete of a library that is an allocator.
extern const struct hs_family hs_family_operators;

#endif
