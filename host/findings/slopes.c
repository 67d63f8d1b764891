// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/findings/slopes.h"

#include "host/findings/scene.h"
#include "host/report/style.h"
#include "host/report/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COUNTED (HS_SLOPES_LAST - HS_SLOPES_FIRST)

// Bytes per part: the slope of the straight line with the least squares.
static double slope_of(const struct hs_part *part)
{
    double mean_x = 0, mean_y = 0, above = 0, below = 0;
    for (int i = HS_SLOPES_FIRST; i <= HS_SLOPES_LAST; i++) {
        mean_x += (double)i / (COUNTED + 1);
        mean_y += (double)part[i].live_bytes / (COUNTED + 1);
    }
    for (int i = HS_SLOPES_FIRST; i <= HS_SLOPES_LAST; i++) {
        above += (i - mean_x) * ((double)part[i].live_bytes - mean_y);
        below += (i - mean_x) * (i - mean_x);
    }
    return above / below;
}

static int compare(const void *left, const void *right)
{
    const struct hs_slope *a = left, *b = right;
    if (a->bytes_per_second != b->bytes_per_second)
        return a->bytes_per_second < b->bytes_per_second ? 1 : -1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

// It grew in more than half of the parts, and is larger at the last one: more than ups and downs.
static void take_site(struct hs_slopes *growing, const struct hs_finding_site *site, double seconds)
{
    struct hs_slope one = {.stack = site->stack,
                           .before = site->part[HS_SLOPES_FIRST].live_bytes,
                           .after = site->part[HS_SLOPES_LAST].live_bytes,
                           .bytes_per_second = slope_of(site->part) / seconds};
    for (int i = HS_SLOPES_FIRST; i < HS_SLOPES_LAST; i++)
        one.parts += site->part[i + 1].live_bytes > site->part[i].live_bytes;
    if (one.after > one.before && one.bytes_per_second > 0 && 2 * one.parts > COUNTED)
        growing->site[growing->count++] = one;
}

static int name_sites(struct hs_slopes *growing, const struct hs_findings_scene *scene, size_t most)
{
    if (growing->count)
        qsort(growing->site, growing->count, sizeof(*growing->site), compare);
    growing->count = growing->count < most ? growing->count : most;
    for (size_t i = 0; i < growing->count; i++) {
        growing->site[i].name = hs_findings_scene__name(scene, growing->site[i].stack);
        if (!growing->site[i].name)
            return hs_error__set(scene->error, ENOMEM, "out of memory");
    }
    return 0;
}

int hs_slopes__find(struct hs_slopes *growing, const struct hs_findings_question *question, size_t most,
                    struct hs_error *error)
{
    struct hs_findings_scene scene;
    struct hs_findings findings = {0};
    *growing = (struct hs_slopes){0};
    if (hs_store__summary(question->store)->is_aggregate)
        return hs_error__set(error, EINVAL,
                             "a trace of sums has no times of blocks, which --growth needs; "
                             "'heapsonde diff --base-at TIME --at TIME FILE' shows what grew between two ticks");
    int result = hs_findings_scene__open(&scene, question, &findings, error);
    const uint64_t part = scene.end / HS_FINDING_PARTS;
    growing->from = part * (HS_SLOPES_FIRST + 1);
    growing->to = part * (HS_SLOPES_LAST + 1);
    growing->site = calloc(scene.sites + 1, sizeof(*growing->site));
    if (!result && !growing->site)
        result = hs_error__set(error, ENOMEM, "out of memory");
    for (size_t i = 0; !result && i < scene.sites && scene.site[i].part; i++)
        take_site(growing, &scene.site[i], (double)part / 1e9);
    if (!result)
        result = name_sites(growing, &scene, most);
    hs_findings_scene__close(&scene);
    if (result)
        hs_slopes__free(growing);
    return result;
}

void hs_slopes__free(struct hs_slopes *growing)
{
    for (size_t i = 0; i < growing->count; i++)
        free(growing->site[i].name);
    free(growing->site);
    *growing = (struct hs_slopes){0};
}

void hs_slopes__text(FILE *out, const struct hs_slopes *growing)
{
    const struct hs_style *style = hs_style__for(out);
    if (!growing->count) {
        fprintf(out, "Nothing grows from %s to %s.\n", hs_text__time(growing->from).text,
                hs_text__time(growing->to).text);
        return;
    }
    fprintf(out, "%sWhat still grows, the fastest first%s (from %s to %s)\n", style->heading, style->plain,
            hs_text__time(growing->from).text, hs_text__time(growing->to).text);
    for (size_t i = 0; i < growing->count; i++) {
        const struct hs_slope *site = &growing->site[i];
        fprintf(out, "%s%4zu. %s%s; %s at first, %s at last; it grew in %u of %d parts\n        ", style->number, i + 1,
                hs_text__bytes_rate(site->bytes_per_second).text, style->plain, hs_text__bytes(site->before).text,
                hs_text__bytes(site->after).text, site->parts, COUNTED);
        hs_text__print(out, site->name, strlen(site->name));
        fputc('\n', out);
    }
}

void hs_slopes__json(struct hs_json *json, const struct hs_slopes *growing)
{
    hs_json__number(json, "from_ns", growing->from);
    hs_json__number(json, "to_ns", growing->to);
    hs_json__open_array(json, "growing");
    for (size_t i = 0; i < growing->count; i++) {
        const struct hs_slope *site = &growing->site[i];
        hs_json__open_object(json, NULL);
        hs_json__string(json, "site", site->name);
        hs_json__real(json, "bytes_per_second", site->bytes_per_second);
        hs_json__number(json, "bytes_before", site->before);
        hs_json__number(json, "bytes_after", site->after);
        hs_json__number(json, "growing_parts", site->parts);
        hs_json__number(json, "parts", COUNTED);
        hs_json__number(json, "backtrace_id", site->stack);
        hs_json__close_object(json);
    }
    hs_json__close_array(json);
}
