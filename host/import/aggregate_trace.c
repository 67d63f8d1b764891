// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/aggregate_trace.h"

#include "format/aggregate.h"
#include "host/base/numbers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DOMAINS = 2 };

// The stack's numbers at the highest tick are those of now, until they change.
struct aggregate_trace_stack {
    uint64_t sum[HS_SUM_COUNT], at_peak[HS_SUM_COUNT];
    uint64_t first_time, last_time;
    uint64_t peak_number; // of the peak that `at_peak` belongs to
    uint32_t number;
    uint8_t domain;
};

struct aggregate_trace_adding {
    const struct hs_trace *trace;
    struct hs_builder *builder;
    struct hs_import_tables *tables;
    struct hs_replay_counts *counts;
    struct hs_array stacks;     // struct aggregate_trace_stack
    uint32_t *index[DOMAINS];   // by stack: place + 1
    uint64_t all[HS_SUM_COUNT]; // of the heap
    struct hs_allowance allowance;
    uint64_t peak_number, last_tick;
    uint64_t until; // only ticks before this time, in ns; 0: all
    uint64_t ticks, folded[DOMAINS];
};

bool hs_aggregate_trace__is_one(const struct hs_trace *trace, const struct hs_import_tables *tables)
{
    size_t count;
    const struct hs_trace_chunk *chunks = hs_trace__chunks(trace, &count);
    const char *mode = hs_import_tables__info(tables, "mode");
    for (size_t i = 0; i < count; i++)
        if (chunks[i].kind == HS_CHUNK_SUMS)
            return true;
    return mode && !strcmp(mode, "aggregate");
}

static struct hs_live_total live_of(const uint64_t *sum)
{
    uint64_t bytes = hs_number__above(sum[HS_SUM_ALLOCATED_BYTES], sum[HS_SUM_FREED_BYTES]);
    return (struct hs_live_total){.bytes = bytes,
                                  .usable =
                                      bytes + hs_number__above(sum[HS_SUM_ALLOCATED_SLACK], sum[HS_SUM_FREED_SLACK]),
                                  .count = hs_number__above(sum[HS_SUM_ALLOCATED_COUNT], sum[HS_SUM_FREED_COUNT])};
}

// ---- one chunk ------------------------------------------------------------------------------------------------------

static struct aggregate_trace_stack *stack_of(struct aggregate_trace_adding *adding, unsigned domain, uint32_t number)
{
    number = hs_builder__known_stack(adding->builder, hs_same_stacks__number(adding->builder->same, number));
    uint32_t *place = &adding->index[domain][number];
    if (*place)
        return (struct aggregate_trace_stack *)adding->stacks.data + *place - 1;
    struct aggregate_trace_stack *stack = hs_array__add(&adding->stacks, sizeof *stack);
    if (!stack)
        return NULL;
    *stack = (struct aggregate_trace_stack){.number = number,
                                            .domain = (uint8_t)domain,
                                            .first_time = adding->builder->now,
                                            .peak_number = adding->peak_number};
    *place = (uint32_t)adding->stacks.count;
    return stack;
}

static void note_peak(const struct aggregate_trace_adding *adding, struct aggregate_trace_stack *stack)
{
    if (stack->peak_number == adding->peak_number)
        return;
    memcpy(stack->at_peak, stack->sum, sizeof stack->sum);
    stack->peak_number = adding->peak_number;
}

// The new value of a sum after a change: increases are limited by the allowance, and it never falls below 0.
static uint64_t changed(struct hs_allowance *allowance, uint64_t sum, uint64_t change)
{
    return change >> 63 ? hs_number__above(sum, 0 - change) : sum + hs_allowance__take(allowance, change);
}

static int add_record(struct aggregate_trace_adding *adding, unsigned domain, const struct hs_aggregate_record *record)
{
    struct aggregate_trace_stack *stack = stack_of(adding, domain, record->stack);
    if (!stack)
        return -ENOMEM;
    note_peak(adding, stack);
    stack->last_time = adding->builder->now;
    for (unsigned i = 0; i < HS_SUM_COUNT; i++) {
        uint64_t before = stack->sum[i];
        stack->sum[i] = changed(&adding->allowance, before, record->change[i]);
        if (domain == HS_AGGREGATE_HEAP)
            adding->all[i] += stack->sum[i] - before;
    }
    return 0;
}

static int add_payload(struct aggregate_trace_adding *adding, const uint8_t *payload, size_t length, bool *damaged)
{
    struct hs_aggregate_reader reader;
    struct hs_aggregate_head head;
    struct hs_aggregate_record record;
    struct hs_summary *summary = adding->builder->summary;
    *damaged = !hs_aggregate_open(&reader, payload, length, &head) || head.domain >= DOMAINS;
    if (*damaged)
        return 0;
    adding->folded[head.domain] = head.folded;
    if (head.domain == HS_AGGREGATE_HEAP) {
        summary->unknown_frees = head.unknown_frees;
        summary->reallocations = head.reallocations;
    }
    int failed = 0, more;
    while (!failed && (more = hs_aggregate_next(&reader, &record)) > 0)
        failed = add_record(adding, head.domain, &record);
    *damaged = !failed && more < 0;
    return failed;
}

static int add_chunk(struct aggregate_trace_adding *adding, const struct hs_trace_chunk *chunk)
{
    uint8_t *payload;
    size_t length;
    bool damaged = false;
    struct hs_replay_counts *counts = adding->counts;
    int failed = hs_trace__payload(adding->trace, chunk, &payload, &length);
    if (failed == -ENOMEM)
        return failed;
    enum hs_damage reason = failed && failed != -EBADMSG ? HS_DAMAGE_CHECKSUM : HS_DAMAGE_DECODE;
    bool unreadable = failed != 0;
    failed = unreadable ? 0 : add_payload(adding, payload, length, &damaged);
    if (unreadable || damaged) {
        counts->damage[reason]++;
        counts->damage_bytes[reason] += chunk->stored_length;
    }
    if (!unreadable) {
        counts->events += chunk->count;
        free(payload);
    }
    return failed;
}

// ---- ticks ----------------------------------------------------------------------------------------------------------

static void begin_tick(struct aggregate_trace_adding *adding, const struct hs_trace_chunk *chunk)
{
    struct hs_builder *builder = adding->builder;
    uint64_t now = hs_clock_map__ns(&builder->clock, chunk->last_time);
    if (now > builder->now)
        builder->now = now;
    if (builder->now >= builder->timeline.current_end)
        hs_timeline_builder__advance(builder);
    adding->last_tick = chunk->last_time;
    adding->ticks++;
}

static void end_tick(struct aggregate_trace_adding *adding, const uint64_t *before)
{
    struct hs_builder *builder = adding->builder;
    struct hs_summary *summary = builder->summary;
    struct hs_timeline_point *point = &builder->timeline.point[builder->timeline.current];
    struct hs_live_total live = builder->live_total = live_of(adding->all);
    point->allocated_bytes += hs_number__above(adding->all[HS_SUM_ALLOCATED_BYTES], before[HS_SUM_ALLOCATED_BYTES]);
    point->allocated_count += hs_number__above(adding->all[HS_SUM_ALLOCATED_COUNT], before[HS_SUM_ALLOCATED_COUNT]);
    point->freed_bytes += hs_number__above(adding->all[HS_SUM_FREED_BYTES], before[HS_SUM_FREED_BYTES]);
    point->freed_count += hs_number__above(adding->all[HS_SUM_FREED_COUNT], before[HS_SUM_FREED_COUNT]);
    if (live.bytes > point->live_bytes_max)
        point->live_bytes_max = live.bytes;
    if (live.count > point->live_count_max)
        point->live_count_max = live.count;
    if (live.bytes > summary->peak.bytes) {
        summary->peak = live;
        summary->peak_time = builder->now;
        adding->peak_number++;
    }
}

static int compare_chunks(const void *left, const void *right)
{
    const struct hs_trace_chunk *a = *(const struct hs_trace_chunk *const *)left;
    const struct hs_trace_chunk *b = *(const struct hs_trace_chunk *const *)right;
    if (a->last_time != b->last_time)
        return a->last_time < b->last_time ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static int add_ticks(struct aggregate_trace_adding *adding, const struct hs_trace_chunk **order, size_t count)
{
    int failed = 0;
    for (size_t i = 0; i < count && !failed;) {
        uint64_t before[HS_SUM_COUNT], time = order[i]->last_time;
        if (adding->until && hs_clock_map__ns(&adding->builder->clock, time) >= adding->until)
            break;
        memcpy(before, adding->all, sizeof before);
        begin_tick(adding, order[i]);
        for (; i < count && !failed && order[i]->last_time == time; i++)
            failed = add_chunk(adding, order[i]);
        if (!failed)
            end_tick(adding, before);
    }
    return failed;
}

static int add_all(struct aggregate_trace_adding *adding)
{
    size_t count, sums = 0;
    const struct hs_trace_chunk *chunks = hs_trace__chunks(adding->trace, &count);
    const struct hs_trace_chunk **order = malloc((count + 1) * sizeof *order);
    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        if (chunks[i].kind == HS_CHUNK_SUMS)
            order[sums++] = &chunks[i];
    qsort(order, sums, sizeof *order, compare_chunks);
    int failed = add_ticks(adding, order, sums);
    free(order);
    return failed;
}

// ---- what is left ---------------------------------------------------------------------------------------------------

// The slots of a process that was killed, or still runs, hold events that are in no sum yet.
static int count_untold(void *context, uint32_t stream, const struct hs_event *event, int phase, uint64_t time)
{
    struct aggregate_trace_adding *adding = context;
    (void)stream;
    (void)event;
    adding->builder->summary->untold_events += phase == HS_PHASE_END && time > adding->last_tick;
    uint64_t now = hs_clock_map__ns(&adding->builder->clock, time);
    if (now > adding->builder->now)
        adding->builder->now = now;
    return 0;
}

static int store_stack(struct aggregate_trace_adding *adding, struct aggregate_trace_stack *stack)
{
    struct hs_culled *sums = hs_array__add(&adding->tables->culled, sizeof *sums);
    if (!sums)
        return -ENOMEM;
    note_peak(adding, stack);
    *sums = (struct hs_culled){.stack = stack->number,
                               .kind = HS_CULLED_SUMS,
                               .domain = stack->domain == HS_AGGREGATE_HEAP ? HS_DOMAIN_HEAP : HS_DOMAIN_POOL,
                               .count = stack->sum[HS_SUM_ALLOCATED_COUNT],
                               .size = stack->sum[HS_SUM_ALLOCATED_BYTES],
                               .usable = stack->sum[HS_SUM_ALLOCATED_BYTES] + stack->sum[HS_SUM_ALLOCATED_SLACK],
                               .live = live_of(stack->sum),
                               .peak = live_of(stack->at_peak),
                               .temporary_count = stack->sum[HS_SUM_TEMPORARY_COUNT],
                               .temporary_size = stack->sum[HS_SUM_TEMPORARY_BYTES],
                               .first_time = stack->first_time,
                               .last_time = stack->last_time};
    if (stack->domain != HS_AGGREGATE_HEAP)
        adding->builder->summary->pool_allocations += sums->count;
    return 0;
}

static int store_all(struct aggregate_trace_adding *adding)
{
    struct aggregate_trace_stack *stacks = adding->stacks.data;
    int failed = 0;
    // What moved out of stack 0 altogether left nothing there.
    for (size_t i = 0; i < adding->stacks.count && !failed; i++)
        if (stacks[i].sum[HS_SUM_ALLOCATED_COUNT])
            failed = store_stack(adding, &stacks[i]);
    return failed;
}

static void fill_summary(struct aggregate_trace_adding *adding)
{
    struct hs_summary *summary = adding->builder->summary;
    const uint64_t *all = adding->all;
    const char *interval = hs_import_tables__info(adding->tables, "aggregate-interval");
    summary->aggregate_interval_ns = (interval ? strtoull(interval, NULL, 10) : 0) * 1000000000u;
    summary->aggregate_ticks = adding->ticks;
    summary->aggregate_until = hs_clock_map__ns(&adding->builder->clock, adding->last_tick);
    summary->capped_numbers = adding->allowance.capped;
    summary->folded_stacks = adding->folded[HS_AGGREGATE_HEAP];
    summary->allocations = all[HS_SUM_ALLOCATED_COUNT];
    summary->allocated_bytes = all[HS_SUM_ALLOCATED_BYTES];
    summary->allocated_usable = all[HS_SUM_ALLOCATED_BYTES] + all[HS_SUM_ALLOCATED_SLACK];
    summary->frees = hs_number__above(all[HS_SUM_FREED_COUNT], summary->reallocations);
    summary->temporary_count = all[HS_SUM_TEMPORARY_COUNT];
    summary->temporary_bytes = all[HS_SUM_TEMPORARY_BYTES];
}

int hs_aggregate_trace__import(const struct hs_trace *trace, struct hs_builder *builder,
                               struct hs_import_tables *tables, uint64_t until, struct hs_replay_counts *counts)
{
    struct aggregate_trace_adding adding = {.trace = trace,
                                            .builder = builder,
                                            .tables = tables,
                                            .counts = counts,
                                            .until = until,
                                            .allowance = {.left = HS_ALLOWANCE_SUMS}};
    struct hs_replay_counts rest = {0};
    int failed = 0;
    builder->summary->is_aggregate = true;
    for (unsigned i = 0; i < DOMAINS && !failed; i++) {
        adding.index[i] = calloc((size_t)builder->stack_limit + 1, sizeof *adding.index[i]);
        failed = adding.index[i] ? 0 : -ENOMEM;
    }
    if (!failed)
        failed = add_all(&adding);
    if (!failed)
        fill_summary(&adding);
    if (!failed)
        failed = hs_trace__replay(trace, count_untold, &adding, &rest);
    for (unsigned i = 0; i < HS_DAMAGE_COUNT; i++) {
        counts->damage[i] += rest.damage[i];
        counts->damage_bytes[i] += rest.damage_bytes[i];
    }
    if (!failed)
        failed = store_all(&adding);
    for (unsigned i = 0; i < DOMAINS; i++)
        free(adding.index[i]);
    free(adding.stacks.data);
    return failed;
}
