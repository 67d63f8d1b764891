// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Libraries that few commands need. They are loaded with dlopen() at the first use, so that every other command starts
// without them. A header lists the functions of its library, FUNCTIONS(X), and has a structure of pointers to them.
#ifndef HEAPSONDE_HOST_BASE_LOADED_LIBRARY_H
#define HEAPSONDE_HOST_BASE_LOADED_LIBRARY_H

#include "host/base/error.h"

#include <errno.h>

// The member of the structure for one function.
#define HS_LIBRARY_MEMBER(name) __typeof__(name) *name;

// Sets that member of the variable `library` from the library `handle`. If it has no such function, `loaded` is false.
#define HS_LIBRARY_LOOK_UP(name) loaded &= (library.name = (__typeof__(name) *)dlsym(handle, #name)) != NULL;

// The error for a library that cannot be loaded: the name of its file, and Debian's package. Returns -ENOENT.
static inline int hs_library__is_missing(struct hs_error *error, const char *file, const char *package)
{
    return hs_error__set(error, ENOENT, "%s is needed for this, but is not installed; Debian's package is %s", file,
                         package);
}

#endif
