// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/report.h"

bool hs_subject__knows(const struct hs_subject *subject, enum hs_cost cost)
{
    unsigned costs = subject->kind ? subject->kind->costs : hs_subject__events(subject)->costs;
    return costs >> cost & 1;
}

const char *hs_subject__title(const struct hs_subject *subject, enum hs_cost cost)
{
    if (subject->kind && cost == HS_COST_LIVE)
        return subject->kind->live_title;
    if (!subject->kind && cost == HS_COST_PEAK && hs_store__summary(subject->store)->is_aggregate)
        return "live at the highest tick";
    return hs_cost__title(cost);
}

const struct hs_events_kind *hs_subject__events(const struct hs_subject *subject)
{
    return hs_events_kind__of(subject->events);
}

void hs_subject__heading(const struct hs_subject *subject, enum hs_cost cost, char *text, size_t size)
{
    const struct hs_events_kind *events = hs_subject__events(subject);
    bool is_one = !(events->costs & (events->costs - 1));
    snprintf(text, size, "%s%s%s", events->words, is_one ? "" : " ", is_one ? "" : hs_subject__title(subject, cost));
}

bool hs_subject__counts_blocks(const struct hs_subject *subject)
{
    return !subject->kind || subject->kind->counts_blocks;
}

uint64_t hs_subject__bytes(const struct hs_subject *subject, const struct hs_total *total)
{
    return hs_subject__knows(subject, HS_COST_ALLOCATED) ? total->allocated_bytes : total->live_bytes;
}
