// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The names of mallctl() as a tree of tables. The place of a node in its table is its number in a MIB; the tables
// follow the order of jemalloc 5.3.0, so that the numbers are the same.
#ifndef HEAPSONDE_SHIMS_PROF_NODES_H
#define HEAPSONDE_SHIMS_PROF_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HS_NODE_DEPTH = 7, HS_ARENAS_ALL = 4096, HS_ARENAS_DESTROYED = 4097 };

enum hs_node_type {
    HS_TYPE_BOOL,
    HS_TYPE_UNSIGNED, // 32 bits
    HS_TYPE_SIZE,     // size_t, ssize_t
    HS_TYPE_64,       // uint64_t, int64_t
    HS_TYPE_TEXT,     // const char *
    HS_TYPE_POINTER,  // of functions, too
    HS_TYPE_NONE,
};

enum hs_node_access {
    HS_ACCESS_BRANCH,    // has children
    HS_ACCESS_INDEX,     // stands for any number that `accepts` takes; has children
    HS_ACCESS_READ,      // read only
    HS_ACCESS_WRITE,     // write only
    HS_ACCESS_BOTH,      // read, write, or both: what is read was there before the write
    HS_ACCESS_EITHER,    // read or write, not both at once
    HS_ACCESS_CALL,      // neither: something is done
    HS_ACCESS_UNCHECKED, // the same, and whatever is passed is ignored
    HS_ACCESS_OWN,       // the function sees to everything
    HS_ACCESS_ABSENT,    // has a number and is not there
};

// Where what is read comes from.
enum hs_node_source {
    HS_FROM_NOWHERE,
    HS_FROM_FUNCTION,
    HS_FROM_BOTH, // two functions, one of which writes
    HS_FROM_VALUE,
    HS_FROM_NUMBER,    // it is always the same
    HS_FROM_OPTION,    // of ours
    HS_FROM_ALLOCATOR, // an option of the program's allocator, as it was given
};

// Nodes that return ENOENT while profiling is off.
enum hs_node_needs { HS_NEEDS_NOTHING, HS_NEEDS_PROF, HS_NEEDS_PROF_TO_WRITE };

// One mallctl() call.
struct hs_call {
    const struct hs_node *node;
    const size_t *mib;
    size_t depth;
    void *old;
    size_t *old_length;
    const void *new;
    size_t new_length;
};

// Called twice: before anything is read, to say whether the value is acceptable, and with `commit` to take it. `value`
// is 0 when the caller passes none.
typedef int hs_node_write(const struct hs_call *call, uint64_t value, bool commit);
typedef uint64_t hs_node_read(const struct hs_call *call); // pointers as integers

struct hs_node_both {
    hs_node_read *read;
    hs_node_write *write;
};

struct hs_node {
    char name[28]; // an index has none
    uint8_t type;
    uint8_t access : 4, source : 4; // enum hs_node_access, hs_node_source
    uint8_t child_count;
    uint8_t needs_prof; // enum hs_node_needs
    union {
        const struct hs_node *children;                            // of a branch; see hs_node__children
        bool (*accepts)(const struct hs_call *call, size_t index); // of an index, whose children are behind it
        hs_node_read *read;
        hs_node_write *write;
        const struct hs_node_both *both;
        const void *value;
        uintptr_t number; // or where an option is in hs_prof_options: an address would take a relocation
    } of;
};

#define HS_NODE_COUNT(table)   (sizeof(table) / sizeof *(table))
#define HS_BRANCH(name, table) HS_FAR_BRANCH(name, table, HS_NODE_COUNT(table))

// A branch whose table is in another file.
#define HS_FAR_BRANCH(name, table, count)                                                                              \
    {                                                                                                                  \
        name, HS_TYPE_NONE, HS_ACCESS_BRANCH, 0, count, HS_NEEDS_NOTHING,                                              \
        {                                                                                                              \
            .children = table                                                                                          \
        }                                                                                                              \
    }
#define HS_INDEX(count, accepts_)                                                                                      \
    {                                                                                                                  \
        "", HS_TYPE_NONE, HS_ACCESS_INDEX, 0, count, HS_NEEDS_NOTHING,                                                 \
        {                                                                                                              \
            .accepts = accepts_                                                                                        \
        }                                                                                                              \
    }
#define HS_LEAF(name, type, access, source, needs, ...)                                                                \
    {                                                                                                                  \
        name, type, access, source, 0, needs, __VA_ARGS__                                                              \
    }
#define HS_RUNS(name, type, access, needs, write_)                                                                     \
    HS_LEAF(name, type, access, HS_FROM_NOWHERE, needs, {.write = write_})
#define HS_BOTH(name, type, access, needs, read_, write_)                                                              \
    HS_LEAF(name, type, access, HS_FROM_BOTH, needs, {.both = &(const struct hs_node_both){read_, write_}})
#define HS_STORED(name, type, source, where) HS_LEAF(name, type, HS_ACCESS_READ, source, HS_NEEDS_NOTHING, where)
#define HS_READS(name, type, read_)          HS_STORED(name, type, HS_FROM_FUNCTION, {.read = read_})
#define HS_VALUE(name, type, value_)         HS_STORED(name, type, HS_FROM_VALUE, {.value = value_})
#define HS_OPTION(name, type, field)                                                                                   \
    HS_STORED(name, type, HS_FROM_OPTION, {.number = offsetof(struct hs_prof_options, field)})
#define HS_NUMBER(name, type, number_) HS_STORED(name, type, HS_FROM_NUMBER, {.number = number_})
#define HS_REMEMBERED(name, type)      HS_STORED(name, type, HS_FROM_ALLOCATOR, {0})
#define HS_ABSENT(name)                HS_RUNS(name, HS_TYPE_NONE, HS_ACCESS_ABSENT, HS_NEEDS_NOTHING, NULL)

#pragma GCC visibility push(hidden)
extern const struct hs_node hs_nodes_root;

// The branches that have files of their own.
extern const struct hs_node hs_nodes_opt[], hs_nodes_prof[], hs_nodes_thread_prof[], hs_nodes_stats[],
    hs_nodes_experimental[], hs_nodes_arena[], hs_nodes_arenas[];
enum {
    HS_OPT_NODES = 67,
    HS_PROF_NODES = 11,
    HS_THREAD_PROF_NODES = 2,
    HS_STATS_NODES = 11,
    HS_EXPERIMENTAL_NODES = 7,
    HS_ARENAS_NODES = 13
};

// The table of a branch or an index. A branch without one has that of the branch before it: an address would take a
// relocation.
const struct hs_node *hs_node__children(const struct hs_node *node);

// An option of the program's allocator, as the type of its node.
uint64_t hs_node__remembered(const struct hs_call *call);

// Does what a call of a leaf asks for; 0 or an errno value.
int hs_node__run(const struct hs_call *call);

// Hands out `size` bytes as a call asks for them: 0, or EINVAL when that is not the length it gave.
int hs_node__give(const struct hs_call *call, const void *value, size_t size);

// Whether a call reads exactly so much, as one has to that makes something; if not, it is told that it got nothing.
bool hs_node__has_room(const struct hs_call *call, size_t size);

// Whether an arena has this number; the two numbers that stand for sets of arenas count, too.
bool hs_node__is_arena(const struct hs_call *call, size_t index);

uint64_t hs_node__thread_arena(const struct hs_call *call);
int hs_node__set_thread_arena(const struct hs_call *call, uint64_t value, bool commit);

// ---- stats ----------------------------------------------------------------------------------------------------------

// What stats.* read since epoch was last written.
struct hs_statistics_values {
    uint64_t epoch;
    size_t allocated, active, resident, mapped;
    uint64_t total_allocated, total_deallocated;
};

struct hs_statistics_values hs_statistics__values(void);
void hs_statistics__refresh(void);
#pragma GCC visibility pop

#endif
