// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One library serves programs of glibc and of musl. Where the two differ in what they pass, this tells which it is.
#ifndef HEAPSONDE_RUNTIME_LIBC_KIND_H
#define HEAPSONDE_RUNTIME_LIBC_KIND_H

#include <stdbool.h>

// glibc has it, and so has uClibc, which takes after glibc.
extern const char *gnu_get_libc_version(void) __attribute__((weak));

static inline bool hs_libc_is_musl(void)
{
    return !gnu_get_libc_version;
}

#endif
