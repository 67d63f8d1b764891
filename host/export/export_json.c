// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The whole trace as per-stack sums. Frames that occur in many stacks are written once: `stacks[].frames` holds indices
// into `frames`, innermost first.
#include "host/base/json.h"
#include "host/export/export.h"
#include "host/report/samples.h"
#include "host/report/stack_json.h"

#include <errno.h>
#include <stdlib.h>

// Frames are numbered in the order in which the stacks need them: a node's frames are consecutive.
struct numbering {
    uint32_t *first; // by node: number of its first frame + 1
    size_t node_count;
    uint32_t next;
};

static void write_frames(struct hs_json *json, const struct hs_subject *subject, struct numbering *numbering)
{
    hs_json__open_array(json, "frames");
    for (size_t i = 0; i < subject->totals.count; i++) {
        uint32_t node = subject->totals.total[i].stack;
        while (node && node < numbering->node_count && !numbering->first[node]) {
            const struct hs_frames *frames = hs_trace_symbols__node(subject->symbols, node);
            numbering->first[node] = numbering->next + 1;
            numbering->next += frames->count;
            for (uint32_t k = 0; k < frames->count; k++)
                hs_report__frame_json(json, &frames->frame[k]);
            node = hs_trace_symbols__parent(subject->symbols, node);
        }
    }
    hs_json__close_array(json);
}

static void write_trace_numbers(struct hs_json *json, const struct hs_total *total)
{
    hs_json__number(json, "allocated_bytes", total->allocated_bytes);
    hs_json__number(json, "allocated_usable_bytes", total->allocated_usable);
    hs_json__number(json, "allocations", total->allocated_count);
    hs_json__number(json, "live_bytes", total->live_bytes);
    hs_json__number(json, "live_usable_bytes", total->live_usable);
    hs_json__number(json, "live_count", total->live_count);
    hs_json__number(json, "peak_bytes", total->peak_bytes);
    hs_json__number(json, "peak_usable_bytes", total->peak_usable);
    hs_json__number(json, "peak_count", total->peak_count);
    hs_json__number(json, "temporary_bytes", total->temporary_bytes);
    hs_json__number(json, "temporary_count", total->temporary_count);
    hs_json__number(json, "first_time_ns", total->first_time);
    hs_json__number(json, "last_time_ns", total->last_time);
}

static void write_stack(struct hs_json *json, const struct hs_subject *subject, const struct numbering *numbering,
                        const struct hs_total *total)
{
    hs_json__open_object(json, NULL);
    hs_json__number(json, "stack", total->stack);
    if (subject->events != HS_EVENTS_HEAP) {
        hs_report__events_json(json, subject->events, total);
        hs_json__number(json, "first_time_ns", total->first_time);
        hs_json__number(json, "last_time_ns", total->last_time);
    } else if (subject->kind) {
        if (hs_subject__knows(subject, HS_COST_ALLOCATED)) {
            hs_json__number(json, "allocated_bytes", total->allocated_bytes);
            hs_json__number(json, "allocations", total->allocated_count);
        }
        hs_json__number(json, "live_bytes", total->live_bytes);
        hs_json__number(json, "live_count", total->live_count);
    } else {
        write_trace_numbers(json, total);
    }
    hs_json__open_array(json, "frames");
    uint32_t node = total->stack;
    for (; node && node < numbering->node_count; node = hs_trace_symbols__parent(subject->symbols, node)) {
        const struct hs_frames *frames = hs_trace_symbols__node(subject->symbols, node);
        for (uint32_t k = 0; k < frames->count; k++)
            hs_json__number(json, NULL, numbering->first[node] - 1 + k);
    }
    hs_json__close_array(json);
    hs_json__close_object(json);
}

int hs_export__json(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options)
{
    (void)options;
    struct hs_json json;
    struct numbering numbering = {0};
    numbering.node_count = subject->symbols->node_count;
    numbering.first = calloc(numbering.node_count + 1, sizeof(*numbering.first));
    if (!numbering.first)
        return -ENOMEM;
    const struct hs_summary *summary = hs_store__summary(subject->store);
    hs_json__start(&json, out, true);
    hs_json__open_object(&json, NULL);
    hs_json__string(&json, "format", "heapsonde-stacks");
    hs_json__number(&json, "version", 1);
    hs_json__string(&json, "program", hs_program_name(subject->store));
    hs_json__string(&json, "arch", hs_arch_name(summary));
    if (subject->events != HS_EVENTS_HEAP)
        hs_json__string(&json, "events", hs_subject__events(subject)->name);
    if (!subject->kind) {
        hs_json__number(&json, "duration_ns", summary->end_time);
        hs_json__number(&json, "peak_bytes", subject->peak.bytes);
        hs_json__number(&json, "peak_time_ns", subject->peak_time);
    }
    hs_json__string(&json, "restriction", subject->restriction);
    if (subject->transforms)
        hs_json__string(&json, "transforms", subject->transforms);
    write_frames(&json, subject, &numbering);
    hs_json__open_array(&json, "stacks");
    for (size_t i = 0; i < subject->totals.count; i++)
        write_stack(&json, subject, &numbering, &subject->totals.total[i]);
    hs_json__close_array(&json);
    hs_json__close_object(&json);
    free(numbering.first);
    return 0;
}
