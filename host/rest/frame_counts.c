// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/frame_counts.h"

#include "host/query/stack_totals_column.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

struct frame_counts_address {
    uint64_t pc, passing;
    uint32_t on_path; // how often on the way to the node at hand
};

struct hs_frame_counts {
    struct frame_counts_address *address;
    size_t count, room;
    uint32_t *slot; // number of an address + 1
    size_t slots;   // a power of two
};

struct frame_counts_counting {
    struct hs_frame_counts *counts;
    const struct hs_node *nodes;
    size_t count;
    uint64_t *below;           // by node: number of allocations whose stacks contain it
    uint32_t *first, *sibling; // by node: child, the next child of the same parent; 0: none
    const int *cancel;
};

// ---- addresses ------------------------------------------------------------------------------------------------------

static uint32_t *slot_of(const struct hs_frame_counts *counts, uint64_t pc)
{
    size_t i = (size_t)((pc * 0x9e3779b97f4a7c15u) >> 32) & (counts->slots - 1);
    while (counts->slot[i] && counts->address[counts->slot[i] - 1].pc != pc)
        i = (i + 1) & (counts->slots - 1);
    return &counts->slot[i];
}

static int grow_slots(struct hs_frame_counts *counts)
{
    const size_t slots = counts->slots ? 2 * counts->slots : 4096;
    uint32_t *slot = calloc(slots, sizeof(*slot));
    struct frame_counts_address *address = slot ? reallocarray(counts->address, slots / 2, sizeof(*address)) : NULL;
    if (!address) {
        free(slot);
        return -ENOMEM;
    }
    free(counts->slot);
    counts->slot = slot;
    counts->slots = slots;
    counts->address = address;
    counts->room = slots / 2;
    for (size_t i = 0; i < counts->count; i++)
        *slot_of(counts, address[i].pc) = (uint32_t)i + 1;
    return 0;
}

static int find_address(struct hs_frame_counts *counts, uint64_t pc, struct frame_counts_address **address)
{
    uint32_t *slot = slot_of(counts, pc);
    if (!*slot && counts->count == counts->room) {
        int failed = grow_slots(counts);
        if (failed)
            return failed;
        slot = slot_of(counts, pc);
    }
    if (!*slot) {
        counts->address[counts->count] = (struct frame_counts_address){.pc = pc};
        *slot = (uint32_t)++counts->count;
    }
    *address = &counts->address[*slot - 1];
    return 0;
}

uint64_t hs_frame_counts__of(const struct hs_frame_counts *counts, uint64_t pc)
{
    const uint32_t number = *slot_of(counts, pc);
    return number ? counts->address[number - 1].passing : 0;
}

// ---- all nodes ------------------------------------------------------------------------------------------------------

static uint32_t parent_of(const struct frame_counts_counting *counting, uint32_t node)
{
    const uint32_t parent = counting->nodes[node].parent;
    return parent < node ? parent : 0;
}

static void link_children(struct frame_counts_counting *counting)
{
    for (uint32_t node = (uint32_t)counting->count; node-- > 1;) {
        const uint32_t parent = parent_of(counting, node);
        counting->sibling[node] = counting->first[parent];
        counting->first[parent] = node;
    }
}

static int enter(struct frame_counts_counting *counting, uint32_t node)
{
    struct frame_counts_address *address;
    int failed = find_address(counting->counts, counting->nodes[node].pc, &address);
    if (!failed && !address->on_path++)
        address->passing += counting->below[node];
    return failed;
}

// Leaves a node, and those above it of which this was the last child. Returns the next node to enter; 0: none.
static uint32_t leave(struct frame_counts_counting *counting, uint32_t node)
{
    uint32_t next = 0;
    while (node && !next) {
        counting->counts->address[*slot_of(counting->counts, counting->nodes[node].pc) - 1].on_path--;
        next = counting->sibling[node];
        node = parent_of(counting, node);
    }
    return next;
}

static bool is_cancelled(const struct frame_counts_counting *counting)
{
    return counting->cancel && __atomic_load_n(counting->cancel, __ATOMIC_RELAXED);
}

// Depth first, without a stack of its own: a node knows its parent.
static int count_nodes(struct frame_counts_counting *counting)
{
    enum { NODES_BETWEEN_LOOKS = 65536 };
    int failed = 0;
    size_t seen = 0;
    for (uint32_t node = counting->first[0]; node && !failed;) {
        failed = enter(counting, node);
        if (++seen % NODES_BETWEEN_LOOKS == 0 && is_cancelled(counting))
            failed = -ECANCELED;
        const uint32_t child = counting->first[node];
        node = failed || child ? child : leave(counting, node);
    }
    return failed;
}

// ---- all ------------------------------------------------------------------------------------------------------------

static int take_stack(void *context, uint32_t stack, uint64_t bytes, uint64_t count)
{
    struct frame_counts_counting *counting = context;
    (void)bytes;
    if (stack < counting->count)
        counting->below[stack] = count;
    return 0;
}

static int add_up(struct frame_counts_counting *counting, const struct hs_store *store, struct hs_error *error)
{
    int result =
        hs_query__each_stack(store, HS_TOTAL_ALLOCATED_BYTES, HS_TOTAL_ALLOCATED_COUNT, take_stack, counting, error);
    for (uint32_t node = (uint32_t)counting->count; !result && node-- > 1;)
        counting->below[parent_of(counting, node)] += counting->below[node];
    return result;
}

int hs_frame_counts__make(const struct hs_store *store, const int *cancel, struct hs_frame_counts **result,
                          struct hs_error *error)
{
    struct frame_counts_counting counting = {.counts = calloc(1, sizeof(*counting.counts)), .cancel = cancel};
    counting.nodes = hs_store__nodes(store, &counting.count);
    counting.below = calloc(counting.count + 1, sizeof(*counting.below));
    counting.first = calloc(counting.count + 1, sizeof(*counting.first));
    counting.sibling = calloc(counting.count + 1, sizeof(*counting.sibling));
    *result = NULL;
    bool complete = counting.counts && counting.below && counting.first && counting.sibling;
    int failed = complete && !grow_slots(counting.counts) ? 0 : hs_error__set(error, ENOMEM, "out of memory");
    if (!failed)
        failed = add_up(&counting, store, error);
    if (!failed) {
        link_children(&counting);
        failed = count_nodes(&counting);
        if (failed)
            hs_error__set(error, -failed, "%s", failed == -ECANCELED ? "cancelled" : "out of memory");
    }
    free(counting.below);
    free(counting.first);
    free(counting.sibling);
    if (failed)
        hs_frame_counts__destroy(counting.counts);
    else
        *result = counting.counts;
    return failed;
}

void hs_frame_counts__destroy(struct hs_frame_counts *counts)
{
    if (!counts)
        return;
    free(counts->address);
    free(counts->slot);
    free(counts);
}
