// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/function_costs.h"

#include "host/base/array.h"
#include "host/base/hash_index.h"

#include <errno.h>
#include <stdlib.h>

// Where a frame of a node of the table of nodes leads to: `node` is that of the function tree for what is further out.
struct function_costs_step {
    uint32_t at;
    int32_t frame; // those below this number are still to come
    uint32_t node;
    struct hs_value value;
};

struct function_costs_adding {
    const struct hs_function_tree *tree;
    const struct hs_function_growth *growth;
    struct hs_function_values *values;
    uint32_t *parent;
    struct hs_hash_index index; // nodes by their parent and their function
    struct function_costs_step *step;
    size_t steps, room;
};

// ---- children by their function -------------------------------------------------------------------------------------

struct function_costs_key {
    const struct function_costs_adding *adding;
    uint32_t parent;
    const char *identity;
};

static bool is_wanted(const void *key, uint32_t number)
{
    const struct function_costs_key *wanted = key;
    return wanted->adding->parent[number] == wanted->parent &&
           hs_frame__identity(wanted->adding->tree->at[number].frame) == wanted->identity;
}

static int enter_children(struct function_costs_adding *adding)
{
    int failed = 0;
    for (uint32_t node = 0; node < adding->tree->count && !failed; node++) {
        const struct hs_function_node *parent = &adding->tree->at[node];
        for (uint32_t child = parent->first_child; child < parent->first_child + parent->children && !failed; child++) {
            const char *identity = hs_frame__identity(adding->tree->at[child].frame);
            adding->parent[child] = node;
            failed = hs_hash_index__add(&adding->index, hs_hash__pair((uintptr_t)identity, node), child);
        }
    }
    return failed;
}

// The child of a node for a frame, with what comes there added; 0: the tree does not show it.
static uint32_t go_to(const struct function_costs_adding *adding, uint32_t node, const struct hs_frame *frame,
                      const struct hs_value *value)
{
    const char *identity = hs_frame__identity(frame);
    const struct function_costs_key wanted = {adding, node, identity};
    const uint64_t hash = hs_hash__pair((uintptr_t)identity, node);
    const uint32_t child = hs_hash_index__find(&adding->index, hash, is_wanted, &wanted);
    if (child == HS_HASH_NONE)
        return 0;
    hs_value__add(&adding->values[child].all, value);
    return child;
}

// ---- outwards -------------------------------------------------------------------------------------------------------

static void add_outwards(const struct function_costs_adding *adding, const struct hs_function_start *start)
{
    const struct hs_frame_table *table = &adding->growth->table;
    struct hs_function_start member = *start;
    uint32_t node = 0;
    hs_value__add(&adding->values[0].all, &member.value);
    for (;;) {
        hs_function_start__move_outwards(table, &member);
        if (!member.at) {
            hs_value__add(&adding->values[node].self, &member.value);
            return;
        }
        const struct hs_frames *frames = hs_frame_table__of_place(table, member.group);
        node = go_to(adding, node, &frames->frame[member.frame], &member.value);
        if (!node)
            return;
    }
}

// ---- inwards --------------------------------------------------------------------------------------------------------

static int push(struct function_costs_adding *adding, struct function_costs_step step)
{
    if (!HS_ARRAY_HAS_ROOM(adding->step, adding->steps, adding->room))
        return -ENOMEM;
    adding->step[adding->steps++] = step;
    return 0;
}

static int add_step(struct function_costs_adding *adding, struct function_costs_step step)
{
    const struct hs_node_tree *nodes = adding->growth->nodes;
    if (step.frame > 0) {
        const struct hs_frames *frames = hs_frame_table__node(&adding->growth->table, nodes->paths.at[step.at].place);
        while (step.frame > 0) {
            step.node = go_to(adding, step.node, &frames->frame[--step.frame], &step.value);
            if (!step.node)
                return 0;
        }
    }
    const struct hs_value own = hs_paths__own(&nodes->paths, step.at);
    hs_value__add(&adding->values[step.node].self, &own);
    int failed = 0;
    for (uint32_t child = nodes->paths.at[step.at].child; child && !failed; child = nodes->paths.at[child].sibling) {
        const struct hs_frames *frames = hs_frame_table__node(&adding->growth->table, nodes->paths.at[child].place);
        failed = push(adding, (struct function_costs_step){.at = child,
                                                           .frame = (int32_t)frames->count,
                                                           .node = step.node,
                                                           .value = nodes->paths.at[child].value});
    }
    return failed;
}

static bool is_cancelled(const struct function_costs_adding *adding)
{
    return adding->growth->cancel && __atomic_load_n(adding->growth->cancel, __ATOMIC_RELAXED);
}

static int add_inwards(struct function_costs_adding *adding, const struct hs_function_start *start)
{
    hs_value__add(&adding->values[0].all, &start->value);
    int failed = push(adding, (struct function_costs_step){start->at, start->frame, 0, start->value});
    while (adding->steps && !failed)
        failed = is_cancelled(adding) ? -ECANCELED : add_step(adding, adding->step[--adding->steps]);
    return failed;
}

// ---- all of it ------------------------------------------------------------------------------------------------------

static int add_starts(struct function_costs_adding *adding, const struct hs_function_start *starts, size_t count)
{
    int failed = 0;
    for (size_t i = 0; i < count && !failed; i++) {
        if (adding->growth->nodes)
            failed = add_inwards(adding, &starts[i]);
        else if (is_cancelled(adding))
            failed = -ECANCELED;
        else
            add_outwards(adding, &starts[i]);
    }
    return failed;
}

int hs_function_values__make(struct hs_function_values **values, const struct hs_function_tree *tree,
                             const struct hs_function_growth *growth, const struct hs_function_start *starts,
                             size_t count)
{
    struct function_costs_adding adding = {.tree = tree, .growth = growth};
    adding.parent = calloc(tree->count, sizeof(*adding.parent));
    *values = adding.values = calloc(tree->count, sizeof(*adding.values));
    int failed = adding.parent && adding.values ? 0 : -ENOMEM;
    if (!failed)
        failed = enter_children(&adding);
    if (!failed)
        failed = add_starts(&adding, starts, count);
    hs_hash_index__free(&adding.index);
    free(adding.parent);
    free(adding.step);
    return failed;
}

struct hs_function_values hs_function_costs__of(const struct hs_function_costs *costs, unsigned number,
                                                const struct hs_function_tree *tree, uint32_t node)
{
    if (costs->values[number])
        return costs->values[number][node];
    return (struct hs_function_values){tree->at[node].all, tree->at[node].self};
}

void hs_function_costs__free(struct hs_function_costs *costs)
{
    for (unsigned i = 0; i < HS_COST_COUNT; i++)
        free(costs->values[i]);
}
