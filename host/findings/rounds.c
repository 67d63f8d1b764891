// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What each round of work between two marks leaves behind.
#include "host/findings/scene.h"

#include "host/report/text.h"

#include <stdlib.h>

#define LEAST_MARKS 5
#define MOST_MARKS  200
#define MOST_SITES  256

// The times of the marks, each once, in order.
static size_t take_marks(const struct hs_findings_scene *scene, uint64_t *times)
{
    size_t count, taken = 0;
    const struct hs_side_event *event = hs_store__side_events(scene->store, &count);
    for (size_t i = 0; i < count && taken < MOST_MARKS; i++)
        if (event[i].kind == HS_SIDE_MARK && (!taken || event[i].time > times[taken - 1]))
            times[taken++] = event[i].time;
    return taken;
}

static int add_site(struct hs_findings_scene *scene, const struct hs_finding_site *site, const struct hs_part *part,
                    size_t marks)
{
    unsigned growing = 0;
    bool same = true;
    const uint64_t first = part[1].live_bytes, last = part[marks - 1].live_bytes;
    const unsigned rounds = (unsigned)marks - 2; // the first one warms up
    for (size_t i = 2; i < marks; i++) {
        growing += part[i].live_bytes > part[i - 1].live_bytes;
        same = same && part[i].live_bytes - part[i - 1].live_bytes == part[2].live_bytes - part[1].live_bytes;
    }
    if (last <= first || growing * 10 < rounds * 8)
        return 0;
    char *name = hs_finding_site__name(site);
    struct hs_finding finding = {
        .confidence = same ? HS_CONFIDENCE_SURE : HS_CONFIDENCE_LIKELY,
        .text =
            hs_finding__text("Each round between two marks leaves %s%s behind, allocated by %s.",
                             same ? "" : "on average ", hs_text__bytes((last - first) / rounds).text, name ? name : ""),
        .reason = hs_finding__text("At %u of %u marks more was live than at the mark before; the first round is not "
                                   "counted.",
                                   growing, rounds),
        .bytes = last - first,
        .count = part[marks - 1].live_count > part[1].live_count ? part[marks - 1].live_count - part[1].live_count : 0,
        .stack = site->stack,
        .query = hs_findings_scene__query(scene, site->stack, ""),
        .view = "generations"};
    free(name);
    return hs_findings_scene__add(scene, finding);
}

int hs_find__rounds(struct hs_findings_scene *scene)
{
    uint64_t times[MOST_MARKS];
    struct hs_parts parts;
    const struct hs_filter filter = hs_findings_scene__filter(scene);
    const size_t marks = take_marks(scene, times), groups = scene->sites < MOST_SITES ? scene->sites : MOST_SITES;
    if (marks < LEAST_MARKS || !groups || scene->summary->is_aggregate)
        return 0;
    int result = hs_findings_scene__parts(scene, &filter, groups, times, marks, &parts);
    for (size_t i = 0; i < groups && !result; i++)
        result = add_site(scene, &scene->site[i], hs_parts__of(&parts, i), marks);
    if (parts.part)
        hs_parts__free(&parts);
    return result;
}
