// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/export/measure.h"

size_t hs_measures__list(const struct hs_subject *subject, struct hs_measure measure[HS_MEASURES_MOST])
{
    static const enum hs_cost order[] = {HS_COST_PEAK, HS_COST_LIVE, HS_COST_ALLOCATED, HS_COST_TEMPORARY};
    size_t count = 0;
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        if (!hs_subject__knows(subject, order[i]))
            continue;
        measure[count++] = (struct hs_measure){order[i], false};
        if (hs_subject__counts_blocks(subject))
            measure[count++] = (struct hs_measure){order[i], true};
    }
    return count;
}

void hs_measure__title(const struct hs_subject *subject, struct hs_measure measure, char *title, size_t size)
{
    const struct hs_events_kind *events = hs_subject__events(subject);
    char heading[96];
    hs_subject__heading(subject, measure.cost, heading, sizeof(heading));
    if (subject->events == HS_EVENTS_HEAP)
        snprintf(title, size, "%s %s", measure.blocks ? "blocks" : "bytes", hs_subject__title(subject, measure.cost));
    else
        snprintf(title, size, "%s%s%s", measure.blocks ? events->thing : "", measure.blocks ? " of " : "", heading);
}
