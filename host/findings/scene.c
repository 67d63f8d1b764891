// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/findings/scene.h"

#include "host/base/hash_index.h"
#include "host/base/path.h"
#include "host/base/text_stream.h"
#include "host/findings/suppression_match.h"
#include "host/report/frames.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// A stack is looked at if one of its sums is at least this part of that of all stacks. There cannot be many such.
#define LEAST_PART 200000u
// The number of call sites whose development over time is computed.
#define MOST_DEVELOPED 1024u

struct candidate {
    struct hs_total total;
    uint64_t late_bytes, late_count;
};

struct collecting {
    struct hs_findings_scene *scene;
    struct candidate *at;
    size_t count, room;
};

static int out_of_memory(struct hs_findings_scene *scene)
{
    return hs_error__set(scene->error, ENOMEM, "out of memory; a narrower filter needs less");
}

// ---- stacks --------------------------------------------------------------------------------------------------------

static int add_to_sum(void *context, const struct hs_total *total)
{
    hs_total__add(context, total);
    return 0;
}

static struct candidate *append(struct collecting *to, const struct hs_total *total)
{
    if (to->count == to->room) {
        const size_t room = 2 * to->room + 256;
        struct candidate *grown = reallocarray(to->at, room, sizeof(*grown));
        if (!grown)
            return NULL;
        to->at = grown;
        to->room = room;
    }
    to->at[to->count] = (struct candidate){.total = *total};
    return &to->at[to->count++];
}

static bool is_part(uint64_t value, uint64_t sum)
{
    return value && value >= sum / LEAST_PART;
}

static int collect(void *context, const struct hs_total *total)
{
    struct collecting *to = context;
    const struct hs_total *sum = &to->scene->sum;
    if (total->stack >= to->scene->stacks)
        return 0;
    if (!is_part(total->live_bytes, sum->live_bytes) && !is_part(total->peak_bytes, sum->peak_bytes) &&
        !is_part(total->temporary_count, sum->temporary_count))
        return 0;
    return append(to, total) ? 0 : -ENOMEM;
}

static int compare_stacks(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    return (a->total.stack > b->total.stack) - (a->total.stack < b->total.stack);
}

// What was live shortly before the end and was freed until then.
static int add_late(struct collecting *to)
{
    struct hs_findings_scene *scene = to->scene;
    struct hs_filter filter = hs_findings_scene__filter(scene);
    struct hs_totals totals;
    if (scene->summary->is_aggregate || scene->late >= scene->end)
        return 0;
    filter.free_min = filter.free_min > scene->late ? filter.free_min : scene->late + 1;
    filter.freed_only = true;
    filter.flags_none |= HS_ROW_REALLOCATED;
    filter.time_max = filter.time_max < scene->late ? filter.time_max : scene->late;
    const uint64_t least = scene->end / 50;
    filter.lifetime_min = filter.lifetime_min > least ? filter.lifetime_min : least;
    int result = hs_query__totals(scene->store, &filter, scene->question->control, &totals, scene->error);
    if (result)
        return result;
    scene->late_bytes = totals.sum.allocated_bytes;
    const size_t before = to->count;
    for (size_t i = 0; !result && i < totals.count; i++) {
        const struct hs_total *total = &totals.total[i];
        if (!is_part(total->allocated_bytes, totals.sum.allocated_bytes) || total->stack >= scene->stacks)
            continue;
        struct candidate key = {.total = {.stack = total->stack}};
        struct candidate *known = bsearch(&key, to->at, before, sizeof(key), compare_stacks);
        known = known ? known : append(to, &key.total);
        if (known) {
            known->late_bytes = total->allocated_bytes;
            known->late_count = total->allocated_count;
        }
        result = known ? 0 : out_of_memory(scene);
    }
    hs_totals__free(&totals);
    return result;
}

// ---- call sites ----------------------------------------------------------------------------------------------------

static bool same_site(const struct hs_finding_site *a, const struct hs_finding_site *b)
{
    for (uint32_t i = 0; i < a->frames && a->frames == b->frames; i++)
        if (!hs_frame__looks_like(a->frame[i], b->frame[i]))
            return false;
    return a->frames == b->frames;
}

static uint64_t hash_of(const struct hs_finding_site *site)
{
    uint64_t hash = site->frames;
    for (uint32_t i = 0; i < site->frames; i++) {
        hash = (hash ^ (uint64_t)(uintptr_t)hs_frame__identity(site->frame[i])) * 0x9e3779b97f4a7c15u;
        hash = (hash ^ hash >> 29 ^ site->frame[i]->line) * 0xbf58476d1ce4e5b9u;
    }
    return hash ^ hash >> 32;
}

static void look_up(const struct hs_findings_scene *scene, uint32_t stack, struct hs_finding_site *site)
{
    uint32_t total;
    *site = (struct hs_finding_site){.stack = stack, .stacks = 1};
    site->frames = hs_frames__of_stack(scene->question->symbols, stack, true, site->frame, HS_FINDING_FRAMES, &total);
}

static void add_candidate(struct hs_finding_site *site, const struct candidate *candidate)
{
    const uint64_t bytes = candidate->total.live_bytes + candidate->late_bytes + candidate->total.peak_bytes;
    hs_total__add(&site->sum, &candidate->total);
    site->late_bytes += candidate->late_bytes;
    site->late_count += candidate->late_count;
    if (bytes > site->stack_bytes) {
        site->stack_bytes = bytes;
        site->stack = candidate->total.stack;
    }
}

struct site_key {
    const struct hs_findings_scene *scene;
    const struct hs_finding_site *site;
};

static bool is_wanted(const void *key, uint32_t number)
{
    const struct site_key *wanted = key;
    return same_site(&wanted->scene->site[number], wanted->site);
}

static int group(struct hs_findings_scene *scene, const struct collecting *from)
{
    struct hs_hash_index index = {0};
    scene->site = calloc(from->count + 1, sizeof(*scene->site));
    int failed = scene->site ? 0 : -ENOMEM;
    for (size_t i = 0; i < from->count && !failed; i++) {
        struct hs_finding_site looked_up;
        look_up(scene, from->at[i].total.stack, &looked_up);
        const struct site_key wanted = {scene, &looked_up};
        const uint64_t hash = hash_of(&looked_up);
        uint32_t number = hs_hash_index__find(&index, hash, is_wanted, &wanted);
        if (number != HS_HASH_NONE) {
            scene->site[number].stacks++;
        } else {
            number = (uint32_t)scene->sites;
            scene->site[scene->sites++] = looked_up;
            failed = hs_hash_index__add(&index, hash, number);
        }
        add_candidate(&scene->site[number], &from->at[i]);
        scene->group_of[from->at[i].total.stack] = number + 1;
    }
    hs_hash_index__free(&index);
    return failed ? out_of_memory(scene) : 0;
}

static uint64_t weight(const struct hs_finding_site *site)
{
    return site->sum.live_bytes + site->late_bytes;
}

static int compare_sites(const void *left, const void *right)
{
    const struct hs_finding_site *a = left, *b = right;
    if (weight(a) != weight(b))
        return weight(a) < weight(b) ? 1 : -1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

// Sites in the order of weight; what group_of says follows them.
static int sort_sites(struct hs_findings_scene *scene)
{
    uint32_t *place = calloc(scene->sites + 1, sizeof(*place));
    if (!place)
        return out_of_memory(scene);
    for (size_t i = 0; i < scene->sites; i++)
        scene->site[i].number = (uint32_t)i + 1;
    qsort(scene->site, scene->sites, sizeof(*scene->site), compare_sites);
    for (size_t i = 0; i < scene->sites; i++)
        place[scene->site[i].number] = (uint32_t)i + 1;
    for (size_t i = 0; i < scene->stacks; i++)
        scene->group_of[i] = place[scene->group_of[i]];
    free(place);
    return 0;
}

// ---- over time -----------------------------------------------------------------------------------------------------

static int develop(struct hs_findings_scene *scene)
{
    uint64_t until[HS_FINDING_PARTS];
    const struct hs_filter filter = hs_findings_scene__filter(scene);
    size_t groups = scene->sites < MOST_DEVELOPED ? scene->sites : MOST_DEVELOPED;
    while (groups && !weight(&scene->site[groups - 1]))
        groups--;
    if (!groups || scene->summary->is_aggregate || scene->end < HS_FINDING_PARTS)
        return 0;
    for (unsigned i = 0; i < HS_FINDING_PARTS; i++)
        until[i] = scene->end / HS_FINDING_PARTS * (i + 1);
    until[HS_FINDING_PARTS - 1] = scene->end;
    int result = hs_findings_scene__parts(scene, &filter, groups, until, HS_FINDING_PARTS, &scene->parts);
    for (size_t i = 0; !result && i < groups; i++)
        scene->site[i].part = hs_parts__of(&scene->parts, i);
    return result;
}

// Only stacks of the first sites are asked for.
int hs_findings_scene__parts(struct hs_findings_scene *scene, const struct hs_filter *filter, size_t groups,
                             const uint64_t *until, size_t parts, struct hs_parts *result)
{
    const size_t words = scene->stacks / 64 + 1;
    uint64_t *word = calloc(words, sizeof(*word));
    uint32_t *group_of = calloc(scene->stacks + 1, sizeof(*group_of));
    struct hs_filter narrowed = *filter;
    int failed = word && group_of ? 0 : out_of_memory(scene);
    for (size_t stack = 0; !failed && stack < scene->stacks; stack++) {
        if (!scene->group_of[stack] || scene->group_of[stack] > groups)
            continue;
        group_of[stack] = scene->group_of[stack];
        word[stack / 64] |= (uint64_t)1 << stack % 64;
    }
    narrowed.stacks = (struct hs_set){word, scene->stacks};
    const struct hs_parts_question question = {&narrowed, group_of, scene->stacks, groups, until, parts};
    if (!failed)
        failed = hs_query__parts(scene->store, &question, scene->question->control, result, scene->error);
    free(word);
    free(group_of);
    return failed;
}

unsigned hs_finding_site__growing(const struct hs_finding_site *site, unsigned tenths)
{
    unsigned growing = 0;
    uint64_t before = 0;
    for (unsigned i = 0; site->part && i < tenths; i++) {
        const uint64_t now = site->part[(i + 1) * HS_FINDING_PARTS / HS_FINDING_TENTHS - 1].live_bytes;
        growing += now > before;
        before = now;
    }
    return growing;
}

// ---- opening -------------------------------------------------------------------------------------------------------

static int visit(struct hs_findings_scene *scene, hs_total_visitor visitor, void *context)
{
    int result = scene->question->each(scene->question->context, visitor, context);
    return result ? out_of_memory(scene) : 0;
}

int hs_findings_scene__open(struct hs_findings_scene *scene, const struct hs_findings_question *question,
                            struct hs_findings *findings, struct hs_error *error)
{
    const struct hs_summary *summary = hs_store__summary(question->store);
    struct collecting collecting = {.scene = scene};
    *scene = (struct hs_findings_scene){.question = question,
                                        .store = question->store,
                                        .summary = summary,
                                        .findings = findings,
                                        .error = error,
                                        .end = summary->end_time,
                                        .late = summary->end_time - summary->end_time / 50};
    hs_store__nodes(question->store, &scene->stacks);
    scene->group_of = calloc(scene->stacks + 1, sizeof(*scene->group_of));
    int result = scene->group_of ? visit(scene, add_to_sum, &scene->sum) : out_of_memory(scene);
    if (!result)
        result = visit(scene, collect, &collecting);
    if (!result)
        result = add_late(&collecting);
    if (!result)
        result = group(scene, &collecting);
    if (!result)
        result = sort_sites(scene);
    free(collecting.at);
    return result ? result : develop(scene);
}

void hs_findings_scene__close(struct hs_findings_scene *scene)
{
    hs_parts__free(&scene->parts);
    free(scene->site);
    free(scene->group_of);
}

struct hs_filter hs_findings_scene__filter(const struct hs_findings_scene *scene)
{
    struct hs_filter filter;
    hs_filter__init(&filter);
    return scene->question->filter ? *scene->question->filter : filter;
}

// ---- words ---------------------------------------------------------------------------------------------------------

char *hs_finding__text(const char *format, ...)
{
    va_list list;
    char *text = NULL;
    va_start(list, format);
    const int length = vasprintf(&text, format, list);
    va_end(list);
    return length < 0 ? NULL : text;
}

char *hs_finding_site__name(const struct hs_finding_site *site)
{
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    for (uint32_t i = 0; out && i < site->frames; i++) {
        fputs(i ? ", called by " : "", out);
        hs_frame__write(out, site->frame[i]);
    }
    if (out && !site->frames)
        fputs("code without a call stack", out);
    return hs_text_stream__close(&stream);
}

char *hs_findings_scene__name(const struct hs_findings_scene *scene, uint32_t stack)
{
    struct hs_finding_site site;
    look_up(scene, stack, &site);
    return hs_finding_site__name(&site);
}

// The frame whose function a query can select; NULL: there is none.
static const struct hs_frame *selectable_frame(const struct hs_findings_scene *scene, uint32_t stack)
{
    struct hs_finding_site site;
    look_up(scene, stack, &site);
    return site.frames ? site.frame[0] : NULL;
}

// The function as a regular expression, escaped for a query.
static void write_regex(FILE *out, const char *function)
{
    fputs("function_regex=%5E", out);
    for (; *function; function++) {
        const unsigned char c = (unsigned char)*function;
        const bool is_word = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
        if (!is_word && c < 128)
            fputs("%5C", out);
        fprintf(out, is_word ? "%c" : "%%%02X", c);
    }
    fputs("%24", out);
}

char *hs_findings_scene__query(const struct hs_findings_scene *scene, uint32_t stack, const char *more)
{
    const struct hs_frame *frame = stack ? selectable_frame(scene, stack) : NULL;
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    if (!out)
        return NULL;
    if (frame && frame->kind == HS_FRAME_NAMED)
        write_regex(out, frame->function);
    else if (stack)
        fprintf(out, "backtraces=%u", (unsigned)stack);
    fprintf(out, "%s%s", stack && *more ? "&" : "", more);
    return hs_text_stream__close(&stream);
}

// ---- the list ------------------------------------------------------------------------------------------------------

static void free_strings(struct hs_finding *finding)
{
    free(finding->text);
    free(finding->reason);
    free(finding->query);
    free(finding->suppression);
}

static bool is_small(const struct hs_finding *finding)
{
    return finding->whole_bytes && (finding->bytes < HS_FINDING_SMALL_BYTES ||
                                    finding->bytes < finding->whole_bytes / 100 * HS_FINDING_SMALL_PERCENT);
}

static char *suppression_of(const struct hs_findings_scene *scene, uint32_t stack)
{
    const struct hs_frame *frame = selectable_frame(scene, stack);
    return frame ? hs_finding__text("%s:^%s$", scene->kind->id, frame->function) : NULL;
}

int hs_findings_scene__add(struct hs_findings_scene *scene, struct hs_finding finding)
{
    struct hs_findings *all = scene->findings;
    finding.kind = scene->kind;
    finding.advice = finding.advice ? finding.advice : finding.kind->advice;
    finding.suppression = finding.stack ? suppression_of(scene, finding.stack) : NULL;
    if (!finding.text || !finding.reason || !finding.query) {
        free_strings(&finding);
        return out_of_memory(scene);
    }
    const bool small = is_small(&finding);
    if (small) {
        all->small_count++;
        all->small_bytes += finding.bytes;
    }
    const bool suppressed =
        !small && finding.stack &&
        hs_suppressions__match(scene->question->suppressions, scene->kind->id, scene->question->symbols, finding.stack);
    if (suppressed) {
        all->suppressed_count++;
        all->suppressed_bytes += finding.bytes;
    }
    struct hs_finding *more =
        small || suppressed ? NULL : reallocarray(all->finding, all->count + 1, sizeof(*all->finding));
    if (more) {
        all->finding = more;
        more[all->count++] = finding;
        return 0;
    }
    free_strings(&finding);
    return small || suppressed ? 0 : out_of_memory(scene);
}
