// SPDX-License-Identifier: MIT OR Apache-2.0
//
// jemalloc's threaded format and the older one with a line for each stack; the numbers of each line are made from its
// own sum, so that readers that scale line by line arrive at the estimates.
#include "runtime/prof/dump_facts.h"

static bool with_totals(void)
{
    return hs_prof_options.accum;
}

static void write_counts(struct hs_dump_output *output, const struct hs_counts *live, const struct hs_counts *total,
                         uint64_t sample_bytes)
{
    struct hs_written_counts now = hs_counts__to_write(live, sample_bytes), ever = {0, 0};
    if (with_totals())
        ever = hs_counts__to_write(total, sample_bytes);
    hs_dump_output__number(output, now.objects);
    HS_DUMP_OUTPUT__LITERAL(output, ": ");
    hs_dump_output__number(output, now.bytes);
    HS_DUMP_OUTPUT__LITERAL(output, " [");
    hs_dump_output__number(output, ever.objects);
    HS_DUMP_OUTPUT__LITERAL(output, ": ");
    hs_dump_output__number(output, ever.bytes);
    HS_DUMP_OUTPUT__LITERAL(output, "]");
}

uint32_t hs_dump__sum_stack(const struct hs_profile_snapshot *snapshot, uint32_t first, struct hs_counts *live,
                            struct hs_counts *total)
{
    *live = *total = (struct hs_counts){0};
    const struct hs_pair *pair = &snapshot->pairs[first];
    const uint32_t stack = pair->stack;
    uint32_t next = first;
    for (; next < snapshot->pair_count && pair->stack == stack; next++, pair++) {
        hs_counts__add(live, &pair->live);
        hs_counts__add(total, &pair->total);
    }
    return next;
}

static void write_frames(struct hs_dump_output *output, uint32_t stack)
{
    uint32_t count = hs_dump_facts__frames(output->facts, stack);
    hs_dump_output__stack(output, output->facts->frames, count);
}

// ---- heap_v2 --------------------------------------------------------------------------------------------------------

static void begin_thread(struct hs_dump_output *output, uint32_t uid)
{
    HS_DUMP_OUTPUT__LITERAL(output, "  t");
    hs_dump_output__number(output, uid);
    HS_DUMP_OUTPUT__LITERAL(output, ": ");
}

static void write_header(struct hs_dump_output *output, const struct hs_profile_snapshot *snapshot)
{
    HS_DUMP_OUTPUT__LITERAL(output, "  t*: ");
    write_counts(output, &snapshot->live, &snapshot->total, snapshot->sample_bytes);
    HS_DUMP_OUTPUT__LITERAL(output, "\n");
    for (uint32_t i = 0; i < snapshot->thread_count; i++) {
        const struct hs_profile_snapshot_thread *thread = &snapshot->threads[i];
        begin_thread(output, thread->uid);
        write_counts(output, &thread->live, &thread->total, snapshot->sample_bytes);
        if (thread->name[0]) {
            HS_DUMP_OUTPUT__LITERAL(output, " ");
            hs_dump_output__text(output, thread->name);
        }
        HS_DUMP_OUTPUT__LITERAL(output, "\n");
    }
}

static uint32_t write_stack(struct hs_dump_output *output, const struct hs_profile_snapshot *snapshot, uint32_t first)
{
    struct hs_counts live, total;
    uint32_t next = hs_dump__sum_stack(snapshot, first, &live, &total);
    HS_DUMP_OUTPUT__LITERAL(output, "@");
    write_frames(output, snapshot->pairs[first].stack);
    HS_DUMP_OUTPUT__LITERAL(output, "\n  t*: ");
    write_counts(output, &live, &total, snapshot->sample_bytes);
    HS_DUMP_OUTPUT__LITERAL(output, "\n");
    for (uint32_t i = first; i < next; i++) {
        begin_thread(output, snapshot->pairs[i].thread);
        write_counts(output, &snapshot->pairs[i].live, &snapshot->pairs[i].total, snapshot->sample_bytes);
        HS_DUMP_OUTPUT__LITERAL(output, "\n");
    }
    return next;
}

void hs_dump_write__heap_v2(struct hs_dump_output *output, const struct hs_profile_snapshot *snapshot)
{
    HS_DUMP_OUTPUT__LITERAL(output, "heap_v2/");
    hs_dump_output__number(output, snapshot->sample_bytes);
    HS_DUMP_OUTPUT__LITERAL(output, "\n");
    hs_dump_facts__write_comments(output, snapshot);
    write_header(output, snapshot);
    for (uint32_t i = 0; i < snapshot->pair_count && !output->error;)
        i = write_stack(output, snapshot, i);
    hs_dump_facts__write_map(output);
}

// ---- the older text -------------------------------------------------------------------------------------------------

void hs_dump_write__text(struct hs_dump_output *output, const struct hs_profile_snapshot *snapshot)
{
    HS_DUMP_OUTPUT__LITERAL(output, "heap profile: ");
    write_counts(output, &snapshot->live, &snapshot->total, snapshot->sample_bytes);
    HS_DUMP_OUTPUT__LITERAL(output, " @ heap_v2/");
    hs_dump_output__number(output, snapshot->sample_bytes);
    HS_DUMP_OUTPUT__LITERAL(output, "\n");
    hs_dump_facts__write_comments(output, snapshot);
    for (uint32_t i = 0, first; i < snapshot->pair_count && !output->error;) {
        struct hs_counts live, total;
        first = i;
        i = hs_dump__sum_stack(snapshot, i, &live, &total);
        HS_DUMP_OUTPUT__LITERAL(output, " ");
        write_counts(output, &live, &total, snapshot->sample_bytes);
        HS_DUMP_OUTPUT__LITERAL(output, " @");
        write_frames(output, snapshot->pairs[first].stack);
        HS_DUMP_OUTPUT__LITERAL(output, "\n");
    }
    hs_dump_facts__write_map(output);
}
