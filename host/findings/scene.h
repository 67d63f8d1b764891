// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the kinds of findings have in common: call sites, how their memory changed over time, and the list that they add
// to. Private to host/findings.
#ifndef HEAPSONDE_HOST_FINDINGS_SCENE_H
#define HEAPSONDE_HOST_FINDINGS_SCENE_H

#include "host/findings/finding.h"
#include "host/query/parts.h"

#define HS_FINDING_PARTS  20 // equal parts of the recorded time
#define HS_FINDING_TENTHS 10
#define HS_FINDING_FRAMES 3 // of a stack that make a call site

#define HS_FINDING_SMALL_BYTES   ((uint64_t)64 << 10)
#define HS_FINDING_SMALL_PERCENT 1
#define HS_FINDING_LONG_NS       10000000000u // in shorter recordings, starting looks like growing

// Stacks with the same innermost frames, allocators left out.
struct hs_finding_site {
    const struct hs_frame *frame[HS_FINDING_FRAMES];
    uint32_t frames;
    uint32_t stack, stacks; // the one with the most memory; their number
    uint64_t stack_bytes;   // private
    uint32_t number;        // private
    struct hs_total sum;
    uint64_t late_bytes, late_count; // live shortly before the end, and freed before it
    const struct hs_part *part;      // HS_FINDING_PARTS of them; NULL: too many sites, or not known
};

struct hs_findings_scene {
    const struct hs_findings_question *question;
    const struct hs_store *store;
    const struct hs_summary *summary;
    struct hs_findings *findings;
    struct hs_error *error;
    const struct hs_finding_kind *kind; // whose turn it is
    struct hs_total sum;                // of everything that matches
    uint64_t end, late;                 // of the recorded time; shortly before
    uint64_t late_bytes;                // live then, and freed before the end
    struct hs_finding_site *site;       // the largest first
    size_t sites;
    uint32_t *group_of; // by stack: 1 + its site; 0: it belongs to none
    size_t stacks;
    struct hs_parts parts;
};

int hs_findings_scene__open(struct hs_findings_scene *scene, const struct hs_findings_question *question,
                            struct hs_findings *findings, struct hs_error *error);
void hs_findings_scene__close(struct hs_findings_scene *scene);

// The filter of the question, to be narrowed.
struct hs_filter hs_findings_scene__filter(const struct hs_findings_scene *scene);

// The development of the first `groups` sites; part i ends at until[i].
int hs_findings_scene__parts(struct hs_findings_scene *scene, const struct hs_filter *filter, size_t groups,
                             const uint64_t *until, size_t parts, struct hs_parts *result);

// How often the live memory at the end of a tenth was above that of the one before, in the first `tenths` of them.
unsigned hs_finding_site__growing(const struct hs_finding_site *site, unsigned tenths);
// "parse (a.c:12), called by main (a.c:20)"; to be freed.
char *hs_finding_site__name(const struct hs_finding_site *site);
// The same for a stack.
char *hs_findings_scene__name(const struct hs_findings_scene *scene, uint32_t stack);

// Takes ownership of the strings. If a string is missing, memory was short. Small ones are counted only, unless
// `whole_bytes` is 0. Suppressed ones, too.
int hs_findings_scene__add(struct hs_findings_scene *scene, struct hs_finding finding);
// A formatted string for these; NULL: out of memory.
char *hs_finding__text(const char *format, ...) __attribute__((format(printf, 1, 2)));
// The query that selects the blocks of the function at the inner end of a stack, together with further parameters.
char *hs_findings_scene__query(const struct hs_findings_scene *scene, uint32_t stack, const char *more);

// kinds
int hs_find__recording(struct hs_findings_scene *scene);
int hs_find__never_freed(struct hs_findings_scene *scene);
int hs_find__bounded(struct hs_findings_scene *scene);
int hs_find__freed_at_end(struct hs_findings_scene *scene);
int hs_find__rounds(struct hs_findings_scene *scene);
int hs_find__high_peak(struct hs_findings_scene *scene);
int hs_find__temporary(struct hs_findings_scene *scene);
int hs_find__reallocated(struct hs_findings_scene *scene);
int hs_find__tiny(struct hs_findings_scene *scene);
int hs_find__rounding(struct hs_findings_scene *scene);
int hs_find__holes(struct hs_findings_scene *scene);
int hs_find__resident(struct hs_findings_scene *scene);
int hs_find__untouched(struct hs_findings_scene *scene);

#endif
