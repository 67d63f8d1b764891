// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Resident memory that no live block explains, as far as page faults tell.
#include "host/findings/scene.h"

#include "host/query/usage.h"
#include "host/report/budget.h"
#include "host/report/text.h"

#define LEAST_FREED ((uint64_t)2 << 20)
#define LEAST_OTHER ((uint64_t)16 << 20)

// Shortly before the end, as programs free all at the end. Blocks that are older than the recording would seem to be
// freed.
static int add_freed(struct hs_findings_scene *scene, const struct hs_budget *budget)
{
    const uint64_t freed = budget->part[HS_BUDGET_FREED];
    const uint64_t heap = freed + budget->part[HS_BUDGET_TOUCHED] + budget->part[HS_BUDGET_ADDED];
    if (freed < LEAST_FREED || freed < budget->resident / 4 || hs_store__info(scene->store, "attached"))
        return 0;
    return hs_findings_scene__add(
        scene,
        (struct hs_finding){.confidence = HS_CONFIDENCE_LOOK,
                            .text = hs_finding__text("%s are resident although no live block is there, shortly "
                                                     "before the end: freed blocks, and holes between blocks.",
                                                     hs_text__bytes(freed).text),
                            .reason = hs_finding__text("Live blocks fill %s of the %s of the heap that are "
                                                       "resident, as the page faults of the program show.",
                                                       hs_text__bytes(heap - freed).text, hs_text__bytes(heap).text),
                            .bytes = freed,
                            .whole_bytes = budget->resident,
                            .whole = "what is resident",
                            .query = hs_finding__text("alive_at=98%%25"),
                            .view = "blocks"});
}

static int add_other(struct hs_findings_scene *scene, const struct hs_budget *budget)
{
    const uint64_t mapped = budget->part[HS_BUDGET_MAPPED], code = budget->part[HS_BUDGET_CODE];
    const uint64_t rest = budget->part[HS_BUDGET_REST], other = mapped + code + rest;
    if (other < LEAST_OTHER || other < budget->resident / 4 * 3)
        return 0;
    return hs_findings_scene__add(
        scene,
        (struct hs_finding){
            .confidence = HS_CONFIDENCE_LOOK,
            .text =
                hs_finding__text("Resident memory is mostly not heap: of %s, %s are mapped by the program, %s are "
                                 "code and %s, and %s are other memory%s.",
                                 hs_text__bytes(budget->resident).text, hs_text__bytes(mapped).text,
                                 hs_text__bytes(code).text, budget->has_stacks ? "stacks" : "the main stack",
                                 hs_text__bytes(rest).text, budget->has_stacks ? "" : ", such as stacks of threads"),
            .reason = hs_finding__text("At the peak of resident memory, after %s, the heap had %s of it.",
                                       hs_text__time(budget->time).text, hs_text__bytes(budget->resident - other).text),
            .bytes = other,
            .whole_bytes = budget->resident,
            .whole = "what is resident",
            .query = hs_finding__text("%s", ""),
            .view = "maps"});
}

int hs_find__resident(struct hs_findings_scene *scene)
{
    struct hs_budget late, peak;
    uint64_t time, bytes;
    if (scene->summary->is_aggregate || scene->question->restricted || !hs_budget__is_known(scene->store))
        return 0;
    const struct hs_query_control *control = scene->question->control;
    int result = hs_budget__make(&late, scene->store, scene->late, control, scene->error);
    if (!result)
        result = hs_query__resident_peak(scene->store, control, &time, &bytes, scene->error);
    if (!result)
        result = hs_budget__make(&peak, scene->store, time, control, scene->error);
    if (!result)
        result = add_freed(scene, &late);
    return result ? result : add_other(scene, &peak);
}
