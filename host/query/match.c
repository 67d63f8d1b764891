// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/match.h"

#include "host/base/numbers.h"
#include "host/query/scan.h"

#include <stdlib.h>
#include <string.h>

// ---- the filter ----------------------------------------------------------------------------------------------------

static void match_nothing(struct hs_bounds *bounds)
{
    *bounds = (struct hs_bounds){UINT64_MAX, 0};
}

// The conditions on the ends of blocks, as two ranges.
static void work_out_ends(struct hs_matcher *matcher)
{
    const struct hs_filter *filter = matcher->filter;
    struct hs_bounds *time = &matcher->time, *end = &matcher->free_time;
    *time = (struct hs_bounds){filter->time_min, filter->time_max};
    *end = (struct hs_bounds){filter->free_min, filter->free_max};
    if (filter->freed_only)
        end->most = hs_number__least(end->most, HS_NEVER - 1);
    if (filter->never_freed_only)
        end->least = HS_NEVER;
    for (unsigned i = 0; i < filter->alive_count; i++) {
        time->most = hs_number__least(time->most, filter->alive_at[i]);
        end->least = hs_number__most(end->least, filter->alive_at[i] + 1);
        if (filter->alive_at[i] == UINT64_MAX)
            match_nothing(end);
    }
}

static bool state_matches(const struct hs_filter *filter, unsigned state)
{
    uint8_t kind = hs_row__kind_of_state(state), flags = hs_row__flags_of_state(state);
    return filter->kinds >> kind & 1 && filter->domains >> hs_kind_domain(kind) & 1 &&
           (flags & filter->flags_all) == filter->flags_all && !(flags & filter->flags_none);
}

// Not 0: out of memory.
static int prepare_where(struct hs_matcher *matcher)
{
    const struct hs_filter *filter = matcher->filter;
    if (!filter->where)
        return 0;
    matcher->part = calloc(filter->where_count, sizeof(*matcher->part));
    matcher->verdict = calloc(filter->where_count, sizeof(*matcher->verdict));
    bool good = matcher->part && matcher->verdict;
    for (uint32_t i = 0; good && i < filter->where_count; i++) {
        if (filter->where[i].join == HS_FILTER_IS)
            good = (matcher->part[i] = hs_matcher__create(matcher->store, filter->where[i].filter)) != NULL;
    }
    return good ? 0 : -1;
}

struct hs_matcher *hs_matcher__create(const struct hs_store *store, const struct hs_filter *filter)
{
    struct hs_matcher *matcher = calloc(1, sizeof(*matcher));
    if (!matcher)
        return NULL;
    matcher->store = store;
    matcher->filter = filter;
    matcher->end_time = hs_store__summary(store)->end_time;
    matcher->asks_lifetimes = filter->lifetime_min || filter->lifetime_max != UINT64_MAX;
    matcher->asks_row = filter->times || filter->detail_given || filter->accept || hs_filter__needs_chain(filter);
    work_out_ends(matcher);
    if (prepare_where(matcher)) {
        hs_matcher__destroy(matcher);
        return NULL;
    }
    for (unsigned state = 0; state < 256; state++)
        matcher->state_matches[state] = state_matches(filter, state);
    if (!hs_column_block__create(&matcher->block, hs_store__columns(store)))
        return matcher;
    hs_matcher__destroy(matcher);
    return NULL;
}

void hs_matcher__destroy(struct hs_matcher *matcher)
{
    if (!matcher)
        return;
    for (uint32_t i = 0; matcher->part && i < matcher->filter->where_count; i++)
        hs_matcher__destroy(matcher->part[i]);
    free(matcher->part);
    free(matcher->verdict);
    hs_column_block__free(&matcher->block);
    free(matcher);
}

struct hs_matcher **hs_matchers__create(const struct hs_store *store, const struct hs_filter *filter, unsigned workers)
{
    struct hs_matcher **matchers = calloc(workers, sizeof(*matchers));
    bool good = matchers;
    for (unsigned i = 0; good && i < workers; i++)
        good = (matchers[i] = hs_matcher__create(store, filter)) != NULL;
    if (good)
        return matchers;
    hs_matchers__destroy(matchers, workers);
    return NULL;
}

void hs_matchers__destroy(struct hs_matcher **matchers, unsigned workers)
{
    for (unsigned i = 0; matchers && i < workers; i++)
        hs_matcher__destroy(matchers[i]);
    free(matchers);
}

// ---- conditions on a column ----------------------------------------------------------------------------------------

enum share { NONE, SOME, ALL };

// How much of a packed block lies within the bounds, from how it is packed.
static enum share share_within(const struct hs_packed *packed, uint64_t number, struct hs_bounds bounds)
{
    const uint64_t least = packed->block[number].base, most = hs_packed__most(packed, number);
    if (bounds.most < least || bounds.least > most || bounds.least > bounds.most)
        return NONE;
    return bounds.least <= least && bounds.most >= most ? ALL : SOME;
}

// To be called before a row is left out.
static uint8_t *start_keeping(struct hs_matcher *matcher)
{
    if (matcher->all)
        memset(matcher->keep, 1, matcher->block.count);
    matcher->all = false;
    return matcher->keep;
}

static void keep_within(uint8_t *restrict keep, const uint64_t *restrict value, size_t count, struct hs_bounds bounds)
{
    const uint64_t width = bounds.most - bounds.least;
    for (size_t i = 0; i < count; i++)
        keep[i] &= value[i] - bounds.least <= width;
}

// False: no row of the block is left.
static bool ask_range(struct hs_matcher *matcher, enum hs_block_column column, struct hs_bounds bounds)
{
    const struct hs_packed *packed = hs_column_block__packed(matcher->block.columns, column);
    enum share share = share_within(packed, matcher->block.number, bounds);
    if (share == SOME)
        keep_within(start_keeping(matcher), hs_column_block__column(&matcher->block, column), matcher->block.count,
                    bounds);
    return share != NONE;
}

// Whether the states of all rows of the block's zone match.
static bool zone_states_match(const struct hs_matcher *matcher)
{
    size_t zones;
    const struct hs_zone *zone = hs_store__zones(matcher->store, &zones);
    zone += matcher->block.number / (HS_ZONE_ROWS / HS_PACKED_BLOCK);
    if (matcher->filter->flags_all || matcher->filter->flags_none & zone->flags)
        return false;
    for (unsigned kind = 0; kind < HS_KIND_COUNT; kind++)
        if (zone->kinds >> kind & 1 && !matcher->state_matches[kind])
            return false;
    return true;
}

static bool ask_states(struct hs_matcher *matcher)
{
    if (zone_states_match(matcher))
        return true;
    const struct hs_packed_block *packed = &matcher->block.columns->state.block[matcher->block.number];
    if (!packed->width && !packed->exceptions)
        return matcher->state_matches[packed->base & 255];
    const uint64_t *state = hs_column_block__column(&matcher->block, HS_BLOCK_STATE);
    uint8_t *keep = start_keeping(matcher);
    for (size_t i = 0; i < matcher->block.count; i++)
        keep[i] &= matcher->state_matches[state[i] & 255];
    return true;
}

// When the blocks were freed is stored as a distance, 0 for never.
static bool ask_free_times(struct hs_matcher *matcher)
{
    struct hs_bounds bounds = matcher->free_time;
    if (!bounds.least && bounds.most == UINT64_MAX)
        return true;
    const struct hs_packed_block *packed = &matcher->block.columns->free_time.block[matcher->block.number];
    if (bounds.least > bounds.most || (bounds.least == HS_NEVER && packed->base))
        return false;
    keep_within(start_keeping(matcher), hs_column_block__column(&matcher->block, HS_BLOCK_FREE_TIME),
                matcher->block.count, bounds);
    return true;
}

static void ask_lifetimes(struct hs_matcher *matcher)
{
    const struct hs_filter *filter = matcher->filter;
    const uint64_t *time = hs_column_block__column(&matcher->block, HS_BLOCK_TIME);
    const uint64_t *free_time = hs_column_block__column(&matcher->block, HS_BLOCK_FREE_TIME);
    const uint64_t end_time = matcher->end_time, least = filter->lifetime_min, most = filter->lifetime_max;
    const bool forever = filter->unfreed_live_forever;
    uint8_t *keep = start_keeping(matcher);
    for (size_t i = 0; i < matcher->block.count; i++) {
        uint64_t end = free_time[i] == HS_NEVER ? end_time : free_time[i];
        uint64_t lifetime = end > time[i] ? end - time[i] : 0;
        bool matches = free_time[i] == HS_NEVER && forever ? most == UINT64_MAX : lifetime >= least && lifetime <= most;
        keep[i] &= matches;
    }
}

static void ask_set(struct hs_matcher *matcher, enum hs_block_column column, const struct hs_set *set)
{
    if (!set->words)
        return;
    const uint64_t *value = hs_column_block__column(&matcher->block, column);
    uint8_t *keep = start_keeping(matcher);
    for (size_t i = 0; i < matcher->block.count; i++)
        if (keep[i])
            keep[i] = hs_set__has(set, value[i]);
}

static void ask_threads(struct hs_matcher *matcher)
{
    if (!matcher->filter->not_own_thread_only)
        return;
    const uint64_t *difference = hs_column_block__column(&matcher->block, HS_BLOCK_FREE_STREAM);
    uint8_t *keep = start_keeping(matcher);
    for (size_t i = 0; i < matcher->block.count; i++)
        keep[i] &= difference[i] != 0;
}

// ---- blocks --------------------------------------------------------------------------------------------------------

static bool ask_columns(struct hs_matcher *matcher)
{
    const struct hs_filter *filter = matcher->filter;
    if (!ask_states(matcher) || !ask_range(matcher, HS_BLOCK_TIME, matcher->time) ||
        !ask_range(matcher, HS_BLOCK_SIZE, (struct hs_bounds){filter->size_min, filter->size_max}) ||
        !ask_range(matcher, HS_BLOCK_ADDRESS, (struct hs_bounds){filter->address_min, filter->address_max}) ||
        !ask_free_times(matcher))
        return false;
    if (matcher->asks_lifetimes)
        ask_lifetimes(matcher);
    ask_set(matcher, HS_BLOCK_STACK, &filter->stacks);
    ask_set(matcher, HS_BLOCK_FREE_STACK, &filter->free_stacks);
    ask_set(matcher, HS_BLOCK_STREAM, &filter->streams);
    ask_threads(matcher);
    return true;
}

static void ask_rows(struct hs_matcher *matcher)
{
    uint64_t first = matcher->block.number * HS_PACKED_BLOCK;
    uint8_t *keep = start_keeping(matcher);
    for (size_t i = 0; i < matcher->block.count; i++)
        if (keep[i])
            keep[i] = hs_filter__matches_row(matcher->filter, matcher->store, first + i);
}

static void judge_part(struct hs_matcher *part, uint64_t block, uint8_t *verdict)
{
    const size_t count = hs_matcher__count(part, block);
    if (!count || part->all)
        memset(verdict, count != 0, HS_PACKED_BLOCK);
    else
        memcpy(verdict, part->keep, part->block.count);
}

static void join(const struct hs_filter_node *node, uint8_t (*verdict)[HS_PACKED_BLOCK], uint8_t *restrict to)
{
    const uint8_t *left = verdict[node->left], *right = verdict[node->right];
    for (size_t i = 0; i < HS_PACKED_BLOCK; i++)
        to[i] = node->join == HS_FILTER_NOT   ? !left[i]
                : node->join == HS_FILTER_AND ? left[i] & right[i]
                                              : left[i] | right[i];
}

static void ask_where(struct hs_matcher *matcher)
{
    const struct hs_filter *filter = matcher->filter;
    const uint8_t *verdict = NULL;
    for (uint32_t i = 0; i < filter->where_count; i++) {
        if (matcher->part[i])
            judge_part(matcher->part[i], matcher->block.number, matcher->verdict[i]);
        else
            join(&filter->where[i], matcher->verdict, matcher->verdict[i]);
        verdict = matcher->verdict[i];
    }
    uint8_t *keep = start_keeping(matcher);
    for (size_t i = 0; i < matcher->block.count; i++)
        keep[i] &= verdict[i];
}

static void note_all_places(struct hs_matcher *matcher)
{
    for (size_t i = 0; i < HS_PACKED_BLOCK && !matcher->all_places; i++)
        matcher->place[i] = (uint16_t)i;
    matcher->all_places = true;
}

static void note_places(struct hs_matcher *matcher)
{
    size_t count = 0;
    matcher->all_places = false;
    for (size_t i = 0; i < matcher->block.count; i++) {
        matcher->place[count] = (uint16_t)i;
        count += matcher->keep[i];
    }
}

static size_t sum_up(const struct hs_matcher *matcher)
{
    size_t count = 0;
    for (size_t i = 0; i < matcher->block.count; i++)
        count += matcher->keep[i];
    return count;
}

size_t hs_matcher__count(struct hs_matcher *matcher, uint64_t block)
{
    hs_column_block__move_to(&matcher->block, block);
    matcher->all = true;
    if (!ask_columns(matcher))
        return 0;
    if (matcher->part)
        ask_where(matcher);
    if (matcher->asks_row)
        ask_rows(matcher);
    return matcher->all ? matcher->block.count : sum_up(matcher);
}

size_t hs_matcher__match(struct hs_matcher *matcher, uint64_t block)
{
    matcher->count = hs_matcher__count(matcher, block);
    if (matcher->count && matcher->all)
        note_all_places(matcher);
    else if (matcher->count)
        note_places(matcher);
    return matcher->count;
}
