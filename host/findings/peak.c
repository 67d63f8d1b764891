// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A peak far above what the program usually needs.
#include "host/findings/scene.h"

#include "host/report/text.h"

#include <errno.h>
#include <stdlib.h>

#define POINTS      1000
#define LEAST_TIMES 4
#define LEAST_BYTES ((uint64_t)1 << 20)

static int compare(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

// The median of what was live.
static int usual_level(struct hs_findings_scene *scene, uint64_t *usual)
{
    struct hs_timeline timeline;
    const struct hs_filter *filter = scene->question->restricted ? scene->question->filter : NULL;
    int result = hs_query__timeline(scene->store, filter, 0, scene->end, POINTS, scene->question->control, &timeline,
                                    scene->error);
    if (result)
        return result;
    uint64_t *level = malloc(timeline.count * sizeof(*level));
    size_t count = 0;
    // Points may lie behind the end: their width is rounded up.
    for (size_t i = 0; level && i < timeline.count && timeline.from + i * timeline.width <= scene->end; i++)
        level[count++] = timeline.point[i].live_bytes_end;
    if (count) {
        qsort(level, count, sizeof(*level), compare);
        *usual = level[count / 2];
    }
    free(level);
    hs_timeline__free(&timeline);
    return level ? 0 : hs_error__set(scene->error, ENOMEM, "out of memory");
}

static const struct hs_finding_site *site_at_peak(const struct hs_findings_scene *scene)
{
    const struct hs_finding_site *most = NULL;
    for (size_t i = 0; i < scene->sites; i++)
        if (!most || scene->site[i].sum.peak_bytes > most->sum.peak_bytes)
            most = &scene->site[i];
    return most;
}

int hs_find__high_peak(struct hs_findings_scene *scene)
{
    const uint64_t peak = scene->question->peak.bytes;
    uint64_t usual = 0;
    if (peak < LEAST_BYTES || (scene->question->restricted && scene->summary->is_aggregate))
        return 0;
    int result = usual_level(scene, &usual);
    const struct hs_finding_site *site = site_at_peak(scene);
    if (result || peak - usual < LEAST_BYTES || usual > peak / LEAST_TIMES || !site || scene->question->restricted)
        return result;
    char *name = hs_finding_site__name(site);
    struct hs_finding finding = {
        .confidence = HS_CONFIDENCE_LOOK,
        .text =
            hs_finding__text("The peak, %s after %s, is far above the usual %s. The largest part "
                             "of it was allocated by %s: %s.",
                             hs_text__bytes(peak).text, hs_text__time(scene->question->peak_time).text,
                             hs_text__bytes(usual).text, name ? name : "", hs_text__bytes(site->sum.peak_bytes).text),
        .reason = hs_finding__text("Half of the time no more than %s were live.", hs_text__bytes(usual).text),
        .bytes = peak - usual,
        .count = scene->question->peak.count,
        .whole_bytes = peak,
        .whole = "the peak",
        .stack = site->stack,
        .query = hs_finding__text("alive_at=%lluns", (unsigned long long)scene->question->peak_time),
        .view = "flame"};
    free(name);
    return hs_findings_scene__add(scene, finding);
}
