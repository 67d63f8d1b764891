// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/targets.h"

#include "host/base/clock.h"

#include <stdlib.h>
#include <string.h>

#define FORGOTTEN_AFTER  (10 * HS_SECOND)
#define TOLD_AGAIN_AFTER (3 * HS_SECOND)

static struct hs_target *add(struct hs_targets *targets)
{
    struct hs_target *target = calloc(1, sizeof(*target));
    if (!target)
        return NULL;
    target->next = targets->first;
    targets->first = target;
    return target;
}

bool hs_targets__give(struct hs_targets *targets, const struct hs_address *addresses, unsigned count)
{
    struct hs_target *target = add(targets);
    if (!target)
        return false;
    target->given = true;
    target->count = count < HS_TARGET_ADDRESSES ? count : HS_TARGET_ADDRESSES;
    memcpy(target->address, addresses, target->count * sizeof(*addresses));
    return true;
}

// A device with several networks, or one that has changed its address.
static void add_address(struct hs_target *target, const struct hs_address *address)
{
    for (unsigned i = 0; i < target->count; i++)
        if (hs_address__equal(&target->address[i], address))
            return;
    unsigned place = target->count < HS_TARGET_ADDRESSES ? target->count++ : target->turn % HS_TARGET_ADDRESSES;
    target->address[place] = *address;
}

static void hear_again(struct hs_target *target, const struct hs_heard *heard, uint64_t now)
{
    target->heard_at = now;
    add_address(target, &heard->address);
    if (target->state != HS_TARGET_ENDED || now - target->ended_at < TOLD_AGAIN_AFTER)
        return;
    target->state = HS_TARGET_WAITS;
    target->dial_at = now;
}

struct hs_target *hs_targets__hear(struct hs_targets *targets, const struct hs_heard *heard, uint64_t now)
{
    unsigned neighbours = 0;
    for (struct hs_target *target = targets->first; target; target = target->next) {
        if (target->given)
            continue;
        neighbours += hs_address__same_neighbour(&target->address[0], &heard->address);
        if (memcmp(target->trace_id, heard->device.trace_id, HS_TRACE_ID_SIZE))
            continue;
        hear_again(target, heard, now);
        return NULL;
    }
    if (targets->heard >= HS_TARGETS_MOST || neighbours >= HS_TARGETS_NEIGHBOUR)
        return NULL;
    struct hs_target *target = add(targets);
    if (!target)
        return NULL;
    targets->heard++;
    memcpy(target->trace_id, heard->device.trace_id, HS_TRACE_ID_SIZE);
    target->heard_at = target->dial_at = now;
    add_address(target, &heard->address);
    return target;
}

// Given targets first, then those that have waited longest: unknown devices cannot get ahead of them.
struct hs_target *hs_targets__due(struct hs_targets *targets, uint64_t now)
{
    struct hs_target *found = NULL;
    for (struct hs_target *target = targets->first; target; target = target->next) {
        if (target->state != HS_TARGET_WAITS || target->dial_at > now)
            continue;
        if (target->given)
            return target;
        if (!found || target->dial_at < found->dial_at)
            found = target;
    }
    return found;
}

const struct hs_address *hs_targets__dial(struct hs_target *target, uint64_t now)
{
    target->state = HS_TARGET_CONNECTED;
    target->dial_at = now + HS_SECOND;
    return &target->address[target->turn++ % target->count];
}

void hs_targets__closed(struct hs_target *target, enum hs_outcome outcome, uint64_t now)
{
    target->over |= outcome != HS_OUTCOME_LOST;
    target->ended_at = now;
    // At a given address another program may be next.
    if (outcome == HS_OUTCOME_LOST || outcome == HS_OUTCOME_UNTOLD || target->given)
        target->state = HS_TARGET_WAITS;
    else
        target->state = outcome == HS_OUTCOME_ENDED ? HS_TARGET_ENDED : HS_TARGET_REFUSED;
}

void hs_targets__expire(struct hs_targets *targets, uint64_t now)
{
    for (struct hs_target **at = &targets->first; *at;) {
        struct hs_target *target = *at;
        if (target->given || target->state == HS_TARGET_CONNECTED || now - target->heard_at < FORGOTTEN_AFTER) {
            at = &target->next;
            continue;
        }
        *at = target->next;
        targets->heard--;
        free(target);
    }
}

bool hs_targets__all_over(const struct hs_targets *targets)
{
    for (const struct hs_target *target = targets->first; target; target = target->next)
        if (target->given && !target->over)
            return false;
    return true;
}

void hs_targets__free(struct hs_targets *targets)
{
    while (targets->first) {
        struct hs_target *target = targets->first;
        targets->first = target->next;
        free(target);
    }
}
