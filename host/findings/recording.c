// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the recording itself cannot tell.
#include "host/findings/scene.h"

#include "format/trace_format.h"
#include "host/report/report.h"
#include "host/report/text.h"

#include <stdlib.h>

// One percent of the whole.
static bool is_much(uint64_t part, uint64_t whole)
{
    return part > whole / 100;
}

static int add_note(struct hs_findings_scene *scene, char *text, char *reason, const char *advice, uint64_t bytes,
                    uint64_t count, bool first)
{
    return hs_findings_scene__add(scene, (struct hs_finding){.confidence = HS_CONFIDENCE_SURE,
                                                             .text = text,
                                                             .reason = reason,
                                                             .advice = advice,
                                                             .bytes = bytes,
                                                             .count = count,
                                                             .query = hs_findings_scene__query(scene, 0, ""),
                                                             .view = "recording",
                                                             .first = first});
}

// What follows from what was dropped, and what helps. `spoils`: the other findings may be wrong.
static const struct drop_meaning {
    const char *state, *effect, *advice;
    bool spoils;
} lost = {"missing in the recording", "Every number may be too low, and blocks may seem to be live that were freed.",
          "'heapsonde report' says what is missing.", true},
  meanings[HS_DROP_COUNT] = {
      [HS_DROP_NESTED] = {.advice = "Do not allocate in signal handlers: malloc(3) is not safe there "
                                    "(signal-safety(7))."},
      [HS_DROP_BUFFER] = {.advice = "Record again to a faster disk (--output), or with less data (--cull, "
                                    "--aggregate)."},
      [HS_DROP_MEMORY] = {.advice = "Let the process have more memory (ulimit -v, or the limit of its container) and "
                                    "record again."},
      [HS_DROP_STOPPED] = {.advice = "If the disk was full, make room there, or record again to another place "
                                     "(--output)."},
      [HS_DROP_SMALL_STACK] = {.advice = "Give these threads larger stacks (pthread_attr_setstacksize(3))."},
      [HS_DROP_LINK] = {.advice = "Record again with --stream-policy block, which waits for the host, or with less "
                                  "data (--cull, --aggregate)."},
      [HS_DROP_STACK_TABLE] = {"incomplete", "Their call sites are not known.",
                               "Record again with more memory for stacks (HEAPSONDE_MEMORY).", false},
      [HS_DROP_BLOCK_TABLE] = {"incomplete", "Live memory may be too low: such blocks count as freed at once.",
                               "Record again with more memory for blocks (HEAPSONDE_MEMORY).", true},
      [HS_DROP_SAMPLES] = {"missing in the recording",
                           "CPU time, waiting and page faults may be too low; the heap is not affected.",
                           "Record again while the machine is less busy, or with fewer kinds of events (--events).",
                           false},
      [HS_DROP_UNLOADING] = {"incomplete", "Their call sites are not known; the heap is not affected.",
                             "Usually nothing: this happens only while libraries are unloaded.", false},
      [HS_DROP_NO_REGISTERS] = {"incomplete", "Their call sites are not known; the heap is not affected.",
                                "Usually nothing: this happens only while threads end.", false},
      [HS_DROP_META] = {"missing in the recording", "Functions may lack their names, and stacks their callers.",
                        "Record again with --stream-policy block, which waits for the host, or with a larger "
                        "--stream-buffer.",
                        false},
      [HS_DROP_NO_ROOM] = {"incomplete", "Their call sites are not known.",
                           "Give these threads (pthread_attr_setstacksize(3)) or their signal handlers "
                           "(sigaltstack(2)) larger stacks.",
                           false},
      [HS_DROP_CHILDREN] = {"missing in the recording", "Their allocations are in no trace.",
                            "Choose a place where the child processes may write, too, as an absolute path "
                            "(--output).",
                            false},
      [HS_DROP_MODULES] = {"missing in the recording", "Stacks through this code lack names.",
                           "Record again with more memory for modules (HEAPSONDE_MEMORY).", false},
      [HS_DROP_FILES] = {"missing in the recording",
                         "Functions in these files lack names on machines that do not have the files.",
                         "Keep copies of these files, and name their folder with --sysroot.", false},
};

static struct drop_meaning meaning_of(unsigned reason)
{
    struct drop_meaning meaning = meanings[reason];
    if (!meaning.state) {
        meaning.state = lost.state;
        meaning.effect = lost.effect;
        meaning.spoils = lost.spoils;
        meaning.advice = meaning.advice ? meaning.advice : lost.advice;
    }
    return meaning;
}

static int add_dropped(struct hs_findings_scene *scene)
{
    const struct hs_summary *summary = scene->summary;
    int result = 0;
    for (unsigned i = 0; i < HS_DROP_COUNT && !result; i++) {
        const uint64_t count = summary->dropped[i];
        const struct drop_meaning meaning = meaning_of(i);
        if (!count)
            continue;
        result = add_note(scene,
                          hs_finding__text("%s %s are %s: %s. %s", hs_text__count(count).text, hs_drop_unit(i),
                                           meaning.state, hs_drop_explanation(i), meaning.effect),
                          hs_finding__text("%s %s recorded.", hs_text__counted(summary->events, "event").text,
                                           summary->events == 1 ? "was" : "were"),
                          meaning.advice, 0, count, meaning.spoils && is_much(count, summary->events + count));
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
                    "Copy the file again from where it was written. If it is damaged there, too, record again; what "
                    "could be read is shown.",
                    summary->damaged_bytes, summary->damaged_chunks,
                    is_much(summary->damaged_bytes, summary->file_size));
}

static int add_sums_only(struct hs_findings_scene *scene)
{
    if (!scene->summary->is_aggregate)
        return 0;
    if (hs_store__info(scene->store, "dumps"))
        return add_note(scene, hs_finding__text("Heap dumps contain sums instead of single blocks."),
                        hs_finding__text("Blocks that were allocated and freed between two dumps are in none of them."),
                        "Record the program with 'heapsonde run' if single blocks matter.", 0,
                        scene->summary->allocations, true);
    return add_note(scene, hs_finding__text("This recording contains sums instead of single blocks."),
                    hs_finding__text("It does not show which memory grows, is freed at once or lies in holes."),
                    "Record again without --aggregate (HEAPSONDE_MODE) if this matters.", 0,
                    scene->summary->allocations, true);
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
                    hs_finding__text("%s of the peak was allocated by functions whose names are unknown.",
                                     hs_text__percent(bytes, whole).text),
                    hs_finding__text("The symbols of these programs or libraries were not found."),
                    "Give the files that contain the names with --debug-dir or --sysroot. 'heapsonde report --modules' "
                    "says which files are missing.",
                    bytes, count, false);
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
                    hs_finding__text("The recorder was told to leave out short-lived blocks."),
                    "Record again without --cull if these blocks matter.", sum->culled_bytes, sum->culled_count, false);
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
