// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A pool of strings, which live as long as the pool. Equal strings have equal pointers, so names are compared by
// address.
#ifndef HEAPSONDE_HOST_SYMBOLS_STRINGS_H
#define HEAPSONDE_HOST_SYMBOLS_STRINGS_H

#include <stddef.h>

struct hs_strings;

struct hs_strings *hs_strings__create(void);
void hs_strings__destroy(struct hs_strings *strings);

// Both return NULL only if memory is exhausted.
const char *hs_strings__add(struct hs_strings *strings, const char *text);
const char *hs_strings__add_bytes(struct hs_strings *strings, const char *bytes, size_t length);

// Memory with the lifetime of the pool: zeroed, and aligned for any object.
void *hs_strings__memory(struct hs_strings *strings, size_t size);

// The number of bytes in the pool.
size_t hs_strings__size(const struct hs_strings *strings);

#endif
