// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Live mappings by address, without overlaps. They are stored in blocks, so that adding or removing one moves only few
// others. (Kernels map from high addresses to low ones.)
#ifndef HEAPSONDE_IMPORT_LIVE_RANGES_H
#define HEAPSONDE_IMPORT_LIVE_RANGES_H

#include "host/base/array.h"

#include <stddef.h>
#include <stdint.h>

struct hs_live_mapping {
    uint64_t start, end;
    uint32_t row, stack, stream, detail;
    uint32_t link; // + 1, or 0
    uint8_t kind;
};

struct hs_live_ranges {
    struct range_block **block; // none is empty
    size_t blocks, room;
};

// Valid until a mapping is added or removed.
struct hs_range_place {
    size_t block, index;
};

// The first mapping that ends after `address`.
struct hs_range_place hs_live_ranges__behind(const struct hs_live_ranges *ranges, uint64_t address);
// The mapping at a position; NULL: after the last one.
struct hs_live_mapping *hs_live_ranges__at(const struct hs_live_ranges *ranges, struct hs_range_place place);
struct hs_range_place hs_live_ranges__next(const struct hs_live_ranges *ranges, struct hs_range_place place);

// Both return 0 or -ENOMEM. Restored mappings have to be in ascending order, without overlaps.
int hs_live_ranges__add(struct hs_live_ranges *ranges, const struct hs_live_mapping *added);
int hs_live_ranges__restore(struct hs_live_ranges *ranges, const struct hs_live_mapping *mappings, size_t count);

// Removes the mappings from `place` on that begin before `end`.
void hs_live_ranges__remove(struct hs_live_ranges *ranges, struct hs_range_place place, uint64_t end);

// Appends all mappings (struct hs_live_mapping) to an array. Returns 0 or -ENOMEM.
int hs_live_ranges__list(const struct hs_live_ranges *ranges, struct hs_array *list);
void hs_live_ranges__free(struct hs_live_ranges *ranges);

#endif
