// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/frame_counts.h"

#include "host/query/query.h"

#include <errno.h>
#include <stdlib.h>

struct counting {
    const struct hs_node *nodes;
    size_t count;
    uint64_t *below;   // by node: allocations whose stack has it
    uint32_t *place;   // by node: of its return address among all
    uint64_t *passing; // by place
    uint32_t *on_path; // by place: how often on the way to the node at hand
    uint32_t *first;   // by node: child
    uint32_t *sibling; // by node
    uint32_t *order;   // for sorting
};

static int compare(const void *left, const void *right, void *context)
{
    const struct hs_node *nodes = context;
    uint64_t a = nodes[*(const uint32_t *)left].pc, b = nodes[*(const uint32_t *)right].pc;
    return (a > b) - (a < b);
}

static uint32_t parent_of(const struct counting *counting, uint32_t node)
{
    uint32_t parent = counting->nodes[node].parent;
    return parent < node ? parent : 0;
}

static int add_up(struct counting *counting, const struct hs_store *store, struct hs_error *error)
{
    struct hs_totals totals;
    int result = hs_query__totals(store, NULL, NULL, &totals, error);
    if (result)
        return result;
    for (size_t i = 0; i < totals.count; i++)
        if (totals.total[i].stack < counting->count)
            counting->below[totals.total[i].stack] = totals.total[i].allocated_count;
    hs_totals__free(&totals);
    for (uint32_t node = (uint32_t)counting->count; node-- > 1;)
        counting->below[parent_of(counting, node)] += counting->below[node];
    return 0;
}

static void number_addresses(struct counting *counting)
{
    for (uint32_t i = 0; i < counting->count; i++)
        counting->order[i] = i;
    qsort_r(counting->order, counting->count, sizeof(*counting->order), compare, (void *)(uintptr_t)counting->nodes);
    uint32_t place = 0;
    for (size_t i = 0; i < counting->count; i++) {
        if (i && counting->nodes[counting->order[i]].pc != counting->nodes[counting->order[i - 1]].pc)
            place++;
        counting->place[counting->order[i]] = place;
    }
}

static void link_children(struct counting *counting)
{
    for (uint32_t node = (uint32_t)counting->count; node-- > 1;) {
        uint32_t parent = parent_of(counting, node);
        counting->sibling[node] = counting->first[parent];
        counting->first[parent] = node;
    }
}

static void enter(struct counting *counting, uint32_t node)
{
    uint32_t place = counting->place[node];
    if (!counting->on_path[place]++)
        counting->passing[place] += counting->below[node];
}

// Depth first, without a stack of its own: a node knows its parent.
static void walk(struct counting *counting)
{
    uint32_t node = counting->first[0];
    if (node)
        enter(counting, node);
    while (node) {
        uint32_t next = counting->first[node];
        while (node && !next) {
            counting->on_path[counting->place[node]]--;
            next = counting->sibling[node];
            node = parent_of(counting, node);
        }
        if (!next)
            break;
        node = next;
        enter(counting, node);
    }
}

static void *array(const struct counting *counting, size_t element)
{
    return calloc(counting->count + 1, element);
}

int hs_frame_counts__make(const struct hs_store *store, uint64_t **counts, struct hs_error *error)
{
    struct counting counting = {0};
    counting.nodes = hs_store__nodes(store, &counting.count);
    counting.below = array(&counting, sizeof(uint64_t));
    counting.passing = array(&counting, sizeof(uint64_t));
    counting.place = array(&counting, sizeof(uint32_t));
    counting.on_path = array(&counting, sizeof(uint32_t));
    counting.first = array(&counting, sizeof(uint32_t));
    counting.sibling = array(&counting, sizeof(uint32_t));
    counting.order = array(&counting, sizeof(uint32_t));
    bool complete = counting.below && counting.passing && counting.place && counting.on_path && counting.first &&
                    counting.sibling && counting.order;
    int result = complete ? add_up(&counting, store, error) : hs_error__set(error, ENOMEM, "out of memory");
    if (!result && counting.count) {
        number_addresses(&counting);
        link_children(&counting);
        walk(&counting);
        for (size_t i = 0; i < counting.count; i++)
            counting.below[i] = counting.passing[counting.place[i]];
    }
    *counts = result ? NULL : counting.below;
    free(result ? counting.below : NULL);
    free(counting.passing);
    free(counting.place);
    free(counting.on_path);
    free(counting.first);
    free(counting.sibling);
    free(counting.order);
    return result;
}
