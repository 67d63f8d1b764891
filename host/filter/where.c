// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/filter/where.h"

#include "host/base/numbers.h"
#include "host/query/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// The translation of a node of the expression: a set of stacks, or a node of the filter's `where`.
struct joined {
    uint64_t *stacks; // NULL: it is a node
    uint32_t node;
};

struct joining {
    const struct hs_logic *logic;
    struct hs_resolved_filter *resolved;
    size_t stacks, words;
    uint64_t *set;               // room for as many as there are parts
    struct hs_filter *of_stacks; // filters that ask for sets, likewise
    struct hs_filter_node *node; // of the filter
    uint32_t sets, filters, nodes;
    bool has_root; // some part of it could not be put into the filter itself
    uint32_t root;
};

// ---- nodes ---------------------------------------------------------------------------------------------------------

static bool is_of_stacks(const struct hs_resolved_filter *part)
{
    return part->nothing || hs_filter__asks_only_stacks(&part->filter);
}

static uint64_t *copy_set(struct joining *joining, const struct hs_resolved_filter *part)
{
    uint64_t *set = joining->set + joining->words * joining->sets++;
    if (part->nothing)
        memset(set, 0, joining->words * sizeof(*set));
    else if (part->filter.stacks.words)
        memcpy(set, part->filter.stacks.words, joining->words * sizeof(*set));
    else
        memset(set, 0xff, joining->words * sizeof(*set));
    return set;
}

static uint32_t add_node(struct joining *joining, struct hs_filter_node node)
{
    joining->node[joining->nodes] = node;
    return joining->nodes++;
}

static uint32_t as_node(struct joining *joining, struct joined joined)
{
    if (!joined.stacks)
        return joined.node;
    struct hs_filter *filter = &joining->of_stacks[joining->filters++];
    hs_filter__init(filter);
    filter->domains = HS_FILTER_HEAP | HS_FILTER_POOL | HS_FILTER_MAP;
    filter->stacks = (struct hs_set){joined.stacks, joining->stacks};
    return add_node(joining, (struct hs_filter_node){.join = HS_FILTER_IS, .filter = filter});
}

static struct joined join_part(struct joining *joining, const struct hs_resolved_filter *part)
{
    if (is_of_stacks(part))
        return (struct joined){.stacks = copy_set(joining, part)};
    const struct hs_filter_node node = {.join = HS_FILTER_IS, .filter = &part->filter};
    return (struct joined){.node = add_node(joining, node)};
}

static struct joined negate(struct joining *joining, struct joined inner)
{
    for (size_t i = 0; inner.stacks && i < joining->words; i++)
        inner.stacks[i] = ~inner.stacks[i];
    if (!inner.stacks)
        inner.node = add_node(joining, (struct hs_filter_node){.join = HS_FILTER_NOT, .left = inner.node});
    return inner;
}

// The set of the left side becomes that of both.
static struct joined join_both(struct joining *joining, bool both, struct joined left, struct joined right)
{
    if (!left.stacks || !right.stacks) {
        struct hs_filter_node node = {.join = both ? HS_FILTER_AND : HS_FILTER_OR};
        node.left = as_node(joining, left);
        node.right = as_node(joining, right);
        return (struct joined){.node = add_node(joining, node)};
    }
    for (size_t i = 0; i < joining->words; i++)
        left.stacks[i] = both ? left.stacks[i] & right.stacks[i] : left.stacks[i] | right.stacks[i];
    return left;
}

static struct joined join(struct joining *joining, uint32_t number)
{
    const struct hs_logic_node *node = &joining->logic->node[number];
    if (node->join == HS_LOGIC_PART)
        return join_part(joining, &joining->resolved->part[node->left]);
    const struct joined left = join(joining, node->left);
    if (node->join == HS_LOGIC_NOT)
        return negate(joining, left);
    return join_both(joining, node->join == HS_LOGIC_AND, left, join(joining, node->right));
}

// ---- what the filter itself can ask --------------------------------------------------------------------------------

static void narrow_stacks(struct joining *joining, const uint64_t *stacks)
{
    struct hs_set *set = &joining->resolved->filter.stacks;
    uint64_t *words = joining->set + joining->words * joining->sets++;
    for (size_t i = 0; i < joining->words; i++)
        words[i] = stacks[i] & (set->words ? set->words[i] : UINT64_MAX);
    *set = (struct hs_set){words, joining->stacks};
}

// Whether the part asks for nothing but ranges and stacks.
static bool is_simple(const struct hs_filter *part, const struct hs_filter *outer)
{
    struct hs_filter rest = hs_filter__without_states(part);
    rest.kinds = part->kinds;
    rest.flags_all = part->flags_all;
    rest.flags_none = part->flags_none;
    rest.time_min = rest.free_min = rest.address_min = 0;
    rest.time_max = rest.free_max = rest.address_max = UINT64_MAX;
    if (part->unfreed_live_forever == outer->unfreed_live_forever) {
        rest.lifetime_min = 0;
        rest.lifetime_max = UINT64_MAX;
    }
    return hs_filter__asks_only_stacks(&rest);
}

static void narrow(struct joining *joining, const struct hs_filter *part)
{
    struct hs_filter *filter = &joining->resolved->filter;
    hs_number__raise(&filter->time_min, part->time_min);
    hs_number__lower(&filter->time_max, part->time_max);
    hs_number__raise(&filter->free_min, part->free_min);
    hs_number__lower(&filter->free_max, part->free_max);
    hs_number__raise(&filter->size_min, part->size_min);
    hs_number__lower(&filter->size_max, part->size_max);
    hs_number__raise(&filter->address_min, part->address_min);
    hs_number__lower(&filter->address_max, part->address_max);
    hs_number__raise(&filter->lifetime_min, part->lifetime_min);
    hs_number__lower(&filter->lifetime_max, part->lifetime_max);
    filter->freed_only |= part->freed_only;
    filter->never_freed_only |= part->never_freed_only;
    if (part->stacks.words)
        narrow_stacks(joining, part->stacks.words);
}

// Conditions that hold for the whole expression are moved to the filter itself, as far as possible.
static void require(struct joining *joining, uint32_t number)
{
    const struct hs_logic_node *node = &joining->logic->node[number];
    const struct hs_resolved_filter *part = node->join == HS_LOGIC_PART ? &joining->resolved->part[node->left] : NULL;
    if (node->join == HS_LOGIC_AND) {
        require(joining, node->left);
        require(joining, node->right);
        return;
    }
    if (part && !part->nothing && is_simple(&part->filter, &joining->resolved->filter)) {
        narrow(joining, &part->filter);
        return;
    }
    struct joined joined = join(joining, number);
    if (joined.stacks) {
        narrow_stacks(joining, joined.stacks);
        return;
    }
    if (joining->has_root)
        joined = join_both(joining, true, (struct joined){.node = joining->root}, joined);
    joining->has_root = true;
    joining->root = joined.node;
}

// ---- all of it -----------------------------------------------------------------------------------------------------

static void *keep(struct joining *joining, void *memory)
{
    struct hs_resolved_filter *resolved = joining->resolved;
    resolved->memory[resolved->memory_count++] = memory;
    return memory;
}

int hs_where__join(const struct hs_logic *logic, const struct hs_store *store, struct hs_resolved_filter *resolved)
{
    struct joining joining = {.logic = logic, .resolved = resolved};
    const size_t parts = resolved->parts;
    hs_store__nodes(store, &joining.stacks);
    joining.stacks += !joining.stacks;
    joining.words = joining.stacks / 64 + 1;
    // A part has a set of its own, and may narrow the filter's.
    joining.set = keep(&joining, malloc(2 * parts * joining.words * sizeof(*joining.set)));
    joining.of_stacks = keep(&joining, calloc(parts, sizeof(*joining.of_stacks)));
    // Parts that are sets, the logic, and what joins what has to hold.
    joining.node = keep(&joining, calloc(2 * parts + logic->count, sizeof(*joining.node)));
    if (!joining.set || !joining.of_stacks || !joining.node)
        return -ENOMEM;
    require(&joining, logic->count - 1);
    if (!joining.has_root)
        return 0;
    resolved->filter.where = joining.node;
    resolved->filter.where_count = joining.root + 1;
    return 0;
}
