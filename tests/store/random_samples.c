// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tests/store/random_samples.h"

#include <stdlib.h>

enum { PAGE = 4096 };

// An address that the program uses.
static uint64_t address_of(const struct random_program *program, struct random_state *random)
{
    const struct hs_event *event = &program->event[random_below(random, program->count)];
    uint64_t address = event->address ? event->address : 0x1000000;
    return address + random_below(random, event->size + PAGE);
}

static void fill(struct hs_event *event, const struct random_program *program, struct random_state *random)
{
    static const uint32_t kinds[] = {HS_SAMPLE_CPU,     HS_SAMPLE_CPU,    HS_SAMPLE_FAULT,      HS_SAMPLE_FAULT,
                                     HS_SAMPLE_OFF_CPU, HS_SAMPLE_ON_CPU, HS_SAMPLE_FAULT_STACK};
    bool is_silent = !random_below(random, 8);
    event->kind = HS_EVENT_SAMPLE;
    event->tid = is_silent ? RANDOM_SILENT_TID : RANDOM_FIRST_TID + (uint32_t)random_below(random, program->threads);
    event->sampled = kinds[random_below(random, sizeof(kinds) / sizeof(kinds[0]))];
    event->age = event->time ? random_below(random, event->time / 4 + 1) : 0;
    event->stack = random_below(random, 10) ? 1 + (uint32_t)random_below(random, program->stacks) : 0;
    if (event->sampled == HS_SAMPLE_CPU) {
        event->size = 1 + random_below(random, (event->time - event->age) / 8 + 1);
        return;
    }
    if (event->sampled == HS_SAMPLE_OFF_CPU || event->sampled == HS_SAMPLE_ON_CPU) {
        event->size = 1;
        return;
    }
    event->address = address_of(program, random);
    event->size = event->sampled == HS_SAMPLE_FAULT ? (1 + random_below(random, 9)) * PAGE : 31;
    event->stack = event->sampled == HS_SAMPLE_FAULT ? 0 : event->stack;
    bool is_single = random_below(random, 3) == 0;
    event->duration = event->sampled == HS_SAMPLE_FAULT && !is_single ? (uint32_t)random_below(random, 100000) : 0;
}

struct hs_event *random_samples__make(const struct random_program *program, struct random_state *random, size_t count)
{
    struct hs_event *events = calloc(count + 1, sizeof(*events));
    for (size_t i = 0; i < count; i++) {
        events[i].time = (i + 1) * (program->end_time / (count + 1));
        fill(&events[i], program, random);
    }
    return events;
}
