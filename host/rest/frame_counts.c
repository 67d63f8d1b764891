// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/frame_counts.h"

#include "host/query/totals_table.h"

#include <errno.h>
#include <stdlib.h>

struct address {
    uint64_t pc, passing;
    uint32_t on_path; // how often on the way to the node at hand
};

struct hs_frame_counts {
    struct address *address;
    size_t count, room;
    uint32_t *slot; // number of an address + 1
    size_t slots;   // a power of two
};

struct counting {
    struct hs_frame_counts *counts;
    const struct hs_node *nodes;
    size_t count;
    uint64_t *below; // by node: allocations whose stack has it
    // The way from the root to the node at hand, and the addresses on it.
    uint32_t *path, *path_address;
    size_t depth, path_room;
    // Nodes that are to be put on it, the innermost first.
    uint32_t *missing;
    size_t missing_count, missing_room;
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
    struct address *address = slot ? reallocarray(counts->address, slots / 2, sizeof(*address)) : NULL;
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

static int number_address(struct hs_frame_counts *counts, uint64_t pc, uint32_t *number)
{
    uint32_t *slot = slot_of(counts, pc);
    if (!*slot && counts->count == counts->room) {
        int failed = grow_slots(counts);
        if (failed)
            return failed;
        slot = slot_of(counts, pc);
    }
    if (!*slot) {
        counts->address[counts->count] = (struct address){.pc = pc};
        *slot = (uint32_t)++counts->count;
    }
    *number = *slot - 1;
    return 0;
}

uint64_t hs_frame_counts__of(const struct hs_frame_counts *counts, uint64_t pc)
{
    const uint32_t number = *slot_of(counts, pc);
    return number ? counts->address[number - 1].passing : 0;
}

// ---- the way to a node ----------------------------------------------------------------------------------------------

static uint32_t parent_of(const struct counting *counting, uint32_t node)
{
    const uint32_t parent = counting->nodes[node].parent;
    return parent < node ? parent : 0;
}

static int make_room(uint32_t **memory, size_t room)
{
    uint32_t *grown = reallocarray(*memory, room, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    *memory = grown;
    return 0;
}

static int push(struct counting *counting, uint32_t node)
{
    uint32_t number;
    if (counting->depth == counting->path_room) {
        const size_t room = 2 * counting->path_room + 256;
        if (make_room(&counting->path, room) || make_room(&counting->path_address, room))
            return -ENOMEM;
        counting->path_room = room;
    }
    int failed = number_address(counting->counts, counting->nodes[node].pc, &number);
    if (failed)
        return failed;
    counting->path[counting->depth] = node;
    counting->path_address[counting->depth++] = number;
    counting->counts->address[number].on_path++;
    return 0;
}

static void pop(struct counting *counting)
{
    counting->counts->address[counting->path_address[--counting->depth]].on_path--;
}

static int add_missing(struct counting *counting, uint32_t node)
{
    if (counting->missing_count == counting->missing_room) {
        const size_t room = 2 * counting->missing_room + 256;
        if (make_room(&counting->missing, room))
            return -ENOMEM;
        counting->missing_room = room;
    }
    counting->missing[counting->missing_count++] = node;
    return 0;
}

// Nodes follow each other as stacks came up: the way from one to the next is short. Parents have smaller numbers, so
// whichever of two nodes has the larger one is not on the way to the other.
static int go_to(struct counting *counting, uint32_t node)
{
    int failed = 0;
    counting->missing_count = 0;
    for (uint32_t at = node; !failed;) {
        const uint32_t end = counting->depth ? counting->path[counting->depth - 1] : 0;
        if (end == at)
            break;
        if (end > at) {
            pop(counting);
            continue;
        }
        failed = add_missing(counting, at);
        at = parent_of(counting, at);
    }
    while (counting->missing_count && !failed)
        failed = push(counting, counting->missing[--counting->missing_count]);
    return failed;
}

static int count_nodes(struct counting *counting)
{
    int failed = 0;
    for (uint32_t node = 1; node < counting->count && !failed; node++) {
        failed = go_to(counting, node);
        if (failed)
            break;
        struct address *address = &counting->counts->address[counting->path_address[counting->depth - 1]];
        if (address->on_path == 1)
            address->passing += counting->below[node];
    }
    return failed;
}

// ---- all ------------------------------------------------------------------------------------------------------------

static int take_stack(void *context, uint32_t stack, uint64_t bytes, uint64_t count)
{
    struct counting *counting = context;
    (void)bytes;
    if (stack < counting->count)
        counting->below[stack] = count;
    return 0;
}

static int add_up(struct counting *counting, const struct hs_store *store, struct hs_error *error)
{
    int result =
        hs_query__each_stack(store, HS_TOTAL_ALLOCATED_BYTES, HS_TOTAL_ALLOCATED_COUNT, take_stack, counting, error);
    for (uint32_t node = (uint32_t)counting->count; !result && node-- > 1;)
        counting->below[parent_of(counting, node)] += counting->below[node];
    return result;
}

int hs_frame_counts__make(const struct hs_store *store, struct hs_frame_counts **result, struct hs_error *error)
{
    struct counting counting = {.counts = calloc(1, sizeof(*counting.counts))};
    counting.nodes = hs_store__nodes(store, &counting.count);
    counting.below = calloc(counting.count + 1, sizeof(*counting.below));
    *result = NULL;
    int failed = counting.counts && counting.below && !grow_slots(counting.counts) ? 0 : -ENOMEM;
    if (failed)
        hs_error__set(error, ENOMEM, "out of memory");
    else
        failed = add_up(&counting, store, error);
    if (!failed && count_nodes(&counting))
        failed = hs_error__set(error, ENOMEM, "out of memory");
    free(counting.below);
    free(counting.path);
    free(counting.path_address);
    free(counting.missing);
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
