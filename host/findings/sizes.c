// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the allocator adds to what was requested: for very small blocks, and for all.
#include "host/findings/scene.h"

#include "host/report/text.h"

#include <stdlib.h>

#define TINY        32 // bytes
#define LEAST_COUNT 10000
#define LEAST_BYTES ((uint64_t)1 << 20)

static uint32_t largest_stack(const struct hs_totals *totals)
{
    const struct hs_total *most = NULL;
    for (size_t i = 0; i < totals->count; i++)
        if (!most || totals->total[i].allocated_count > most->allocated_count)
            most = &totals->total[i];
    return most ? most->stack : 0;
}

static int add_tiny(struct hs_findings_scene *scene, const struct hs_totals *totals)
{
    const struct hs_total *sum = &totals->sum;
    const uint64_t added = sum->allocated_usable - sum->allocated_bytes;
    if (sum->allocated_count < LEAST_COUNT || added < HS_FINDING_SMALL_BYTES || added < sum->allocated_bytes / 4 ||
        sum->allocated_usable < scene->sum.peak_usable / 20)
        return 0;
    const uint32_t stack = largest_stack(totals);
    char *name = hs_findings_scene__name(scene, stack);
    struct hs_finding finding = {
        .confidence = HS_CONFIDENCE_LOOK,
        .text = hs_finding__text("At the peak there were %s under %u bytes. They hold %s, for which the allocator took "
                                 "%s. Most of them were allocated by %s.",
                                 hs_text__blocks(sum->allocated_count).text, TINY,
                                 hs_text__bytes(sum->allocated_bytes).text, hs_text__bytes(sum->allocated_usable).text,
                                 name ? name : ""),
        .reason = hs_finding__text("The allocator added %s to what was requested.",
                                   hs_text__percent(added, sum->allocated_bytes).text),
        .bytes = added,
        .count = sum->allocated_count,
        .stack = stack,
        .query = hs_finding__text("alive_at=%lluns&size_max=31", (unsigned long long)scene->question->peak_time),
        .view = "stacks"};
    free(name);
    return hs_findings_scene__add(scene, finding);
}

int hs_find__tiny(struct hs_findings_scene *scene)
{
    struct hs_filter filter = hs_findings_scene__filter(scene);
    struct hs_totals totals;
    if (scene->summary->is_aggregate || scene->sum.peak_count < LEAST_COUNT || filter.size_min >= TINY)
        return 0;
    filter.size_max = filter.size_max < TINY ? filter.size_max : TINY - 1;
    filter.flags_all |= HS_ROW_AT_PEAK;
    int result = hs_query__totals(scene->store, &filter, scene->question->control, &totals, scene->error);
    if (result)
        return result;
    result = add_tiny(scene, &totals);
    hs_totals__free(&totals);
    return result;
}

int hs_find__rounding(struct hs_findings_scene *scene)
{
    const struct hs_total *sum = &scene->sum;
    const uint64_t added = sum->peak_usable - sum->peak_bytes;
    if (added < LEAST_BYTES || added < sum->peak_bytes / 4)
        return 0;
    return hs_findings_scene__add(
        scene,
        (struct hs_finding){
            .confidence = HS_CONFIDENCE_LOOK,
            .text = hs_finding__text("At the peak the program asked for %s, and the allocator "
                                     "took %s for it.",
                                     hs_text__bytes(sum->peak_bytes).text, hs_text__bytes(sum->peak_usable).text),
            .reason =
                hs_finding__text("It rounds sizes up; here by %s.", hs_text__percent(added, sum->peak_bytes).text),
            .bytes = added,
            .count = sum->peak_count,
            .whole_bytes = sum->peak_usable,
            .whole = "the peak with what the allocator added",
            .query = hs_finding__text("alive_at=%lluns", (unsigned long long)scene->question->peak_time),
            .view = "flame"});
}
