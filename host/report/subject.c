// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/report.h"

bool hs_subject__knows(const struct hs_subject *subject, enum hs_cost cost)
{
    return !subject->kind || (subject->kind->costs >> cost & 1);
}

const char *hs_subject__title(const struct hs_subject *subject, enum hs_cost cost)
{
    if (subject->kind && cost == HS_COST_LIVE)
        return subject->kind->live_title;
    if (!subject->kind && cost == HS_COST_PEAK && hs_store__summary(subject->store)->has_sums)
        return "live at the highest tick";
    return hs_cost__title(cost);
}

bool hs_subject__counts_blocks(const struct hs_subject *subject)
{
    return !subject->kind || subject->kind->counts_blocks;
}

uint64_t hs_subject__bytes(const struct hs_subject *subject, const struct hs_total *total)
{
    return hs_subject__knows(subject, HS_COST_ALLOCATED) ? total->allocated_bytes : total->live_bytes;
}
