// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/unwound.h"

#include "host/report/missing.h"
#include "host/report/style.h"
#include "host/report/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHOWN = 8 };

struct end {
    int module; // -1: in none
    uint32_t reason;
    uint64_t samples;
};

struct unwound_ends {
    struct end *end; // most samples first
    size_t count;
};

// Where and why a stack ends. False: it is complete.
static bool find_end(const struct hs_subject *subject, uint32_t stack, struct end *end)
{
    size_t count;
    const struct hs_node *nodes = hs_store__nodes(subject->store, &count);
    uint32_t node = stack, last = 0;
    while (node && !hs_trace_symbols__is_cut(subject->symbols, node)) {
        last = hs_trace_symbols__is_guess(subject->symbols, node) ? last : node;
        node = hs_trace_symbols__parent(subject->symbols, node);
    }
    if (!node || node >= count)
        return false;
    *end = (struct end){last ? hs_trace_symbols__module(subject->symbols, last) : -1, (uint32_t)nodes[node].pc, 1};
    return true;
}

static int compare_places(const void *left, const void *right)
{
    const struct end *a = left, *b = right;
    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    return (a->reason > b->reason) - (a->reason < b->reason);
}

static int compare_samples(const void *left, const void *right)
{
    const struct end *a = left, *b = right;
    return a->samples != b->samples ? (a->samples < b->samples ? 1 : -1) : compare_places(left, right);
}

static int collect(struct unwound_ends *ends, const struct hs_subject *subject)
{
    size_t count, all = 0;
    const struct hs_sample *samples = hs_store__samples(subject->store, &count);
    *ends = (struct unwound_ends){calloc(count + 1, sizeof *ends->end), 0};
    if (!ends->end)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        all += samples[i].stack && find_end(subject, samples[i].stack, &ends->end[all]);
    qsort(ends->end, all, sizeof *ends->end, compare_places);
    for (size_t i = 0; i < all; i++) {
        struct end *last = ends->count ? &ends->end[ends->count - 1] : NULL;
        if (last && !compare_places(last, &ends->end[i]))
            last->samples++;
        else
            ends->end[ends->count++] = ends->end[i];
    }
    qsort(ends->end, ends->count, sizeof *ends->end, compare_samples);
    return 0;
}

static void find_status(const struct hs_subject *subject, const struct end *end, struct hs_symbols_status *status)
{
    *status = (struct hs_symbols_status){.path = ""};
    if (end->module >= 0)
        hs_symbols__status(hs_trace_symbols__session(subject->symbols), (size_t)end->module, status);
}

static void print_end(FILE *out, const struct hs_subject *subject, const struct end *end)
{
    struct hs_symbols_status status;
    char why[4096 + 64], wanted[3 * 4096];
    find_status(subject, end, &status);
    fprintf(out, "%8s  %s, in ", hs_text__count(end->samples).text, hs_cut_reason(end->reason));
    const char *path = *status.path ? status.path : "no module";
    hs_text__print(out, path, strlen(path));
    putc('\n', out);
    if (end->module < 0 || !hs_symbols__explain(hs_trace_symbols__session(subject->symbols), &status, why, sizeof why,
                                                wanted, sizeof wanted))
        return;
    fputs("          wanted: ", out);
    hs_text__print(out, wanted, strlen(wanted));
    putc('\n', out);
}

int hs_report__unwound(FILE *out, const struct hs_subject *subject)
{
    const struct hs_summary *summary = hs_store__summary(subject->store);
    const struct hs_style *style = hs_style__for(out);
    struct unwound_ends ends;
    int result = summary->snapshots ? collect(&ends, subject) : -ENOENT;
    if (result)
        return result == -ENOENT ? 0 : result;
    uint64_t early = 0;
    for (size_t i = 0; i < ends.count; i++)
        early += ends.end[i].samples;
    fprintf(out, "%sStacks of samples, unwound here: %s", style->heading, hs_text__count(summary->snapshots).text);
    fprintf(out, ", of which %s end early", hs_text__count(early).text);
    if (summary->damaged_snapshots)
        fprintf(out, " and %s are damaged", hs_text__count(summary->damaged_snapshots).text);
    fprintf(out, "%s\n", style->plain);
    for (size_t i = 0; i < ends.count && i < MOST_SHOWN; i++)
        print_end(out, subject, &ends.end[i]);
    putc('\n', out);
    free(ends.end);
    return 0;
}

int hs_report__unwound_json(struct hs_json *json, const struct hs_subject *subject)
{
    const struct hs_summary *summary = hs_store__summary(subject->store);
    struct unwound_ends ends;
    int result = summary->snapshots ? collect(&ends, subject) : -ENOENT;
    if (result)
        return result == -ENOENT ? 0 : result;
    hs_json__open_object(json, "unwound");
    hs_json__number(json, "stacks", summary->snapshots);
    hs_json__number(json, "damaged", summary->damaged_snapshots);
    hs_json__open_array(json, "ends");
    for (size_t i = 0; i < ends.count; i++) {
        struct hs_symbols_status status;
        find_status(subject, &ends.end[i], &status);
        hs_json__open_object(json, NULL);
        hs_json__string(json, "module", *status.path ? status.path : NULL);
        hs_json__string(json, "reason", hs_cut_reason(ends.end[i].reason));
        hs_json__number(json, "samples", ends.end[i].samples);
        hs_report__wanted_json(json, &status);
        hs_json__close_object(json);
    }
    hs_json__close_array(json);
    hs_json__close_object(json);
    free(ends.end);
    return 0;
}
