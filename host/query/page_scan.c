// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/page_scan.h"

#include "host/query/order.h"

#include <errno.h>
#include <stdlib.h>

uint64_t hs_page_scan_limit = (uint64_t)4 << 20;

enum { SINGLE_ROW = 16, SINGLE_CODE = 4 };

struct page_scan_walk {
    const struct hs_page_scan *page;
    const struct hs_sorted_index *sorted_index;
    bool backwards;
    uint64_t skip;   // rows that match, before the page
    uint64_t wanted; // rows of the page
    uint64_t count;  // of them, found so far
    uint32_t *row;
    uint64_t looks;
    uint32_t *mask; // with a rank counts: what of each code matches
};

static bool is_done(const struct page_scan_walk *walk)
{
    return walk->count == walk->wanted;
}

static int look(struct page_scan_walk *walk, uint64_t rows)
{
    walk->looks += rows;
    return walk->looks > hs_page_scan_limit ? -E2BIG : 0;
}

static void take(struct page_scan_walk *walk, uint32_t row)
{
    if (walk->skip)
        walk->skip--;
    else if (!is_done(walk))
        walk->row[walk->count++] = row;
}

// ---- in the order of a key -----------------------------------------------------------------------------------------

static bool matches(const struct page_scan_walk *walk, uint32_t row)
{
    const struct hs_page_scan *page = walk->page;
    if (page->set)
        return hs_row_set__has(page->set, row);
    if (walk->mask)
        return walk->mask[hs_packed__at(&page->rank_counts->dictionary->of_row, row)];
    return hs_filter__matches(page->filter, page->store, row);
}

static uint64_t look_costs(const struct page_scan_walk *walk)
{
    return walk->page->set ? 1 : walk->mask ? SINGLE_CODE : SINGLE_ROW;
}

// The bounds of the keys that match the filter. In some filters, the lifetime of what never ends is longer than all
// others; of what began after the end, it is beyond all bounds.
static struct hs_bounds keys_of(const struct page_scan_walk *walk)
{
    const struct hs_filter *filter = walk->page->filter;
    switch (hs_sorted_index__by(walk->sorted_index)) {
    case HS_ROW_BY_ADDRESS:
        return (struct hs_bounds){filter->address_min, filter->address_max};
    case HS_ROW_BY_SIZE:
        return (struct hs_bounds){filter->size_min, filter->size_max};
    case HS_ROW_BY_LIFETIME:
        if (!filter->unfreed_live_forever && hs_sorted_index__has_lifetimes(walk->sorted_index))
            return (struct hs_bounds){filter->lifetime_min, filter->lifetime_max};
        break;
    default:
        break;
    }
    return (struct hs_bounds){0, UINT64_MAX};
}

// All rows of the part have one key: they are in order.
static int walk_equals(struct page_scan_walk *walk, const struct hs_sorted_part *part)
{
    uint64_t row[HS_PACKED_BLOCK], block = UINT64_MAX;
    int failed = 0;
    for (uint64_t i = 0; i < part->end - part->first && !failed && !is_done(walk); i++) {
        uint64_t rank = walk->backwards ? part->end - 1 - i : part->first + i;
        if (rank / HS_PACKED_BLOCK != block)
            hs_sorted_index__read(walk->sorted_index, block = rank / HS_PACKED_BLOCK, row);
        failed = look(walk, look_costs(walk));
        if (matches(walk, (uint32_t)row[rank % HS_PACKED_BLOCK]))
            take(walk, (uint32_t)row[rank % HS_PACKED_BLOCK]);
    }
    return failed;
}

static size_t find_matches(const struct page_scan_walk *walk, const struct hs_sorted_part *part,
                           struct hs_keyed_row *found)
{
    uint64_t row[HS_PACKED_BLOCK];
    size_t count = 0;
    for (uint64_t rank = part->first; rank < part->end;) {
        size_t rows = hs_sorted_index__read(walk->sorted_index, rank / HS_PACKED_BLOCK, row);
        for (size_t i = rank % HS_PACKED_BLOCK; i < rows && rank < part->end; i++, rank++)
            if (matches(walk, (uint32_t)row[i]))
                found[count++].row = (uint32_t)row[i];
    }
    return count;
}

static int walk_mixed(struct page_scan_walk *walk, const struct hs_sorted_part *part)
{
    int failed = look(walk, look_costs(walk) * (part->end - part->first));
    struct hs_keyed_row *found = failed ? NULL : malloc((part->end - part->first + 1) * sizeof(*found));
    if (!found)
        return failed ? failed : -ENOMEM;
    size_t count = find_matches(walk, part, found);
    if (count <= walk->skip) {
        walk->skip -= count;
        count = 0;
    }
    for (size_t i = 0; i < count; i++)
        found[i].key = hs_sorted_index__key(walk->sorted_index, found[i].row);
    hs_keyed_rows__sort(found, count);
    for (size_t i = 0; i < count; i++)
        take(walk, found[walk->backwards ? count - 1 - i : i].row);
    free(found);
    return 0;
}

static int walk_part(struct page_scan_walk *walk, const struct hs_sorted_part *part)
{
    return part->keys.least == part->keys.most ? walk_equals(walk, part) : walk_mixed(walk, part);
}

static int walk_parts(struct page_scan_walk *walk)
{
    const size_t parts = hs_sorted_index__parts(walk->sorted_index);
    const struct hs_bounds keys = keys_of(walk);
    int failed = 0;
    for (size_t i = 0; i < parts && !failed && !is_done(walk); i++) {
        const struct hs_sorted_part part =
            hs_sorted_index__part(walk->sorted_index, walk->backwards ? parts - 1 - i : i);
        if (part.keys.most < keys.least || part.keys.least > keys.most)
            continue;
        failed = walk_part(walk, &part);
    }
    return failed;
}

// ---- with a rank counts
// --------------------------------------------------------------------------------------------------

static int make_mask(struct page_scan_walk *walk)
{
    const struct hs_dictionary *dictionary = walk->page->rank_counts->dictionary;
    walk->mask = malloc((dictionary->count + 1) * sizeof(*walk->mask));
    for (size_t i = 0; walk->mask && i < dictionary->count; i++)
        walk->mask[i] = hs_code__matches(&dictionary->code[i], walk->page->filter) ? UINT32_MAX : 0;
    return walk->mask ? 0 : -ENOMEM;
}

// Of a part that reaches beyond the stretch, whose rows have one key, what is within.
static int walk_stretch(struct page_scan_walk *walk, uint64_t first, uint64_t end)
{
    const size_t low = hs_sorted_index__part_at(walk->sorted_index, first),
                 high = hs_sorted_index__part_at(walk->sorted_index, end - 1);
    int failed = 0;
    for (size_t i = low; i <= high && !failed && !is_done(walk); i++) {
        struct hs_sorted_part part = hs_sorted_index__part(walk->sorted_index, walk->backwards ? high - (i - low) : i);
        part.first = part.first > first ? part.first : first;
        part.end = part.end < end ? part.end : end;
        failed = walk_part(walk, &part);
    }
    return failed;
}

static size_t stretch_of(const struct page_scan_walk *walk, size_t i)
{
    return walk->backwards ? walk->page->rank_counts->stretches - 1 - i : i;
}

// How many rows have to be read, without those of the last stretch.
static uint64_t count_looks(const struct page_scan_walk *walk)
{
    const struct hs_rank_counts *rank_counts = walk->page->rank_counts;
    uint64_t looks = 0, last = 0, before = 0;
    for (size_t i = 0; i < rank_counts->stretches && before < walk->skip + walk->wanted; i++) {
        const size_t stretch = stretch_of(walk, i);
        const uint64_t count = hs_rank_counts__matches(rank_counts, stretch, walk->mask);
        before += count;
        if (!count || before <= walk->skip)
            continue;
        looks += last;
        last = look_costs(walk) * (rank_counts->first[stretch + 1] - rank_counts->first[stretch]);
    }
    return looks;
}

static int walk_stretches(struct page_scan_walk *walk)
{
    const struct hs_rank_counts *rank_counts = walk->page->rank_counts;
    int failed = make_mask(walk);
    if (!failed && count_looks(walk) > hs_page_scan_limit)
        failed = -E2BIG;
    for (size_t i = 0; i < rank_counts->stretches && !failed && !is_done(walk); i++) {
        const size_t stretch = stretch_of(walk, i);
        const uint64_t count = hs_rank_counts__matches(rank_counts, stretch, walk->mask);
        if (count <= walk->skip)
            walk->skip -= count;
        else if (count)
            failed = walk_stretch(walk, rank_counts->first[stretch], rank_counts->first[stretch + 1]);
    }
    free(walk->mask);
    walk->mask = NULL;
    return failed;
}

// ---- in the order of rows ------------------------------------------------------------------------------------------

static int walk_block(struct page_scan_walk *walk, struct hs_matcher *matcher, uint64_t block)
{
    size_t count = hs_matcher__match(matcher, block);
    int failed = look(walk, matcher->block.count);
    for (size_t i = 0; i < count; i++)
        take(walk, (uint32_t)hs_matcher__row(matcher, walk->backwards ? count - 1 - i : i));
    return failed;
}

static int walk_zone(struct page_scan_walk *walk, struct hs_matcher *matcher, uint64_t first, uint64_t end)
{
    int failed = 0;
    for (uint64_t i = first; i < end && !failed && !is_done(walk); i++)
        failed = walk_block(walk, matcher, walk->backwards ? end - 1 - (i - first) : i);
    return failed;
}

static int walk_rows(struct page_scan_walk *walk)
{
    const struct hs_page_scan *page = walk->page;
    const uint64_t zone_blocks = HS_ZONE_ROWS / HS_PACKED_BLOCK;
    const uint64_t blocks = (hs_store__columns(page->store)->rows + HS_PACKED_BLOCK - 1) / HS_PACKED_BLOCK;
    const uint64_t end_time = hs_store__summary(page->store)->end_time;
    size_t zones;
    const struct hs_zone *zone = hs_store__zones(page->store, &zones);
    struct hs_matcher *matcher = hs_matcher__create(page->store, page->filter);
    int failed = matcher ? 0 : -ENOMEM;
    for (size_t i = 0; i < zones && !failed && !is_done(walk); i++) {
        size_t here = walk->backwards ? zones - 1 - i : i;
        uint64_t first = here * zone_blocks, end = first + zone_blocks;
        if (hs_filter__zone_may_match(page->filter, &zone[here], end_time))
            failed = walk_zone(walk, matcher, first, end < blocks ? end : blocks);
    }
    hs_matcher__destroy(matcher);
    return failed;
}

// ---- pages ---------------------------------------------------------------------------------------------------------

static void reverse(uint32_t *row, uint64_t count)
{
    for (uint64_t low = 0, high = count; low + 1 < high; low++) {
        uint32_t here = row[low];
        row[low] = row[--high];
        row[high] = here;
    }
}

int hs_page_scan__rows(const struct hs_page_scan *page, const struct hs_sorted_index *sorted_index,
                       struct hs_rows *rows, struct hs_error *error)
{
    const uint64_t skip = page->skip < page->total ? page->skip : page->total, left = page->total - skip;
    const uint64_t count = page->limit < left ? page->limit : left;
    const bool from_behind = skip > left - count; // the other end is nearer
    *rows = (struct hs_rows){.total = page->total, .count = count};
    if (count > hs_page_scan_limit)
        return -E2BIG;
    rows->row = malloc((count + 1) * sizeof(*rows->row));
    if (!rows->row)
        return hs_error__set(error, ENOMEM, "query: out of memory");
    struct page_scan_walk walk = {.page = page,
                                  .sorted_index = sorted_index,
                                  .backwards = page->descending != from_behind,
                                  .skip = from_behind ? left - count : skip,
                                  .wanted = count,
                                  .row = rows->row};
    int failed = page->rank_counts ? walk_stretches(&walk) : sorted_index ? walk_parts(&walk) : walk_rows(&walk);
    if (!failed && !is_done(&walk))
        failed = -E2BIG;
    if (from_behind)
        reverse(rows->row, walk.count);
    if (!failed)
        return 0;
    hs_rows__free(rows);
    return failed == -E2BIG ? failed : hs_error__set(error, -failed, "query: out of memory");
}
