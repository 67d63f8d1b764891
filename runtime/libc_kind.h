// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One library works with glibc and with musl. This finds out which one it is, for differences in what they pass to
// functions.
#ifndef HEAPSONDE_RUNTIME_LIBC_KIND_H
#define HEAPSONDE_RUNTIME_LIBC_KIND_H

#include <stdbool.h>

// Defined by glibc, and by uClibc, which behaves like it.
extern const char *gnu_get_libc_version(void) __attribute__((weak));

static inline bool hs_libc_is_musl(void)
{
    return !gnu_get_libc_version;
}

#endif
