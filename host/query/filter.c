// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/search.h"
#include "host/query/scan.h"

void hs_filter__init(struct hs_filter *filter)
{
    *filter = (struct hs_filter){
        .time_max = UINT64_MAX,
        .free_max = UINT64_MAX,
        .size_max = UINT64_MAX,
        .address_max = UINT64_MAX,
        .lifetime_max = UINT64_MAX,
        .domains = HS_FILTER_HEAP,
        .kinds = (1u << HS_KIND_COUNT) - 1,
        .chain_length_max = UINT32_MAX,
        .position_max = UINT32_MAX,
        .first_size_max = UINT64_MAX,
        .last_size_max = UINT64_MAX,
        .chain_lifetime_max = UINT64_MAX,
    };
}

static inline bool within(uint64_t value, uint64_t least, uint64_t most)
{
    return value >= least && value <= most;
}

bool hs_filter__needs_chain(const struct hs_filter *filter)
{
    return filter->chain_never_freed_only || filter->chain_length_min || filter->chain_length_max != UINT32_MAX ||
           filter->position_min || filter->position_max != UINT32_MAX || filter->first_size_min ||
           filter->first_size_max != UINT64_MAX || filter->last_size_min || filter->last_size_max != UINT64_MAX ||
           filter->chain_lifetime_min || filter->chain_lifetime_max != UINT64_MAX;
}

bool hs_filter__asks_only_stacks(const struct hs_filter *filter)
{
    return filter->kinds == (1u << HS_KIND_COUNT) - 1 && !filter->time_min && !filter->free_min && !filter->size_min &&
           !filter->address_min && !filter->lifetime_min && filter->time_max == UINT64_MAX &&
           filter->free_max == UINT64_MAX && filter->size_max == UINT64_MAX && filter->address_max == UINT64_MAX &&
           filter->lifetime_max == UINT64_MAX && !filter->times && !filter->alive_count && !filter->flags_all &&
           !filter->flags_none && !filter->freed_only && !filter->never_freed_only && !filter->not_own_thread_only &&
           !filter->free_stacks.words && !filter->streams.words && !hs_filter__needs_chain(filter) && !filter->accept &&
           !filter->where && !filter->detail_given;
}

struct hs_filter hs_filter__without_states(const struct hs_filter *filter)
{
    struct hs_filter rest = *filter;
    rest.size_min = 0;
    rest.size_max = UINT64_MAX;
    rest.kinds = (1u << HS_KIND_COUNT) - 1;
    rest.flags_all = rest.flags_none = 0;
    rest.freed_only = rest.never_freed_only = false;
    return rest;
}

bool hs_filter__matches_state(const struct hs_filter *filter, unsigned state, bool freed)
{
    const uint8_t kind = hs_row__kind_of_state(state), flags = hs_row__flags_of_state(state);
    return filter->kinds >> kind & 1 && filter->domains >> hs_kind_domain(kind) & 1 &&
           (flags & filter->flags_all) == filter->flags_all && !(flags & filter->flags_none) &&
           !(freed ? filter->never_freed_only : filter->freed_only);
}

static bool matches_chain(const struct hs_filter *filter, const struct hs_store *store, uint64_t row)
{
    const struct hs_columns *columns = hs_store__columns(store);
    size_t count;
    const struct hs_chain *chains = hs_store__chains(store, &count);
    const struct hs_chain_link *link = hs_row__link(columns, row);
    // A block outside of any chain is a chain of its own.
    struct hs_chain chain = {.length = 1,
                             .first_size = hs_row__size(columns, row),
                             .last_size = hs_row__size(columns, row),
                             .first_time = hs_row__time(columns, row),
                             .free_time = hs_row__free_time(columns, row)};
    if (link && link->chain < count)
        chain = chains[link->chain];
    uint64_t end = chain.free_time == HS_NEVER ? hs_store__summary(store)->end_time : chain.free_time;
    return within(chain.length, filter->chain_length_min, filter->chain_length_max) &&
           within(link ? link->position : 0, filter->position_min, filter->position_max) &&
           within(chain.first_size, filter->first_size_min, filter->first_size_max) &&
           within(chain.last_size, filter->last_size_min, filter->last_size_max) &&
           within(end - chain.first_time, filter->chain_lifetime_min, filter->chain_lifetime_max) &&
           (!filter->chain_never_freed_only || chain.free_time == HS_NEVER);
}

// Whether one of the filter's times lies within [first, last].
static bool times_overlap(const struct hs_filter *filter, uint64_t first, uint64_t last)
{
    size_t low = HS_SEARCH(filter->time_count, i,
                           filter->times[i].last < first); // the first range that does not end before `first`
    return low < filter->time_count && filter->times[low].first <= last;
}

bool hs_filter__has_time(const struct hs_filter *filter, uint64_t time)
{
    return !filter->times || times_overlap(filter, time, time);
}

static bool matches_end(const struct hs_filter *filter, const struct hs_columns *columns, uint64_t end_time,
                        uint64_t row)
{
    uint64_t time = hs_row__time(columns, row), free_time = hs_row__free_time(columns, row);
    if (!within(free_time, filter->free_min, filter->free_max))
        return false;
    for (unsigned i = 0; i < filter->alive_count; i++)
        if (time > filter->alive_at[i] || free_time <= filter->alive_at[i])
            return false;
    if (free_time == HS_NEVER ? filter->freed_only : filter->never_freed_only)
        return false;
    uint64_t end = free_time == HS_NEVER ? end_time : free_time;
    if (free_time == HS_NEVER && filter->unfreed_live_forever)
        return filter->lifetime_max == UINT64_MAX;
    return within(end > time ? end - time : 0, filter->lifetime_min, filter->lifetime_max);
}

static bool matches_sets(const struct hs_filter *filter, const struct hs_columns *columns, uint64_t row)
{
    if (filter->stacks.words && !hs_set__has(&filter->stacks, hs_row__stack(columns, row)))
        return false;
    if (filter->free_stacks.words && !hs_set__has(&filter->free_stacks, hs_row__free_stack(columns, row)))
        return false;
    if (filter->streams.words && !hs_set__has(&filter->streams, hs_row__stream(columns, row)))
        return false;
    return !filter->not_own_thread_only || hs_row__stream(columns, row) != hs_row__free_stream(columns, row);
}

bool hs_filter__matches_row(const struct hs_filter *filter, const struct hs_store *store, uint64_t row)
{
    const struct hs_columns *columns = hs_store__columns(store);
    if (!hs_filter__has_time(filter, hs_row__time(columns, row)))
        return false;
    if (filter->detail_given && hs_row__detail(columns, row) != filter->detail)
        return false;
    if (hs_filter__needs_chain(filter) && !matches_chain(filter, store, row))
        return false;
    return !filter->accept || filter->accept(filter->context, store, row);
}

static bool matches_node(const struct hs_filter_node *nodes, uint32_t number, const struct hs_store *store,
                         uint64_t row)
{
    const struct hs_filter_node *node = &nodes[number];
    switch (node->join) {
    case HS_FILTER_IS:
        return hs_filter__matches(node->filter, store, row);
    case HS_FILTER_NOT:
        return !matches_node(nodes, node->left, store, row);
    case HS_FILTER_AND:
        return matches_node(nodes, node->left, store, row) && matches_node(nodes, node->right, store, row);
    default:
        return matches_node(nodes, node->left, store, row) || matches_node(nodes, node->right, store, row);
    }
}

bool hs_filter__matches(const struct hs_filter *filter, const struct hs_store *store, uint64_t row)
{
    const struct hs_columns *columns = hs_store__columns(store);
    uint8_t kind = hs_row__kind(columns, row), flags = hs_row__flags(columns, row);
    if (!(filter->kinds >> kind & 1) || !(filter->domains >> hs_kind_domain(kind) & 1) ||
        (flags & filter->flags_all) != filter->flags_all || flags & filter->flags_none ||
        !within(hs_row__time(columns, row), filter->time_min, filter->time_max) ||
        !within(hs_row__size(columns, row), filter->size_min, filter->size_max) ||
        !within(hs_row__address(columns, row), filter->address_min, filter->address_max))
        return false;
    if (!matches_end(filter, columns, hs_store__summary(store)->end_time, row) || !matches_sets(filter, columns, row))
        return false;
    return hs_filter__matches_row(filter, store, row) &&
           (!filter->where || matches_node(filter->where, filter->where_count - 1, store, row));
}

static bool overlap(uint64_t least, uint64_t most, uint64_t from, uint64_t to)
{
    return least <= to && most >= from;
}

// Any stack of [least, most] in the set?
static bool set_overlaps(const struct hs_set *set, uint32_t least, uint32_t most)
{
    if (!set->words)
        return true;
    for (uint64_t n = least; n <= most && n < set->count;) {
        if (n % 64 == 0 && !set->words[n / 64]) {
            n += 64;
            continue;
        }
        if (hs_set__has(set, n))
            return true;
        n++;
    }
    return false;
}

static bool node_may_match(const struct hs_filter_node *nodes, uint32_t number, const struct hs_zone *zone,
                           uint64_t end_time)
{
    const struct hs_filter_node *node = &nodes[number];
    switch (node->join) {
    case HS_FILTER_IS:
        return hs_filter__zone_may_match(node->filter, zone, end_time);
    case HS_FILTER_NOT:
        return true;
    case HS_FILTER_AND:
        return node_may_match(nodes, node->left, zone, end_time) && node_may_match(nodes, node->right, zone, end_time);
    default:
        return node_may_match(nodes, node->left, zone, end_time) || node_may_match(nodes, node->right, zone, end_time);
    }
}

bool hs_filter__zone_may_match(const struct hs_filter *filter, const struct hs_zone *zone, uint64_t end_time)
{
    uint32_t domains = 0;
    for (unsigned kind = 0; kind < HS_KIND_COUNT; kind++)
        if (zone->kinds & filter->kinds & 1u << kind)
            domains |= 1u << hs_kind_domain((uint8_t)kind);
    if (!(domains & filter->domains) || (zone->flags & filter->flags_all) != filter->flags_all ||
        !overlap(zone->time_min, zone->time_max, filter->time_min, filter->time_max) ||
        !overlap(zone->free_min, zone->free_max, filter->free_min, filter->free_max) ||
        !overlap(zone->size_min, zone->size_max, filter->size_min, filter->size_max) ||
        !overlap(zone->address_min, zone->address_max, filter->address_min, filter->address_max))
        return false;
    for (unsigned i = 0; i < filter->alive_count; i++)
        if (zone->time_min > filter->alive_at[i] || zone->free_max <= filter->alive_at[i])
            return false;
    if ((filter->never_freed_only && zone->free_max != HS_NEVER) || (filter->freed_only && zone->free_min == HS_NEVER))
        return false;
    // Lifetimes of the zone, with what was never freed living until the end.
    uint64_t longest = zone->lifetime_max, shortest = zone->lifetime_min;
    if (filter->times && !times_overlap(filter, zone->time_min, zone->time_max))
        return false;
    if (zone->free_max == HS_NEVER && filter->unfreed_live_forever)
        longest = UINT64_MAX;
    else if (zone->free_max == HS_NEVER) {
        longest = end_time - zone->time_min > longest ? end_time - zone->time_min : longest;
        shortest = end_time - zone->time_max < shortest ? end_time - zone->time_max : shortest;
    }
    return overlap(shortest, longest, filter->lifetime_min, filter->lifetime_max) &&
           set_overlaps(&filter->stacks, zone->stack_min, zone->stack_max) &&
           (!filter->where || node_may_match(filter->where, filter->where_count - 1, zone, end_time));
}
