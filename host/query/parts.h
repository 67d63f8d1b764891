// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How the live memory of groups of stacks changed over time: one pass over the blocks of these stacks.
#ifndef HEAPSONDE_QUERY_PARTS_H
#define HEAPSONDE_QUERY_PARTS_H

#include "host/query/query.h"

// One group in one part of the time.
struct hs_part {
    uint64_t live_bytes, live_count;           // at the end of the part
    uint64_t allocated_bytes, allocated_count; // within the part
    uint64_t kept_bytes, kept_count;           // of those: never freed
};

struct hs_parts {
    size_t groups, parts;
    struct hs_part *part; // by group, then by part
};

static inline const struct hs_part *hs_parts__of(const struct hs_parts *parts, size_t group)
{
    return &parts->part[group * parts->parts];
}

// `group_of`: by stack, 1 + the group of the stack; 0: none. Part i ends with the time until[i], which belongs to it
// and is above until[i - 1]. Later events are left out.
struct hs_parts_question {
    const struct hs_filter *filter; // NULL: the heap
    const uint32_t *group_of;
    size_t stacks, groups;
    const uint64_t *until;
    size_t parts;
};
int hs_query__parts(const struct hs_store *store, const struct hs_parts_question *question,
                    const struct hs_query_control *control, struct hs_parts *parts, struct hs_error *error);
void hs_parts__free(struct hs_parts *parts);

#endif
