// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Events other than blocks and mappings: marks, calls of mallopt, samples.
#include "host/import/builder.h"

#include <errno.h>

int hs_builder__side_event(struct hs_builder *builder, const struct hs_step *step)
{
    const struct hs_event *event = step->event;
    struct hs_stored_side_event *side = hs_array__add(&builder->side, sizeof *side);
    if (!side)
        return -ENOMEM;
    *side = (struct hs_stored_side_event){.time = builder->now, .stream = step->stream, .kind = HS_SIDE_MARK};
    if (event->kind == HS_EVENT_MARK) {
        side->value = (int64_t)event->value;
        return 0;
    }
    side->kind = HS_SIDE_MALLOPT;
    side->stack = hs_builder__known_stack(builder, step->stack);
    side->parameter = event->parameter;
    side->value = event->argument;
    side->result = event->result;
    return 0;
}

// Readings of a clock, and ranges of addresses, are not added up.
static uint64_t allowed_weight(struct hs_builder *builder, const struct hs_event *event)
{
    bool is_added = event->sampled == HS_SAMPLE_CPU || event->sampled == HS_SAMPLE_FAULT ||
                    event->sampled == HS_SAMPLE_FAULT_STACK || event->sampled == HS_SAMPLE_OFF_CPU;
    return is_added ? hs_allowance__take(&builder->sample_allowance, event->size) : event->size;
}

// Stamped when the recorder took it out of the kernel's ring.
int hs_builder__sample_event(struct hs_builder *builder, const struct hs_step *step)
{
    const struct hs_event *event = step->event;
    struct hs_summary *summary = builder->summary;
    struct hs_sample *sample = hs_array__add(&builder->samples, sizeof *sample);
    if (!sample)
        return -ENOMEM;
    *sample =
        (struct hs_sample){.time = builder->now > event->age ? builder->now - event->age : 0,
                           .address = event->address,
                           .weight = allowed_weight(builder, event),
                           .kind = event->sampled,
                           .tid = event->tid,
                           .stack = step->stack & HS_STACK_SNAPSHOT ? step->stack // until hs_snapshots__unwind
                                                                    : hs_builder__known_stack(builder, step->stack),
                           .duration = event->duration};
    switch (event->sampled) {
    case HS_SAMPLE_CPU:
        summary->cpu_samples++;
        break;
    case HS_SAMPLE_FAULT:
        summary->faulted_bytes += sample->weight;
        break;
    case HS_SAMPLE_FAULT_STACK:
        summary->fault_stack_samples++;
        summary->stacked_faults += sample->weight;
        break;
    }
    return 0;
}
