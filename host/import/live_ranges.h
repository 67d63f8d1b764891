// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Live mappings by address, none of which overlaps another: in blocks, so that one more or less moves few of the
// others, wherever it lies. (Kernels map from high addresses to low ones.)
#ifndef HEAPSONDE_IMPORT_LIVE_RANGES_H
#define HEAPSONDE_IMPORT_LIVE_RANGES_H

#include "host/import/array.h"

#include <stddef.h>
#include <stdint.h>

struct live_mapping {
    uint64_t start, end;
    uint32_t row, stack, stream, detail;
    uint32_t link; // + 1, or 0
    uint8_t kind;
};

struct live_ranges {
    struct range_block **block; // none of them is empty
    size_t blocks, room;
};

// Valid until something is added or removed.
struct range_place {
    size_t block, index;
};

// The first mapping that ends behind `address`.
struct range_place live_ranges__behind(const struct live_ranges *ranges, uint64_t address);
// The mapping there, NULL behind the last one.
struct live_mapping *live_ranges__at(const struct live_ranges *ranges, struct range_place place);
struct range_place live_ranges__next(const struct live_ranges *ranges, struct range_place place);

// Both return 0 or -ENOMEM. Of those that are restored each begins at the end of the one before or behind it.
int live_ranges__add(struct live_ranges *ranges, const struct live_mapping *added);
int live_ranges__restore(struct live_ranges *ranges, const struct live_mapping *mappings, size_t count);

// Removes the mappings from `place` on that begin before `end`.
void live_ranges__remove(struct live_ranges *ranges, struct range_place place, uint64_t end);

// Appends all of them, struct live_mapping, to an array. Returns 0 or -ENOMEM.
int live_ranges__list(const struct live_ranges *ranges, struct hs_array *list);
void live_ranges__free(struct live_ranges *ranges);

#endif
