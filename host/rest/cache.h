// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Answers that are kept for those who ask again. What is asked for by several threads at once is worked out by one of
// them. One lock guards the table; it is not held while something is worked out.
#ifndef HEAPSONDE_HOST_REST_CACHE_H
#define HEAPSONDE_HOST_REST_CACHE_H

#include "host/store/error.h"

#include <stdbool.h>
#include <stddef.h>

struct hs_cache;
struct hs_cached; // a value and who holds it

struct hs_cache_maker {
    // Works the value out: 0, or a negative errno with the reason, and then no value. *bytes: how much memory it takes.
    int (*make)(void *context, void **value, size_t *bytes, struct hs_error *error);
    void *context;
    void (*destroy)(void *value);
};

// NULL: out of memory. Values beyond `most_bytes` in all are dropped, those first that were not asked for longest.
struct hs_cache *hs_cache__create(size_t most_bytes);
void hs_cache__destroy(struct hs_cache *cache); // nothing may be held any more

// The value of the key, worked out when there is none. It stays valid until it is released.
int hs_cache__get(struct hs_cache *cache, const char *key, const struct hs_cache_maker *maker,
                  struct hs_cached **cached, struct hs_error *error);
// The value when it is there, else NULL.
struct hs_cached *hs_cache__find(struct hs_cache *cache, const char *key);
// Keeps a value that was worked out elsewhere, and destroys it in the end.
void hs_cache__put(struct hs_cache *cache, const char *key, void *value, size_t bytes, void (*destroy)(void *value));
void *hs_cached__value(const struct hs_cached *cached);
void hs_cache__release(struct hs_cache *cache, struct hs_cached *cached);

// Forgets everything whose key begins so.
void hs_cache__forget(struct hs_cache *cache, const char *prefix);

#endif
