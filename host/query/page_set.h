// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A set of pages, for address spaces that are large and nearly empty.
#ifndef HEAPSONDE_QUERY_PAGE_SET_H
#define HEAPSONDE_QUERY_PAGE_SET_H

#include "host/base/id_map.h"

#include <stdbool.h>
#include <stdint.h>

struct hs_page_part;
struct hs_page_set {
    uint64_t count;
    struct hs_page_part *part; // each a run of pages of which some are members
    uint32_t parts, room;
    struct hs_id_map of_key;
};

// A set whose memory would exceed 136 MiB does not grow. Pages are given by numbers below 2^52: the first one, and the
// one after the last.
bool hs_page_set__add(struct hs_page_set *set, uint64_t first, uint64_t end); // false: out of memory
void hs_page_set__remove(struct hs_page_set *set, uint64_t first, uint64_t end);
// The members of another set in [first, end).
bool hs_page_set__add_members(struct hs_page_set *set, const struct hs_page_set *from, uint64_t first, uint64_t end);
uint64_t hs_page_set__count(const struct hs_page_set *set, uint64_t first, uint64_t end);
bool hs_page_set__has(const struct hs_page_set *set, uint64_t page);
// The members of [first, end) become members from `to` on, in place of those that were there.
bool hs_page_set__move(struct hs_page_set *set, uint64_t first, uint64_t end, uint64_t to);
void hs_page_set__free(struct hs_page_set *set);

#endif
