// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Call sites whose blocks are freed at once.
#include "host/findings/scene.h"

#include "host/report/text.h"

#include <stdlib.h>

#define LEAST_COUNT 10000
#define MANY_COUNT  1000000

static int add_site(struct hs_findings_scene *scene, const struct hs_finding_site *site)
{
    const uint64_t count = site->sum.temporary_count, all = scene->sum.allocated_count;
    char *name = hs_finding_site__name(site);
    struct hs_finding finding = {
        .confidence = count >= MANY_COUNT && count >= all / 2 ? HS_CONFIDENCE_LIKELY : HS_CONFIDENCE_LOOK,
        .text = hs_finding__text("%s allocated by %s were freed at once: %s of all allocations.",
                                 hs_text__blocks(count).text, name ? name : "", hs_text__percent(count, all).text),
        .reason = hs_finding__text("Their thread allocated and freed nothing else in between. They took %s in all, but "
                                   "little at any one time: they cost time rather than memory.",
                                   hs_text__bytes(site->sum.temporary_bytes).text),
        .bytes = site->sum.temporary_bytes,
        .count = count,
        .stack = site->stack,
        .query = hs_findings_scene__query(scene, site->stack, "lifetime=only_temporary"),
        .view = "stacks"};
    free(name);
    return hs_findings_scene__add(scene, finding);
}

int hs_find__temporary(struct hs_findings_scene *scene)
{
    const struct hs_total *sum = &scene->sum;
    int result = 0;
    if (sum->temporary_count < LEAST_COUNT || sum->temporary_count <= sum->allocated_count / 5)
        return 0;
    for (size_t i = 0; i < scene->sites && !result; i++)
        if (scene->site[i].sum.temporary_count >= LEAST_COUNT &&
            scene->site[i].sum.temporary_count >= sum->temporary_count / 10)
            result = add_site(scene, &scene->site[i]);
    return result;
}
