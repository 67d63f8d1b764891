// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Memory that was allocated but never used, as far as page faults tell.
#include "host/findings/scene.h"

#include "host/query/event_totals.h"
#include "host/report/text.h"

#include <stdlib.h>

#define LEAST_BYTES ((uint64_t)1 << 20)
#define MOST_SITES  10

static uint64_t untouched(const struct hs_total *total)
{
    return total->allocated_usable > total->allocated_bytes ? total->allocated_usable - total->allocated_bytes : 0;
}

static int compare(const void *left, const void *right)
{
    const struct hs_total *a = left, *b = right;
    if (untouched(a) != untouched(b))
        return untouched(a) < untouched(b) ? 1 : -1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

static int add_stack(struct hs_findings_scene *scene, const struct hs_total *total, uint64_t whole)
{
    if (untouched(total) < LEAST_BYTES || total->allocated_bytes >= total->allocated_usable / 2)
        return 0;
    char *name = hs_findings_scene__name(scene, total->stack);
    struct hs_finding finding = {
        .confidence = HS_CONFIDENCE_LOOK,
        .text =
            hs_finding__text("%s of the %s that %s allocated were never used.", hs_text__bytes(untouched(total)).text,
                             hs_text__bytes(total->allocated_usable).text, name ? name : ""),
        .reason = hs_finding__text("Only %s of its pages were ever touched, as the page faults of the program show.",
                                   hs_text__percent(total->allocated_bytes, total->allocated_usable).text),
        .bytes = untouched(total),
        .count = total->allocated_count,
        .whole_bytes = whole,
        .whole = "what was allocated",
        .stack = total->stack,
        .query = hs_findings_scene__query(scene, total->stack, "events=touched"),
        .view = "flame"};
    free(name);
    return hs_findings_scene__add(scene, finding);
}

int hs_find__untouched(struct hs_findings_scene *scene)
{
    struct hs_totals totals;
    if (scene->summary->is_aggregate || !hs_events__are_in(HS_EVENTS_TOUCHED, scene->store))
        return 0;
    const struct hs_filter filter = hs_findings_scene__filter(scene);
    int result = hs_query__event_totals(scene->store, HS_EVENTS_TOUCHED, &filter, scene->question->control, &totals,
                                        scene->error);
    if (result)
        return result;
    qsort(totals.total, totals.count, sizeof(*totals.total), compare);
    for (size_t i = 0; i < totals.count && i < MOST_SITES && !result; i++)
        result = add_stack(scene, &totals.total[i], totals.sum.allocated_usable);
    hs_totals__free(&totals);
    return result;
}
