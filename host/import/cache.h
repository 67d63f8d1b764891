// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The user's cache: stores of traces beside which none can be made. Stores that were not used for the longest time are
// removed when the cache exceeds its size, except those that a process has open.
#ifndef HEAPSONDE_IMPORT_CACHE_H
#define HEAPSONDE_IMPORT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Finds the folder, and creates it. False: there is none.
bool hs_cache__folder(char *path, size_t size);

// A store in the cache was opened.
void hs_cache__use(const char *directory);

// How large the cache becomes; without this, 2 GiB.
void hs_cache__limit(uint64_t bytes);

// A store was added to the cache.
void hs_cache__prune(void);

#endif
