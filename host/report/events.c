// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/events.h"

#include <stdio.h>
#include <string.h>

#define ALL_COSTS ((1u << HS_COST_COUNT) - 1)
#define ALL_ONLY  (1u << HS_COST_ALLOCATED)
#define OF_PAGES  (1u << HS_COST_ALLOCATED | 1u << HS_COST_LIVE)

static const struct hs_events_kind kinds[HS_EVENTS_COUNT] = {
    [HS_EVENTS_HEAP] = {"heap", "memory", "bytes", "blocks", ALL_COSTS, "", hs_text__bytes, hs_text__blocks},
    [HS_EVENTS_CPU] = {"cpu", "CPU time", "nanoseconds", "samples", ALL_ONLY, "cpu", hs_text__time, hs_text__samples},
    [HS_EVENTS_OFF_CPU] = {"off_cpu", "time off the processor", "nanoseconds", "samples", ALL_ONLY, "off-cpu",
                           hs_text__time, hs_text__samples},
    [HS_EVENTS_FAULTS] = {"faults", "page faults", "count", "samples", ALL_ONLY, "faults", hs_text__faults,
                          hs_text__samples},
    [HS_EVENTS_TOUCHED] = {"touched", "touched memory", "bytes", "blocks", OF_PAGES, "faults", hs_text__bytes,
                           hs_text__blocks},
    [HS_EVENTS_TOUCHED_MAPPINGS] = {"touched_mappings", "touched memory of mappings", "bytes", "mappings", OF_PAGES,
                                    "faults", hs_text__bytes, hs_text__mappings},
};

const struct hs_events_kind *hs_events_kind__of(enum hs_events events)
{
    return &kinds[events];
}

unsigned hs_events__costs(enum hs_events events, const struct hs_store *store)
{
    const char *known = events == HS_EVENTS_HEAP ? hs_store__info(store, "known-costs") : NULL;
    unsigned costs = 0;
    for (unsigned cost = 0; known && cost < HS_COST_COUNT; cost++)
        if (strstr(known, hs_cost__name((enum hs_cost)cost)))
            costs |= 1u << cost;
    const unsigned all = hs_events_kind__of(events)->costs;
    return costs & all ? costs & all : all;
}

const char *hs_events__absence(enum hs_events events, const struct hs_store *store, char *text, size_t size)
{
    const struct hs_events_kind *kind = hs_events_kind__of(events);
    if (hs_events__are_in(events, store))
        return NULL;
    if (hs_events__were_looked_for(events, store))
        snprintf(text, size, "has no sample of %s: the program used less than one sampling period", kind->words);
    else
        snprintf(text, size, "has no %s; record with --events heap,%s", kind->words, kind->needs);
    return text;
}

enum hs_events hs_events__parse(const char *word)
{
    for (int i = 0; i < HS_EVENTS_COUNT; i++) {
        if (!strcmp(word, kinds[i].name))
            return (enum hs_events)i;
    }
    return HS_EVENTS_HEAP;
}
