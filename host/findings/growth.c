// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Call sites whose memory grows: never freed, bounded, or freed only at the end.
#include "host/findings/scene.h"

#include "host/report/text.h"

#include <stdlib.h>

// ---- never freed ---------------------------------------------------------------------------------------------------

struct site_sums {
    uint64_t allocated, kept, kept_count;
    unsigned kept_tenths; // in which something was allocated that is still there
};

static struct site_sums sum_up(const struct hs_finding_site *site)
{
    struct site_sums sums = {0};
    for (unsigned i = 0; i < HS_FINDING_PARTS; i++) {
        sums.allocated += site->part[i].allocated_bytes;
        sums.kept += site->part[i].kept_bytes;
        sums.kept_count += site->part[i].kept_count;
        sums.kept_tenths += i % 2 && (site->part[i].kept_count || site->part[i - 1].kept_count);
    }
    return sums;
}

// The live memory stays at one size in the second half, although blocks come and go.
static bool is_flat(const struct hs_finding_site *site)
{
    uint64_t least = UINT64_MAX, most = 0, allocated = 0;
    for (unsigned i = HS_FINDING_PARTS / 2; i < HS_FINDING_PARTS; i++) {
        const struct hs_part *part = &site->part[i];
        least = part->live_bytes < least ? part->live_bytes : least;
        most = part->live_bytes > most ? part->live_bytes : most;
        allocated += part->allocated_bytes;
    }
    return most && most - least <= most / 10 && allocated >= most / 4;
}

// A program that only loads what it works on looks like one that leaks.
static const char *of_short_recording(const struct hs_findings_scene *scene)
{
    return scene->end < HS_FINDING_LONG_NS
               ? " The recording is short, so that this may be what the program works on, or how it starts."
               : "";
}

// What is only loaded is complete at some time, however long that takes. At an even pace a quarter comes last.
static bool grows_to_the_end(const struct hs_finding_site *site, uint64_t kept)
{
    const uint64_t before = site->part[HS_FINDING_PARTS / 4 * 3 - 1].live_bytes;
    return before + kept / 10 <= site->part[HS_FINDING_PARTS - 1].live_bytes;
}

static int add_of_site(struct hs_findings_scene *scene, const struct hs_finding_site *site, struct hs_finding finding)
{
    finding.whole_bytes = scene->sum.live_bytes;
    finding.whole = "what is live at the end";
    finding.stack = site->stack;
    finding.query = hs_findings_scene__query(scene, site->stack, "lifetime=only_leaked");
    finding.view = "stacks";
    return hs_findings_scene__add(scene, finding);
}

static int add_of_sites(struct hs_findings_scene *scene,
                        int (*add)(struct hs_findings_scene *scene, const struct hs_finding_site *site))
{
    int result = 0;
    for (size_t i = 0; i < scene->sites && scene->site[i].part && !result; i++)
        result = add(scene, &scene->site[i]);
    return result;
}

static int add_never_freed(struct hs_findings_scene *scene, const struct hs_finding_site *site)
{
    const struct site_sums sums = sum_up(site);
    const unsigned growing = hs_finding_site__growing(site, HS_FINDING_TENTHS);
    const bool is_all = sums.kept >= sums.allocated / 100 * 95;
    const uint64_t half = site->part[HS_FINDING_PARTS / 2 - 1].live_bytes;
    if (growing < 8 || sums.kept_tenths < 8 || is_flat(site))
        return 0;
    const bool to_the_end = grows_to_the_end(site, sums.kept);
    const bool likely = scene->end >= HS_FINDING_LONG_NS && sums.kept_count >= 10 && (is_all || growing >= 9) &&
                        half <= sums.kept / 4 * 3 && to_the_end;
    char *name = hs_finding_site__name(site);
    struct hs_finding finding = {
        .confidence = likely ? HS_CONFIDENCE_LIKELY : HS_CONFIDENCE_LOOK,
        .text =
            hs_finding__text("%s in %s allocated by %s %s still there at the end, and %s more and more.",
                             hs_text__bytes(sums.kept).text, hs_text__blocks(sums.kept_count).text, name ? name : "",
                             sums.kept_count == 1 ? "is" : "are", sums.kept_count == 1 ? "it became" : "they became"),
        .reason = hs_finding__text("It grew in %u of %u equal parts of the run, and %s of what was allocated there was "
                                   "never freed.%s%s",
                                   growing, HS_FINDING_TENTHS, hs_text__percent(sums.kept, sums.allocated).text,
                                   to_the_end ? "" : " In the last quarter of the run there was hardly more.",
                                   of_short_recording(scene)),
        .bytes = sums.kept,
        .count = sums.kept_count};
    free(name);
    return add_of_site(scene, site, finding);
}

int hs_find__never_freed(struct hs_findings_scene *scene)
{
    return add_of_sites(scene, add_never_freed);
}

// ---- bounded -------------------------------------------------------------------------------------------------------

static int add_bounded(struct hs_findings_scene *scene, const struct hs_finding_site *site)
{
    const struct site_sums sums = sum_up(site);
    const struct hs_part *last = &site->part[HS_FINDING_PARTS - 1];
    if (!is_flat(site) || sums.kept_tenths < 3)
        return 0;
    char *name = hs_finding_site__name(site);
    struct hs_finding finding = {
        .confidence = HS_CONFIDENCE_LOOK,
        .text = hs_finding__text(
            "%s grew to %s in %s and then stayed at this size. It looks like a cache with a limit.", name ? name : "",
            hs_text__bytes(last->live_bytes).text, hs_text__blocks(last->live_count).text),
        .reason = hs_finding__text("In the second half of the run its live memory changed by at most a tenth, although "
                                   "blocks were allocated and freed: %s were allocated in all.",
                                   hs_text__bytes(sums.allocated).text),
        .bytes = last->live_bytes,
        .count = last->live_count};
    free(name);
    return add_of_site(scene, site, finding);
}

int hs_find__bounded(struct hs_findings_scene *scene)
{
    return add_of_sites(scene, add_bounded);
}

// ---- freed at the end ----------------------------------------------------------------------------------------------

#define BEFORE_THE_END 9 // tenths that certainly lie before everything is freed

static bool grows_until_the_end(const struct hs_finding_site *site)
{
    if (!site->part || site->late_bytes < HS_FINDING_SMALL_BYTES)
        return false;
    return hs_finding_site__growing(site, BEFORE_THE_END) >= 8;
}

static char *late_query(const struct hs_findings_scene *scene, uint32_t stack)
{
    char more[128];
    snprintf(more, sizeof(more), "alive_at=98%%25&lifetime=only_deallocated_in_current_range&lifetime_min=%lluns",
             (unsigned long long)(scene->end / 50));
    return hs_findings_scene__query(scene, stack, more);
}

static int add_growing(struct hs_findings_scene *scene, const struct hs_finding_site *site)
{
    char *name = hs_finding_site__name(site);
    struct hs_finding finding = {
        .confidence =
            scene->end >= HS_FINDING_LONG_NS && site->late_count >= 10 ? HS_CONFIDENCE_LIKELY : HS_CONFIDENCE_LOOK,
        .text = hs_finding__text("%s in %s allocated by %s became more and more, and were freed only when the program "
                                 "ended.",
                                 hs_text__bytes(site->late_bytes).text, hs_text__blocks(site->late_count).text,
                                 name ? name : ""),
        .reason =
            hs_finding__text("It grew in %u of the first %u tenths of the run and was freed in the last 2 %%. A "
                             "program that runs longer would need more.%s",
                             hs_finding_site__growing(site, BEFORE_THE_END), BEFORE_THE_END, of_short_recording(scene)),
        .bytes = site->late_bytes,
        .count = site->late_count,
        .whole_bytes = scene->late_bytes,
        .whole = "what was freed only at the end",
        .stack = site->stack,
        .query = late_query(scene, site->stack),
        .view = "stacks"};
    free(name);
    return hs_findings_scene__add(scene, finding);
}

// The rest in one finding: programs that free everything at their end are no problem by that.
static int add_rest(struct hs_findings_scene *scene, uint64_t bytes)
{
    if (bytes < HS_FINDING_SMALL_BYTES * 16 || bytes < scene->sum.peak_bytes / 5)
        return 0;
    return hs_findings_scene__add(
        scene,
        (struct hs_finding){
            .confidence = HS_CONFIDENCE_LOOK,
            .text = hs_finding__text("%s were needed until the program ended, or were freed no earlier.",
                                     hs_text__bytes(bytes).text),
            .reason = hs_finding__text("These blocks lived for at least 2 %% of the run and were freed in its last "
                                       "2 %%. They did not keep growing."),
            .bytes = bytes,
            .whole_bytes = scene->sum.peak_bytes,
            .whole = "the peak",
            .query = late_query(scene, 0),
            .view = "stacks"});
}

int hs_find__freed_at_end(struct hs_findings_scene *scene)
{
    uint64_t rest = scene->late_bytes;
    int result = 0;
    for (size_t i = 0; i < scene->sites && !result; i++) {
        const struct hs_finding_site *site = &scene->site[i];
        if (!grows_until_the_end(site))
            continue;
        rest -= rest < site->late_bytes ? rest : site->late_bytes;
        result = add_growing(scene, site);
    }
    return result ? result : add_rest(scene, rest);
}
