// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Paths from a root, as a tree: the value of the paths through each node, and the links between nodes. It is made in
// two steps. First, nodes are added, and the value of a path is added to the node in which it ends. Then
// hs_paths__finish links children and adds up values. The caller keeps all other data of nodes, in arrays by the
// numbers of nodes.
#ifndef HEAPSONDE_BASE_PATHS_H
#define HEAPSONDE_BASE_PATHS_H

#include "host/base/array.h"
#include "host/base/hash_index.h"

struct hs_value {
    uint64_t bytes, count;
};

// A node's number is larger than its parent's. The root has number 0, which means "none" in the links.
struct hs_path_node {
    uint32_t parent, child, sibling; // siblings are in the order of their numbers, until they are sorted
    uint32_t place;                  // the caller's: what the node stands for
    struct hs_value value;           // of what ends in the node; when finished, of all that passes through it
};

// All zero: empty, without a root.
struct hs_paths {
    struct hs_path_node *at;
    size_t count, room;
    struct hs_hash_index index; // private: nodes by parent and key
};

int hs_paths__start(struct hs_paths *paths); // adds the root. 0 or -ENOMEM
void hs_paths__free(struct hs_paths *paths);

struct hs_paths_key {
    const struct hs_paths *paths;
    uint32_t parent;
    hs_hash_comparison is_node;
    const void *key;
};

static inline bool hs_paths__is_child(const void *wanted, uint32_t number)
{
    const struct hs_paths_key *key = wanted;
    return key->paths->at[number].parent == key->parent && key->is_node(key->key, number);
}

// The child of `parent` that `is_node` accepts. If there is none, a node is added: then its number is the count before.
// `hash` is that of the key. 0: out of memory.
static inline uint32_t hs_paths__child(struct hs_paths *paths, uint32_t parent, uint64_t hash,
                                       hs_hash_comparison is_node, const void *key)
{
    const struct hs_paths_key wanted = {paths, parent, is_node, key};
    const uint64_t mixed = hs_hash__pair(hash, parent);
    const uint32_t found = hs_hash_index__find(&paths->index, mixed, hs_paths__is_child, &wanted);
    if (found != HS_HASH_NONE)
        return found;
    if (paths->count >= HS_HASH_NONE || !HS_ARRAY_HAS_ROOM(paths->at, paths->count, paths->room) ||
        hs_hash_index__add(&paths->index, mixed, (uint32_t)paths->count))
        return 0;
    paths->at[paths->count] = (struct hs_path_node){.parent = parent};
    return (uint32_t)paths->count++;
}

static inline void hs_value__add(struct hs_value *to, const struct hs_value *value)
{
    to->bytes += value->bytes;
    to->count += value->count;
}

// No node is added afterwards.
void hs_paths__finish(struct hs_paths *paths);

// The value of what ends in a node of a finished tree.
struct hs_value hs_paths__own(const struct hs_paths *paths, uint32_t node);

// Sorts siblings. The comparison gets pointers to two numbers of nodes. 0 or -ENOMEM.
int hs_paths__sort(struct hs_paths *paths, int (*compare)(const void *, const void *, void *), void *context);

// Unlinks all but the largest nodes below the root, and sets how many were unlinked. Among nodes of equal size, those
// with lower numbers stay, so that the remaining nodes are still one tree. Afterwards, the values of paths that end in
// a node are not known. 0 or -ENOMEM.
int hs_paths__prune(struct hs_paths *paths, size_t most, size_t *left_out);

// Which sizes are the `most` largest; among equal ones, the first. Returns an array, which the caller frees, with 1 for
// each of these; NULL: out of memory.
uint8_t *hs_largest__choose(const uint64_t *sizes, size_t count, size_t most);

// Visits all linked nodes except the root, parents first, without recursion. `leave`, which may be NULL, is called when
// all nodes below a node were visited. HS_PATHS_SKIP, from `enter`, leaves out what is below the node. Any other
// nonzero result ends the walk and is returned.
enum { HS_PATHS_SKIP = 1 };
typedef int (*hs_paths_visitor)(void *context, uint32_t node, unsigned depth);
int hs_paths__walk(const struct hs_paths *paths, hs_paths_visitor enter, hs_paths_visitor leave, void *context);

// During a walk: the names of the nodes from the root to the current one, with ';' between them.
struct hs_path_text {
    char *text;          // not terminated
    size_t *end;         // by depth
    size_t room, depths; // private
};

// Sets where the path ends at `depth`. Returns the place for the name of the node, `length` bytes, after the path of
// its parent. NULL: out of memory.
char *hs_path_text__append(struct hs_path_text *path, unsigned depth, size_t length);
void hs_path_text__free(struct hs_path_text *path);

#endif
