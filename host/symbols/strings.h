// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A pool of strings that live as long as the pool. Equal strings are one pointer, so names compare by address.
#ifndef HEAPSONDE_HOST_SYMBOLS_STRINGS_H
#define HEAPSONDE_HOST_SYMBOLS_STRINGS_H

#include <stddef.h>

struct hs_strings;

struct hs_strings *hs_strings__create(void);
void hs_strings__destroy(struct hs_strings *strings);

// Both return NULL only when memory is exhausted.
const char *hs_strings__add(struct hs_strings *strings, const char *text);
const char *hs_strings__add_bytes(struct hs_strings *strings, const char *bytes, size_t length);

// Memory of the same lifetime as the strings, aligned for any object, zeroed.
void *hs_strings__memory(struct hs_strings *strings, size_t size);

// Bytes that the pool has taken.
size_t hs_strings__size(const struct hs_strings *strings);

#endif
