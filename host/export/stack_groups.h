// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Stacks whose frames read the same are one group; groups are in the order of their frames, innermost first. Any set of
// stacks that share their inner frames is a run of groups: a tree from the allocations outwards.
#ifndef HEAPSONDE_HOST_EXPORT_STACK_GROUPS_H
#define HEAPSONDE_HOST_EXPORT_STACK_GROUPS_H

#include "host/export/stack_table.h"

struct hs_stack_group {
    uint32_t stack;  // one of them: its frames are those of all
    uint32_t shared; // inner frames that it has in common with the group before it
    uint32_t first;  // of its stacks in `totals`; they end where the next group's begin
};

struct hs_stack_groups {
    struct hs_stack_group *group; // with one more after the last
    size_t count;
    uint32_t *totals;   // places in the subject's totals, by group
    uint32_t *of_stack; // by stack id: number of its group
    size_t stack_count;
};

// Frames further out than `most` make no difference. Returns 0 or -ENOMEM.
int hs_stack_groups__build(struct hs_stack_groups *groups, const struct hs_stack_table *table,
                           const struct hs_subject *subject, uint32_t most);
void hs_stack_groups__free(struct hs_stack_groups *groups);

// The group of a stack of the subject.
static inline uint32_t hs_stack_groups__of(const struct hs_stack_groups *groups, uint32_t stack)
{
    return groups->of_stack[stack < groups->stack_count ? stack : 0];
}

// "0xADDRESS: function (file:line)" or "... (in module)", as valgrind's tools write it.
void hs_frame__valgrind_text(char *text, size_t size, const struct hs_frame *frame);

#endif
