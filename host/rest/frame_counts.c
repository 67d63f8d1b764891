// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/frame_counts.h"

#include "host/base/array.h"
#include "host/base/hash_index.h"
#include "host/query/stack_totals_make.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

struct frame_counts_address {
    uint64_t pc, passing;
    uint32_t on_path; // how often on the way to the current node
};

struct hs_frame_counts {
    struct frame_counts_address *address;
    size_t count, room;
    struct hs_hash_index index;
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

struct frame_counts_key {
    const struct hs_frame_counts *counts;
    uint64_t pc;
};

static bool is_wanted(const void *key, uint32_t number)
{
    const struct frame_counts_key *wanted = key;
    return wanted->counts->address[number].pc == wanted->pc;
}

static struct frame_counts_address *find_address(const struct hs_frame_counts *counts, uint64_t pc)
{
    const struct frame_counts_key wanted = {counts, pc};
    const uint32_t number = hs_hash_index__find(&counts->index, hs_hash__pair(pc, 0), is_wanted, &wanted);
    return number == HS_HASH_NONE ? NULL : &counts->address[number];
}

// NULL: out of memory.
static struct frame_counts_address *add_address(struct hs_frame_counts *counts, uint64_t pc)
{
    if (!HS_ARRAY_HAS_ROOM(counts->address, counts->count, counts->room) ||
        hs_hash_index__add(&counts->index, hs_hash__pair(pc, 0), (uint32_t)counts->count))
        return NULL;
    counts->address[counts->count] = (struct frame_counts_address){.pc = pc};
    return &counts->address[counts->count++];
}

uint64_t hs_frame_counts__of(const struct hs_frame_counts *counts, uint64_t pc)
{
    const struct frame_counts_address *address = find_address(counts, pc);
    return address ? address->passing : 0;
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
    const uint64_t pc = counting->nodes[node].pc;
    struct frame_counts_address *address = find_address(counting->counts, pc);
    if (!address)
        address = add_address(counting->counts, pc);
    if (!address)
        return -ENOMEM;
    if (!address->on_path++)
        address->passing += counting->below[node];
    return 0;
}

// Leaves a node, and each parent of which it was the last child. Returns the next node to enter; 0: none.
static uint32_t leave(struct frame_counts_counting *counting, uint32_t node)
{
    uint32_t next = 0;
    while (node && !next) {
        find_address(counting->counts, counting->nodes[node].pc)->on_path--;
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
    int failed = complete ? 0 : hs_error__set(error, ENOMEM, "out of memory");
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
    hs_hash_index__free(&counts->index);
    free(counts);
}
