// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/paths.h"

int hs_paths__start(struct hs_paths *paths)
{
    *paths = (struct hs_paths){0};
    if (!HS_ARRAY_HAS_ROOM(paths->at, paths->count, paths->room))
        return -ENOMEM;
    paths->at[paths->count++] = (struct hs_path_node){0};
    return 0;
}

void hs_paths__free(struct hs_paths *paths)
{
    free(paths->at);
    hs_hash_index__free(&paths->index);
    *paths = (struct hs_paths){0};
}

// From the last node to the first, so that a node is complete before it is added to its parent, and the first child is
// the last that is linked.
void hs_paths__finish(struct hs_paths *paths)
{
    for (uint32_t at = (uint32_t)paths->count; at-- > 1;) {
        struct hs_path_node *node = &paths->at[at], *parent = &paths->at[node->parent];
        node->sibling = parent->child;
        parent->child = at;
        hs_value__add(&parent->value, &node->value);
    }
    hs_hash_index__free(&paths->index);
}

struct hs_value hs_paths__own(const struct hs_paths *paths, uint32_t node)
{
    struct hs_value own = paths->at[node].value;
    for (uint32_t child = paths->at[node].child; child; child = paths->at[child].sibling) {
        own.bytes -= paths->at[child].value.bytes;
        own.count -= paths->at[child].value.count;
    }
    return own;
}

// ---- order ----------------------------------------------------------------------------------------------------------

struct siblings {
    uint32_t *at;
    size_t count, room;
};

static int list_children(const struct hs_paths *paths, uint32_t parent, struct siblings *siblings)
{
    siblings->count = 0;
    for (uint32_t child = paths->at[parent].child; child; child = paths->at[child].sibling) {
        if (!HS_ARRAY_HAS_ROOM(siblings->at, siblings->count, siblings->room))
            return -ENOMEM;
        siblings->at[siblings->count++] = child;
    }
    return 0;
}

static void link_children(struct hs_paths *paths, uint32_t parent, const struct siblings *siblings)
{
    uint32_t next = 0;
    for (size_t i = siblings->count; i-- > 0; next = siblings->at[i])
        paths->at[siblings->at[i]].sibling = next;
    paths->at[parent].child = next;
}

int hs_paths__sort(struct hs_paths *paths, int (*compare)(const void *, const void *, void *), void *context)
{
    struct siblings siblings = {0};
    int failed = 0;
    for (uint32_t at = 0; at < paths->count && !failed; at++) {
        const uint32_t child = paths->at[at].child;
        if (!child || !paths->at[child].sibling)
            continue;
        failed = list_children(paths, at, &siblings);
        if (failed)
            break;
        qsort_r(siblings.at, siblings.count, sizeof(*siblings.at), compare, context);
        link_children(paths, at, &siblings);
    }
    free(siblings.at);
    return failed;
}

// ---- the largest ----------------------------------------------------------------------------------------------------

static int compare_sizes(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a < b) - (a > b);
}

uint8_t *hs_largest__choose(const uint64_t *sizes, size_t count, size_t most)
{
    uint64_t *sorted = malloc((count + 1) * sizeof(*sorted));
    uint8_t *chosen = calloc(count + 1, 1);
    if (!sorted || !chosen) {
        free(sorted);
        free(chosen);
        return NULL;
    }
    most = most < count ? most : count;
    memcpy(sorted, sizes, count * sizeof(*sizes));
    qsort(sorted, count, sizeof(*sorted), compare_sizes);
    const uint64_t least = most ? sorted[most - 1] : UINT64_MAX;
    size_t equal = 0;
    while (equal < most && sorted[most - 1 - equal] == least)
        equal++;
    for (size_t i = 0; i < count; i++)
        chosen[i] = sizes[i] > least || (sizes[i] == least && equal && equal--);
    free(sorted);
    return chosen;
}

static void keep_children(struct hs_paths *paths, uint32_t parent, const uint8_t *kept)
{
    uint32_t *link = &paths->at[parent].child;
    for (uint32_t child = *link; child; child = paths->at[child].sibling) {
        if (!kept[child - 1])
            continue;
        *link = child;
        link = &paths->at[child].sibling;
    }
    *link = 0;
}

int hs_paths__prune(struct hs_paths *paths, size_t most, size_t *left_out)
{
    const size_t count = paths->count - 1;
    *left_out = 0;
    if (count <= most)
        return 0;
    uint64_t *bytes = malloc(count * sizeof(*bytes));
    for (size_t i = 0; bytes && i < count; i++)
        bytes[i] = paths->at[i + 1].value.bytes;
    uint8_t *kept = bytes ? hs_largest__choose(bytes, count, most) : NULL;
    free(bytes);
    if (!kept)
        return -ENOMEM;
    for (uint32_t at = 0; at < paths->count; at++)
        keep_children(paths, at, kept);
    free(kept);
    *left_out = count - most;
    return 0;
}

// ---- walking --------------------------------------------------------------------------------------------------------

// Leaves a node, and each parent of which it was the last child. Sets the next node to enter; 0: none.
static int leave_up(const struct hs_paths *paths, hs_paths_visitor leave, void *context, uint32_t *node,
                    unsigned *depth)
{
    for (;;) {
        const int result = leave ? leave(context, *node, *depth) : 0;
        const uint32_t sibling = paths->at[*node].sibling;
        if (result || sibling) {
            *node = sibling;
            return result;
        }
        *node = paths->at[*node].parent;
        if (!*node)
            return 0;
        --*depth;
    }
}

int hs_paths__walk(const struct hs_paths *paths, hs_paths_visitor enter, hs_paths_visitor leave, void *context)
{
    uint32_t node = paths->count ? paths->at[0].child : 0;
    unsigned depth = 0;
    while (node) {
        int result = enter(context, node, depth);
        if (!result && paths->at[node].child) {
            node = paths->at[node].child;
            depth++;
            continue;
        }
        if (!result || result == HS_PATHS_SKIP)
            result = leave_up(paths, leave, context, &node, &depth);
        if (result)
            return result;
    }
    return 0;
}

// ---- the text of a path ---------------------------------------------------------------------------------------------

static bool reserve(struct hs_path_text *path, unsigned depth, size_t length)
{
    if (length > path->room) {
        char *text = realloc(path->text, length * 2);
        if (!text)
            return false;
        path->text = text;
        path->room = length * 2;
    }
    while (depth >= path->depths)
        if (!HS_ARRAY_HAS_ROOM(path->end, path->depths, path->depths))
            return false;
    return true;
}

char *hs_path_text__append(struct hs_path_text *path, unsigned depth, size_t length)
{
    size_t end = depth ? path->end[depth - 1] : 0;
    if (!reserve(path, depth, end + length + 1))
        return NULL;
    if (depth)
        path->text[end++] = ';';
    path->end[depth] = end + length;
    return path->text + end;
}

void hs_path_text__free(struct hs_path_text *path)
{
    free(path->text);
    free(path->end);
    *path = (struct hs_path_text){0};
}
