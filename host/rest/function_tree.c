// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/function_tree.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// The frames of a node of the tree are called members, the frames next to them steps. The steps of one function form a
// group. If the group is shown, it becomes a node of the tree, and its steps become the members of that.
struct function_tree_group {
    const struct hs_frame *frame;
    struct hs_value value;
    uint32_t first;
    size_t steps;
    size_t begin, filled; // in the next level's members
    uint32_t shown;       // 0: no
};

struct members {
    struct hs_function_start *member;
    size_t count, room;
};

// The members of a node in this level.
struct function_tree_range {
    uint32_t node;
    size_t begin, end;
};

struct function_tree_ranges {
    struct function_tree_range *range;
    size_t count, room;
};

struct function_tree_growing {
    const struct hs_function_growth *growth;
    struct hs_function_tree *tree;
    uint64_t least;
    struct members now, next;
    struct function_tree_ranges ranges, next_ranges;
    // Of the current node:
    struct hs_value self;
    struct function_tree_group *group;
    size_t groups, room;
    uint32_t *slot; // number of a group + 1, by function
    size_t slots;   // a power of two
    uint32_t *order;
    size_t order_room;
    uint32_t *place; // outwards, by node of the stack table: where it is among the next members, if it is
    int failed;
};

static bool make_room(void **memory, size_t *room, size_t wanted, size_t element)
{
    if (wanted <= *room)
        return true;
    size_t grown = *room * 2 > wanted ? *room * 2 : wanted + 64;
    void *larger = reallocarray(*memory, grown, element);
    if (!larger)
        return false;
    *memory = larger;
    *room = grown;
    return true;
}

#define MAKE_ROOM(growing, memory, room, wanted)                                                                       \
    ((growing)->failed = make_room((void **)&(memory), &(room), wanted, sizeof(*(memory))) ? 0 : -ENOMEM)

// ---- groups ---------------------------------------------------------------------------------------------------------

static uint32_t *slot_of(const struct function_tree_growing *growing, const char *identity)
{
    size_t i = (size_t)(((uint64_t)(uintptr_t)identity * 0x9e3779b97f4a7c15u) >> 32) & (growing->slots - 1);
    while (growing->slot[i] && hs_frame__identity(growing->group[growing->slot[i] - 1].frame) != identity)
        i = (i + 1) & (growing->slots - 1);
    return &growing->slot[i];
}

static int grow_slots(struct function_tree_growing *growing)
{
    size_t slots = growing->slots ? 2 * growing->slots : 1024;
    uint32_t *slot = calloc(slots, sizeof(*slot));
    if (!slot)
        return growing->failed = -ENOMEM;
    free(growing->slot);
    growing->slot = slot;
    growing->slots = slots;
    for (size_t i = 0; i < growing->groups; i++)
        *slot_of(growing, hs_frame__identity(growing->group[i].frame)) = (uint32_t)i + 1;
    return 0;
}

// Removes the groups in reverse order of their insertion, so that no probe sequence breaks.
static void forget_groups(struct function_tree_growing *growing)
{
    while (growing->groups) {
        *slot_of(growing, hs_frame__identity(growing->group[growing->groups - 1].frame)) = 0;
        growing->groups--;
    }
}

static struct function_tree_group *group_of(struct function_tree_growing *growing, const struct hs_frame *frame)
{
    uint32_t *slot = slot_of(growing, hs_frame__identity(frame));
    if (*slot)
        return &growing->group[*slot - 1];
    if (2 * growing->groups >= growing->slots) {
        if (grow_slots(growing))
            return NULL;
        slot = slot_of(growing, hs_frame__identity(frame));
    }
    if (MAKE_ROOM(growing, growing->group, growing->room, growing->groups + 1))
        return NULL;
    growing->group[growing->groups] = (struct function_tree_group){.frame = frame, .first = UINT32_MAX};
    *slot = (uint32_t)++growing->groups;
    return &growing->group[growing->groups - 1];
}

// ---- steps ----------------------------------------------------------------------------------------------------------

static struct function_tree_group *count_step(struct function_tree_growing *growing,
                                              const struct hs_function_start *step, const struct hs_frame *frame)
{
    struct function_tree_group *group = group_of(growing, frame);
    if (!group)
        return NULL;
    hs_value__add(&group->value, &step->value);
    group->steps++;
    if (step->first < group->first) {
        group->first = step->first;
        group->frame = frame;
    }
    return group;
}

static void take_step(struct function_tree_growing *growing, struct function_tree_group *group,
                      const struct hs_function_start *step)
{
    growing->next.member[group->begin + group->filled++] = *step;
}

// ---- outwards -------------------------------------------------------------------------------------------------------

// A member has one step at most and becomes it.
void hs_function_start__move_outwards(const struct hs_frame_table *table, struct hs_function_start *member)
{
    const struct hs_frames *frames = member->at ? hs_frame_table__node(table, member->at) : NULL;
    if (frames && member->frame + 1 < (int32_t)frames->count) {
        member->frame++;
    } else {
        member->at = hs_frame_table__parent(table, member->at);
        member->frame = 0;
    }
    member->group = member->at ? hs_frame_table__place(table, member->at) : 0;
}

// Nodes lie all over: they are fetched some members before they are needed.
enum { NEAR = 8, FAR = 16 };

static void look_ahead(const struct hs_trace_symbols *symbols, const struct hs_function_start *member, size_t left)
{
    if (left <= FAR)
        return;
    __builtin_prefetch(&symbols->nodes[member[FAR].at]);
    __builtin_prefetch(&symbols->place[member[NEAR].at]);
    __builtin_prefetch(&symbols->place[hs_trace_symbols__parent(symbols, member[NEAR].at)]);
}

// Some members: each is moved by itself.
struct function_tree_part {
    const struct hs_frame_table *table;
    struct hs_function_start *member;
    size_t count;
    pthread_t thread;
};

static void *move_part(void *argument)
{
    const struct function_tree_part *part = argument;
    for (size_t i = 0; i < part->count; i++) {
        if (!part->table->transformed)
            look_ahead(part->table->symbols, &part->member[i], part->count - i);
        hs_function_start__move_outwards(part->table, &part->member[i]);
    }
    return NULL;
}

// Large levels are divided between two threads, because nodes and their places are far apart in memory.
static void move_all(struct function_tree_growing *growing, const struct function_tree_range *range)
{
    enum { MANY = 1 << 16 };
    struct hs_function_start *member = growing->now.member + range->begin;
    const size_t count = range->end - range->begin, half = count > MANY ? count / 2 : 0;
    struct function_tree_part first = {.table = &growing->growth->table, .member = member, .count = half};
    struct function_tree_part second = {
        .table = &growing->growth->table, .member = member + half, .count = count - half};
    const bool helped = half && !pthread_create(&first.thread, NULL, move_part, &first);
    move_part(&second);
    if (helped)
        pthread_join(first.thread, NULL);
    else
        move_part(&first);
}

static void count_outwards(struct function_tree_growing *growing, const struct function_tree_range *range)
{
    const struct hs_frame_table *table = &growing->growth->table;
    move_all(growing, range);
    for (size_t i = range->begin; i < range->end && !growing->failed; i++) {
        struct hs_function_start *member = &growing->now.member[i];
        if (!member->at) {
            hs_value__add(&growing->self, &member->value);
            continue;
        }
        const struct hs_frames *frames = hs_frame_table__of_place(table, member->group);
        const struct function_tree_group *group = count_step(growing, member, &frames->frame[member->frame]);
        member->group = group ? (uint32_t)(group - growing->group) + 1 : 0;
    }
}

// Many stacks come to the same frame, from where on they are one.
static struct hs_function_start *same_step(const struct function_tree_growing *growing,
                                           const struct function_tree_group *group,
                                           const struct hs_function_start *step)
{
    const size_t place = growing->place[step->at];
    if (place < group->begin || place >= group->begin + group->filled)
        return NULL;
    struct hs_function_start *same = &growing->next.member[place];
    return same->at == step->at && same->frame == step->frame ? same : NULL;
}

static void take_outwards(struct function_tree_growing *growing, const struct function_tree_range *range)
{
    for (size_t i = range->begin; i < range->end; i++) {
        const struct hs_function_start *step = &growing->now.member[i];
        struct function_tree_group *group = step->group ? &growing->group[step->group - 1] : NULL;
        __builtin_prefetch(&growing->place[growing->now.member[i + NEAR < range->end ? i + NEAR : i].at], 1);
        if (!group || !group->shown)
            continue;
        struct hs_function_start *same = same_step(growing, group, step);
        if (same) {
            hs_value__add(&same->value, &step->value);
            same->first = step->first < same->first ? step->first : same->first;
            continue;
        }
        growing->place[step->at] = (uint32_t)(group->begin + group->filled);
        take_step(growing, group, step);
    }
}

// ---- inwards --------------------------------------------------------------------------------------------------------

typedef void (*step_visitor)(struct function_tree_growing *growing, const struct hs_function_start *step,
                             const struct hs_frame *frame);

static void step_to(struct function_tree_growing *growing, struct hs_function_start step,
                    const struct hs_frames *frames, step_visitor visit)
{
    visit(growing, &step, &frames->frame[step.frame]);
}

static void step_inwards(struct function_tree_growing *growing, const struct hs_function_start *member,
                         step_visitor visit)
{
    const struct hs_frame_table *table = &growing->growth->table;
    const struct hs_node_tree *nodes = growing->growth->nodes;
    struct hs_function_start step = *member;
    const struct hs_path_node *at = nodes->paths.at;
    struct hs_value own = at[member->at].value;
    if (member->frame > 0) {
        step.frame--;
        step_to(growing, step, hs_frame_table__node(table, at[member->at].place), visit);
        return;
    }
    for (uint32_t child = at[member->at].child; child; child = at[child].sibling) {
        const struct hs_frames *frames = hs_frame_table__node(table, at[child].place);
        step = (struct hs_function_start){
            .at = child, .frame = (int32_t)frames->count - 1, .first = nodes->first[child], .value = at[child].value};
        step_to(growing, step, frames, visit);
        own.bytes -= step.value.bytes;
        own.count -= step.value.count;
    }
    hs_value__add(&growing->self, &own);
}

static void count_inwards(struct function_tree_growing *growing, const struct hs_function_start *step,
                          const struct hs_frame *frame)
{
    if (!growing->failed)
        count_step(growing, step, frame);
}

static void take_inwards(struct function_tree_growing *growing, const struct hs_function_start *step,
                         const struct hs_frame *frame)
{
    const uint32_t *slot = slot_of(growing, hs_frame__identity(frame));
    struct function_tree_group *group = *slot ? &growing->group[*slot - 1] : NULL;
    if (group && group->shown && group->filled < group->steps)
        take_step(growing, group, step);
}

// ---- all steps of a node --------------------------------------------------------------------------------------------

static void count_steps(struct function_tree_growing *growing, const struct function_tree_range *range)
{
    if (!growing->growth->nodes) {
        count_outwards(growing, range);
        return;
    }
    for (size_t i = range->begin; i < range->end && !growing->failed; i++)
        step_inwards(growing, &growing->now.member[i], count_inwards);
}

// The members of the visible groups become the next level.
static void take_steps(struct function_tree_growing *growing, const struct function_tree_range *range)
{
    if (!growing->growth->nodes) {
        take_outwards(growing, range);
        return;
    }
    for (size_t i = range->begin; i < range->end; i++)
        step_inwards(growing, &growing->now.member[i], take_inwards);
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

static int compare(const void *left, const void *right, void *context)
{
    const struct function_tree_group *groups = context, *a = &groups[*(const uint32_t *)left],
                                     *b = &groups[*(const uint32_t *)right];
    if (a->value.bytes != b->value.bytes)
        return a->value.bytes > b->value.bytes ? -1 : 1;
    if (a->value.count != b->value.count)
        return a->value.count > b->value.count ? -1 : 1;
    int names = strcmp(a->frame->function, b->frame->function);
    return names ? names : (a > b) - (a < b);
}

static bool is_above(const struct function_tree_growing *growing, unsigned depth)
{
    return depth < growing->growth->cut.path_length;
}

// On the way along the path it is one group; below its end it is as at the root.
static size_t choose_step(struct function_tree_growing *growing, size_t count, unsigned depth)
{
    const uint32_t step = growing->growth->cut.path[depth];
    if (step >= count) {
        growing->failed = -ENOENT;
        return 0;
    }
    growing->order[0] = growing->order[step];
    return 1;
}

// The groups that are shown, largest first. Returns how many.
static size_t choose(struct function_tree_growing *growing, unsigned depth)
{
    size_t count = 0;
    if (MAKE_ROOM(growing, growing->order, growing->order_room, growing->groups))
        return 0;
    for (size_t i = 0; i < growing->groups; i++)
        if (is_above(growing, depth) || growing->group[i].value.bytes >= growing->least)
            growing->order[count++] = (uint32_t)i;
    if (count)
        qsort_r(growing->order, count, sizeof(*growing->order), compare, growing->group);
    if (is_above(growing, depth))
        return choose_step(growing, count, depth);
    return count < growing->growth->cut.children ? count : growing->growth->cut.children;
}

static int add_children(struct function_tree_growing *growing, uint32_t node, unsigned depth)
{
    struct hs_function_tree *tree = growing->tree;
    const size_t count = choose(growing, depth);
    if (growing->failed || MAKE_ROOM(growing, tree->at, tree->room, tree->count + count) ||
        MAKE_ROOM(growing, growing->next_ranges.range, growing->next_ranges.room, growing->next_ranges.count + count))
        return growing->failed;
    tree->at[node].first_child = (uint32_t)tree->count;
    tree->at[node].children = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        struct function_tree_group *group = &growing->group[growing->order[i]];
        group->shown = (uint32_t)tree->count;
        group->begin = growing->next.count;
        growing->next.count += group->steps;
        tree->at[tree->count++] = (struct hs_function_node){.frame = group->frame, .all = group->value};
    }
    return MAKE_ROOM(growing, growing->next.member, growing->next.room, growing->next.count);
}

static void add_ranges(struct function_tree_growing *growing, uint32_t node)
{
    const uint32_t children = growing->tree->at[node].children;
    for (uint32_t i = 0; i < children; i++) {
        const struct function_tree_group *group = &growing->group[growing->order[i]];
        growing->next_ranges.range[growing->next_ranges.count++] =
            (struct function_tree_range){group->shown, group->begin, group->begin + group->filled};
    }
}

static void set_least(struct function_tree_growing *growing, const struct hs_value *whole)
{
    const double least = (double)whole->bytes * growing->growth->cut.least / 100;
    growing->least = least < 0x1p64 ? (uint64_t)least : UINT64_MAX;
}

static int grow_node(struct function_tree_growing *growing, const struct function_tree_range *range, unsigned depth)
{
    const int *cancel = growing->growth->cancel;
    if (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED))
        return growing->failed = -ECANCELED;
    forget_groups(growing);
    growing->self = (struct hs_value){0};
    count_steps(growing, range);
    if (growing->failed)
        return growing->failed;
    growing->tree->at[range->node].self = growing->self;
    if (depth == growing->growth->cut.path_length)
        set_least(growing, &growing->tree->at[range->node].all);
    if (depth >= growing->growth->cut.depth + growing->growth->cut.path_length ||
        add_children(growing, range->node, depth))
        return growing->failed;
    if (growing->tree->at[range->node].children)
        take_steps(growing, range);
    add_ranges(growing, range->node);
    return 0;
}

static void next_level(struct function_tree_growing *growing)
{
    struct function_tree_ranges ranges = growing->ranges;
    free(growing->now.member);
    growing->now = growing->next;
    growing->next = (struct members){0};
    growing->ranges = growing->next_ranges;
    ranges.count = 0;
    growing->next_ranges = ranges;
}

static int grow_levels(struct function_tree_growing *growing)
{
    for (unsigned depth = 0; growing->ranges.count; depth++) {
        for (size_t i = 0; i < growing->ranges.count; i++)
            if (grow_node(growing, &growing->ranges.range[i], depth))
                return growing->failed;
        next_level(growing);
    }
    return 0;
}

static int plant(struct function_tree_growing *growing, struct hs_function_start *starts, size_t count)
{
    struct hs_function_tree *tree = growing->tree;
    growing->now = (struct members){starts, count, count};
    if (!growing->growth->nodes)
        growing->place = calloc(hs_frame_table__count(&growing->growth->table) + 1, sizeof(*growing->place));
    if (!growing->growth->nodes && !growing->place)
        return -ENOMEM;
    if (MAKE_ROOM(growing, tree->at, tree->room, 1) || grow_slots(growing) ||
        MAKE_ROOM(growing, growing->ranges.range, growing->ranges.room, 1))
        return growing->failed;
    tree->at[0] = (struct hs_function_node){0};
    tree->count = 1;
    for (size_t i = 0; i < count; i++)
        hs_value__add(&tree->at[0].all, &starts[i].value);
    growing->ranges.range[growing->ranges.count++] = (struct function_tree_range){0, 0, count};
    return 0;
}

int hs_function_tree__grow(struct hs_function_tree *tree, const struct hs_function_growth *growth,
                           struct hs_function_start *starts, size_t count)
{
    struct function_tree_growing growing = {.growth = growth, .tree = tree};
    *tree = (struct hs_function_tree){0};
    int failed = plant(&growing, starts, count);
    if (!failed)
        failed = grow_levels(&growing);
    free(growing.now.member);
    free(growing.next.member);
    free(growing.ranges.range);
    free(growing.next_ranges.range);
    free(growing.group);
    free(growing.slot);
    free(growing.order);
    free(growing.place);
    if (failed)
        hs_function_tree__free(tree);
    return failed;
}

// Parents come before children, and larger children before smaller ones: of nodes of equal size, the first ones are
// still one tree.
int hs_function_tree__prune(struct hs_function_tree *tree, size_t most)
{
    if (tree->count <= most)
        return 0;
    uint64_t *bytes = malloc(tree->count * sizeof(*bytes));
    for (size_t i = 0; bytes && i < tree->count; i++)
        bytes[i] = tree->at[i].all.bytes;
    uint8_t *kept = bytes ? hs_largest__choose(bytes, tree->count, most) : NULL;
    free(bytes);
    if (!kept)
        return -ENOMEM;
    for (size_t i = 0; i < tree->count; i++) {
        struct hs_function_node *node = &tree->at[i];
        uint32_t children = 0;
        while (children < node->children && kept[node->first_child + children])
            children++;
        node->children = children;
    }
    free(kept);
    return 0;
}

void hs_function_tree__free(struct hs_function_tree *tree)
{
    free(tree->at);
    *tree = (struct hs_function_tree){0};
}
