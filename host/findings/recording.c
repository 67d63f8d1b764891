// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the recording itself cannot tell.
#include "host/findings/scene.h"

#include "host/report/report.h"
#include "host/report/text.h"

#include <stdlib.h>

// One percent of the whole: then it comes before everything else.
static bool is_much(uint64_t part, uint64_t whole)
{
    return part > whole / 100;
}

static int add_note(struct hs_findings_scene *scene, char *text, char *reason, uint64_t bytes, uint64_t count,
                    bool first)
{
    return hs_findings_scene__add(scene, (struct hs_finding){.confidence = HS_CONFIDENCE_SURE,
                                                             .text = text,
                                                             .reason = reason,
                                                             .bytes = bytes,
                                                             .count = count,
                                                             .query = hs_findings_scene__query(scene, 0, ""),
                                                             .view = "recording",
                                                             .first = first});
}

static int add_dropped(struct hs_findings_scene *scene)
{
    const struct hs_summary *summary = scene->summary;
    int result = 0;
    for (unsigned i = 0; i < 16 && !result; i++) {
        const uint64_t count = summary->dropped[i];
        if (!count)
            continue;
        result =
            add_note(scene,
                     hs_finding__text("%s %s are missing in the recording: %s. Every number may be too low, and "
                                      "blocks may seem to be live that were freed.",
                                      hs_text__count(count).text, hs_drop_unit(i), hs_drop_explanation(i)),
                     hs_finding__text("%s %s were recorded.", hs_text__count(summary->events).text, hs_drop_unit(i)), 0,
                     count, is_much(count, summary->events + count));
    }
    return result;
}

static int add_damage(struct hs_findings_scene *scene)
{
    const struct hs_summary *summary = scene->summary;
    if (!summary->damaged_chunks)
        return 0;
    return add_note(scene,
                    hs_finding__text("%s of the file are damaged and could not be read.",
                                     hs_text__bytes(summary->damaged_bytes).text),
                    hs_finding__text("They lie in %s parts of the file.", hs_text__count(summary->damaged_chunks).text),
                    summary->damaged_bytes, summary->damaged_chunks,
                    is_much(summary->damaged_bytes, summary->file_size));
}

static int add_sums_only(struct hs_findings_scene *scene)
{
    if (!scene->summary->is_aggregate)
        return 0;
    if (hs_store__info(scene->store, "dumps"))
        return add_note(scene, hs_finding__text("Heap dumps contain sums instead of single blocks."),
                        hs_finding__text("What was allocated and freed between two dumps is in none of them."), 0,
                        scene->summary->allocations, true);
    return add_note(scene, hs_finding__text("This recording contains sums instead of single blocks."),
                    hs_finding__text("Which memory grows, is freed at once or lies in holes cannot be told from it."),
                    0, scene->summary->allocations, true);
}

static bool is_unnamed(const struct hs_finding_site *site)
{
    return !site->frames || site->frame[0]->kind != HS_FRAME_NAMED;
}

// Call sites whose function has no name.
static int add_unnamed(struct hs_findings_scene *scene)
{
    uint64_t bytes = 0, count = 0;
    const uint64_t whole = scene->sum.peak_bytes;
    for (size_t i = 0; i < scene->sites; i++) {
        bytes += is_unnamed(&scene->site[i]) ? scene->site[i].sum.peak_bytes : 0;
        count += is_unnamed(&scene->site[i]) ? scene->site[i].sum.peak_count : 0;
    }
    if (!bytes || !is_much(bytes, whole))
        return 0;
    return add_note(scene,
                    hs_finding__text("%s of the peak were allocated by functions whose names are unknown.",
                                     hs_text__percent(bytes, whole).text),
                    hs_finding__text("The symbols of these programs or libraries were not found."), bytes, count,
                    is_much(bytes, whole));
}

static int add_culled(struct hs_findings_scene *scene)
{
    const struct hs_total *sum = &scene->sum;
    if (!sum->culled_count || scene->summary->is_aggregate)
        return 0;
    return add_note(scene,
                    hs_finding__text("%s that were freed soon are known only as sums: when they were allocated, and "
                                     "their sizes, are not known.",
                                     hs_text__blocks(sum->culled_count).text),
                    hs_finding__text("The recorder was told to leave out short-lived blocks."), sum->culled_bytes,
                    sum->culled_count, false);
}

int hs_find__recording(struct hs_findings_scene *scene)
{
    static int (*const notes[])(struct hs_findings_scene *) = {add_sums_only, add_dropped, add_damage, add_unnamed,
                                                               add_culled};
    int result = 0;
    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]) && !result; i++)
        result = notes[i](scene);
    return result;
}
