// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Caches answers. If several threads request the same value at once, one of them computes it and the others wait. One
// lock guards the table; it is not held while a value is computed.
#ifndef HEAPSONDE_HOST_REST_CACHE_H
#define HEAPSONDE_HOST_REST_CACHE_H

#include "host/base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct hs_cache;
struct hs_cached; // a value and its number of users

struct hs_cache_maker {
    // Computes the value: 0, or a negative errno with the reason and without a value. *bytes: its size in memory.
    int (*make)(void *context, void **value, size_t *bytes, struct hs_error *error);
    void *context;
    void (*destroy)(void *value);
};

// NULL: out of memory. If all values together exceed `most_bytes`, the least recently used ones are dropped.
struct hs_cache *hs_cache__create(size_t most_bytes);
void hs_cache__destroy(struct hs_cache *cache); // all values must have been released

// The value of the key; computes it if it is not in the cache. Valid until it is released.
int hs_cache__get(struct hs_cache *cache, const char *key, const struct hs_cache_maker *maker,
                  struct hs_cached **cached, struct hs_error *error);
// The value of the key if it is in the cache, else NULL.
struct hs_cached *hs_cache__find(struct hs_cache *cache, const char *key);
// Adds a value that was computed elsewhere; the cache destroys it later.
void hs_cache__put(struct hs_cache *cache, const char *key, void *value, size_t bytes, void (*destroy)(void *value));
void *hs_cached__value(const struct hs_cached *cached);
void hs_cache__release(struct hs_cache *cache, struct hs_cached *cached);

// Removes all values whose keys have this prefix.
void hs_cache__forget(struct hs_cache *cache, const char *prefix);

#endif
