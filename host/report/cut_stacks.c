// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/cut_stacks.h"

#include <errno.h>
#include <stdlib.h>

enum { GUESSED = 0x80 };

// The outer end of each node's stack: a reason or 0, and GUESSED. Parents come before their children.
static uint8_t *reasons_of(const struct hs_subject *subject, size_t *count)
{
    const struct hs_node *nodes = hs_store__nodes(subject->store, count);
    uint8_t *reasons = calloc(*count + 1, 1);
    for (uint32_t node = 1; reasons && node < *count; node++) {
        uint32_t parent = nodes[node].parent < node ? nodes[node].parent : 0;
        reasons[node] = reasons[parent] | (hs_node__is_guess(&nodes[node]) ? GUESSED : 0);
        if (hs_node__is_cut(&nodes[node]))
            reasons[node] = (uint8_t)nodes[node].pc;
    }
    return reasons;
}

int hs_cut_stacks__count(struct hs_cut_stacks *cut, const struct hs_subject *subject)
{
    size_t count = 0;
    uint8_t *reasons = reasons_of(subject, &count);
    *cut = (struct hs_cut_stacks){0};
    if (!reasons)
        return -ENOMEM;
    for (size_t i = 0; i < subject->totals.count; i++) {
        const struct hs_total *total = &subject->totals.total[i];
        uint8_t known = total->stack < count ? reasons[total->stack] : 0, reason = known & ~GUESSED;
        if (known & GUESSED) {
            cut->guessed_stacks++;
            cut->guessed_allocations += total->allocated_count;
            cut->guessed_bytes += total->allocated_bytes;
        }
        if (!reason || reason >= HS_CUT_REASONS)
            continue;
        cut->stacks[reason]++;
        cut->allocations[reason] += total->allocated_count;
        cut->bytes[reason] += total->allocated_bytes;
    }
    free(reasons);
    return 0;
}
