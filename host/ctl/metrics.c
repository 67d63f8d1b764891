// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/ctl/metrics.h"

#include "host/base/text_stream.h"
#include "host/dump/dump.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SITES_SHOWN = 20, SITE_FRAMES = 3 };

// ---- the process ---------------------------------------------------------------------------------------------------

static const struct {
    enum hs_metric kind;
    const char *name, *key, *help;
} families[] = {
    {HS_METRIC_GAUGE, "heapsonde_process_live_bytes", "live_bytes", "Bytes of the heap in use, estimated."},
    {HS_METRIC_GAUGE, "heapsonde_process_live_blocks", "live_objects", "Blocks of the heap in use, estimated."},
    {HS_METRIC_COUNTER, "heapsonde_process_sampled_bytes", "sampled_bytes",
     "Bytes that were allocated while sampling was on, estimated."},
    {HS_METRIC_COUNTER, "heapsonde_process_sampled_blocks", "sampled_objects",
     "Blocks that were allocated while sampling was on, estimated."},
    {HS_METRIC_COUNTER, "heapsonde_process_allocated_bytes", "allocated_bytes", "Bytes that were allocated."},
    {HS_METRIC_COUNTER, "heapsonde_process_deallocated_bytes", "deallocated_bytes", "Bytes that were freed."},
    {HS_METRIC_COUNTER, "heapsonde_process_samples", "samples_total", "Samples that were taken."},
    {HS_METRIC_COUNTER, "heapsonde_process_dropped_samples", "samples_dropped",
     "Samples that were left out because there was no memory."},
    {HS_METRIC_COUNTER, "heapsonde_process_shortened_samples", "samples_shortened",
     "Samples whose stacks were shortened because there was no memory."},
    {HS_METRIC_GAUGE, "heapsonde_process_live_samples", "samples", "Samples whose blocks are in use."},
    {HS_METRIC_GAUGE, "heapsonde_process_stacks", "stacks", "Different stacks of samples."},
    {HS_METRIC_GAUGE, "heapsonde_process_threads", "threads", "Threads that have allocated."},
    {HS_METRIC_GAUGE, "heapsonde_process_sample_interval_bytes", "sample_bytes",
     "Bytes between two samples on average."},
};

struct metrics_names {
    char program[64], pid[24];
};

static void put_process(struct hs_exposition *to, const struct metrics_names *names)
{
    hs_exposition__label(to, "program", names->program);
    hs_exposition__label(to, "pid", names->pid);
}

static void write_process(const struct hs_ctl_metrics *metrics, struct hs_exposition *to,
                          const struct metrics_names *names)
{
    hs_exposition__family(to, HS_METRIC_GAUGE, "heapsonde_process_sampling", "Whether sampling is on.");
    hs_exposition__begin(to);
    put_process(to, names);
    hs_exposition__end(to, hs_ctl_answer__flag(metrics->status, "prof.active"));
    for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++) {
        hs_exposition__family(to, families[i].kind, families[i].name, families[i].help);
        hs_exposition__begin(to);
        put_process(to, names);
        hs_exposition__end(to, (double)hs_ctl_answer__number(metrics->status, families[i].key));
    }
}

// ---- sites ---------------------------------------------------------------------------------------------------------

// Stacks whose innermost functions have the same names.
struct metrics_site {
    char text[HS_METRIC_LABEL];
    struct hs_dump_estimate sums;
};

static size_t put_frames(FILE *out, const struct hs_frames *frames, size_t shown)
{
    for (uint32_t i = 0; frames && i < frames->count && shown < SITE_FRAMES; i++) {
        if (!shown && frames->frame[i].role == HS_ROLE_ALLOCATOR)
            continue;
        fprintf(out, "%s%s", shown ? " < " : "", frames->frame[i].function);
        shown++;
    }
    return shown;
}

static void name_site(const struct hs_ctl_metrics *metrics, const struct hs_dump *dump,
                      const struct hs_dump_context *context, char text[HS_METRIC_LABEL])
{
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    struct hs_dump_walk walk = hs_dump__walk(dump, context);
    uint32_t location;
    size_t shown = 0;
    while (out && shown < SITE_FRAMES && hs_dump_walk__next(&walk, &location)) {
        uint64_t address = dump->location[location].address;
        const struct hs_frames *frames = metrics->addresses ? hs_addresses__frames(metrics->addresses, address) : NULL;
        if (!frames)
            fprintf(out, "%s0x%" PRIx64, shown ? " < " : "", address);
        shown = frames ? put_frames(out, frames, shown) : shown + 1;
    }
    char *whole = hs_text_stream__close(&stream);
    hs_exposition__clean(text, HS_METRIC_LABEL, whole && *whole ? whole : "[no stack]");
    free(whole);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct metrics_site *)a)->text, ((const struct metrics_site *)b)->text);
}

static int by_bytes(const void *a, const void *b)
{
    const struct metrics_site *left = a, *right = b;
    if (left->sums.live_bytes != right->sums.live_bytes)
        return left->sums.live_bytes < right->sums.live_bytes ? 1 : -1;
    return by_text(a, b);
}

// Returns the number of sites, the largest first.
static size_t merge(struct metrics_site *sites, size_t count)
{
    size_t kept = 0;
    qsort(sites, count, sizeof(*sites), by_text);
    for (size_t i = 0; i < count; i++) {
        if (kept && !by_text(&sites[kept - 1], &sites[i]))
            hs_dump_estimate__add(&sites[kept - 1].sums, sites[i].sums);
        else
            sites[kept++] = sites[i];
    }
    qsort(sites, kept, sizeof(*sites), by_bytes);
    return kept;
}

static void write_family(struct hs_exposition *to, const struct metrics_names *names, const struct metrics_site *sites,
                         size_t count, bool bytes)
{
    hs_exposition__family(to, HS_METRIC_GAUGE, bytes ? "heapsonde_site_live_bytes" : "heapsonde_site_live_blocks",
                          bytes ? "Bytes in use of the stacks that have most, estimated."
                                : "Blocks in use of these stacks, estimated.");
    for (size_t i = 0; i < count && i < SITES_SHOWN && sites[i].sums.live_bytes > 0; i++) {
        hs_exposition__begin(to);
        hs_exposition__label(to, "site", sites[i].text);
        put_process(to, names);
        hs_exposition__end(to, bytes ? sites[i].sums.live_bytes : sites[i].sums.live_blocks);
    }
}

static void write_sites(const struct hs_ctl_metrics *metrics, struct hs_exposition *to,
                        const struct metrics_names *names)
{
    struct hs_dump *dump;
    struct hs_error error;
    if (hs_dump__parse("heap", metrics->dump->body, metrics->dump->body_length, metrics->dump->body_length, &dump,
                       &error))
        return;
    struct metrics_site *sites = calloc(dump->context_count + 1, sizeof(*sites));
    for (size_t i = 0; sites && i < dump->context_count; i++) {
        sites[i].sums = hs_dump__estimate(dump, &dump->context[i].counts);
        name_site(metrics, dump, &dump->context[i], sites[i].text);
    }
    size_t count = sites ? merge(sites, dump->context_count) : 0;
    write_family(to, names, sites, count, true);
    write_family(to, names, sites, count, false);
    free(sites);
    hs_dump__close(dump);
}

void hs_ctl_metrics__write(void *context, struct hs_exposition *to)
{
    const struct hs_ctl_metrics *metrics = context;
    struct metrics_names names;
    hs_ctl__name(metrics->process->pid, names.program, sizeof(names.program));
    snprintf(names.pid, sizeof(names.pid), "%ld", (long)metrics->process->pid);
    write_process(metrics, to, &names);
    if (metrics->dump && metrics->dump->body)
        write_sites(metrics, to, &names);
}
