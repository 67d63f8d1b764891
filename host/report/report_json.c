// SPDX-License-Identifier: MIT OR Apache-2.0
#include "format/trace_format.h"
#include "host/base/json.h"
#include "host/report/budget_write.h"
#include "host/report/cut_stacks.h"
#include "host/report/kernel_stacks.h"
#include "host/report/missing.h"
#include "host/report/over_time.h"
#include "host/report/report.h"
#include "host/report/samples.h"
#include "host/report/stack_json.h"
#include "host/report/top.h"
#include "host/report/unseen.h"
#include "host/report/unwound.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void write_reasons(struct hs_json *json, const char *key, const uint64_t *counts, unsigned from,
                          const char *(*name)(unsigned))
{
    uint64_t unknown = 0;
    hs_json__open_object(json, key);
    for (unsigned i = from; i < 16; i++) {
        if (counts[i] && !strcmp(name(i), "unknown"))
            unknown += counts[i];
        else if (counts[i])
            hs_json__number(json, name(i), counts[i]);
    }
    if (unknown)
        hs_json__number(json, "unknown", unknown);
    hs_json__close_object(json);
}

static const char *state_name(uint64_t state)
{
    static const char *const names[] = {"recording", "closed", "stopped", "exec"};
    return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

static void write_program(struct hs_json *json, const struct hs_subject *subject)
{
    const struct hs_summary *summary = hs_store__summary(subject->store);
    char command[4096];
    hs_command_line(subject->store, command, sizeof(command));
    hs_json__string(json, "program", hs_program_name(subject->store));
    hs_json__string(json, "command", command);
    hs_json__string(json, "trace", subject->path);
    hs_json__string(json, "trace_id", summary->trace_id);
    hs_json__string(json, "arch", hs_arch_name(summary));
    hs_json__string(json, "byte_order", summary->byte_order == HS_BYTE_ORDER_BIG ? "big" : "little");
    hs_json__number(json, "pointer_size", summary->pointer_size);
    hs_json__number(json, "pid", summary->pid);
    hs_json__number(json, "start_realtime_ns", summary->start_realtime_ns);
    hs_json__number(json, "duration_ns", summary->end_time);
    hs_json__string(json, "state", state_name(summary->state));
    hs_json__string(json, "incomplete", hs_store__info(subject->store, "incomplete"));
    hs_json__string(json, "ignored_variables", hs_store__info(subject->store, "ignored-variables"));
    hs_json__string(json, "restriction", subject->restriction);
    const char *attached = hs_store__info(subject->store, "attached");
    if (attached)
        hs_json__number(json, "attached_after_ns", strtoull(attached, NULL, 10));
    else
        hs_json__null(json, "attached_after_ns");
    const char *older = hs_store__info(subject->store, "older-bytes");
    if (older)
        hs_json__number(json, "older_bytes", strtoull(older, NULL, 10));
    else
        hs_json__null(json, "older_bytes");
}

// The facts about an aggregate trace; every report of a trace has these keys.
static void write_kind(struct hs_json *json, const struct hs_summary *summary)
{
    static const char *const unknown[] = {"peak_between_ticks", "times", "sizes", "lifetimes", "threads"};
    hs_json__string(json, "holds", summary->is_aggregate ? "sums" : "events");
    if (!summary->is_aggregate)
        return;
    hs_json__open_object(json, "sums");
    hs_json__number(json, "interval_ns", summary->aggregate_interval_ns);
    hs_json__number(json, "ticks", summary->aggregate_ticks);
    hs_json__number(json, "last_tick_ns", summary->aggregate_until);
    hs_json__number(json, "folded_stacks", summary->folded_stacks);
    hs_json__number(json, "untold_events", summary->untold_events);
    hs_json__string(json, "peak_is", "highest_tick");
    hs_json__open_array(json, "not_known");
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
        hs_json__string(json, NULL, unknown[i]);
    hs_json__close_array(json);
    hs_json__close_object(json);
}

static void write_numbers(struct hs_json *json, const struct hs_subject *subject)
{
    const struct hs_summary *summary = hs_store__summary(subject->store);
    const struct hs_total *sum = &subject->totals.sum;
    size_t threads = 0;
    hs_store__threads(subject->store, &threads);
    hs_json__number(json, "allocations", sum->allocated_count);
    // Blocks that ceased to be, by a free or by a realloc.
    hs_json__number(json, "deallocations", sum->allocated_count - sum->live_count);
    hs_json__number(json, "reallocations", summary->reallocations);
    hs_json__number(json, "allocated_bytes", sum->allocated_bytes);
    hs_json__number(json, "allocated_usable_bytes", sum->allocated_usable);
    hs_json__number(json, "live_count", sum->live_count);
    hs_json__number(json, "live_bytes", sum->live_bytes);
    hs_json__number(json, "live_usable_bytes", sum->live_usable);
    hs_json__number(json, "peak_bytes", subject->peak.bytes);
    hs_json__number(json, "peak_usable_bytes", subject->peak.usable);
    hs_json__number(json, "peak_count", subject->peak.count);
    hs_json__number(json, "peak_time_ns", subject->peak_time);
    hs_json__number(json, "temporary_count", sum->temporary_count);
    hs_json__number(json, "temporary_bytes", sum->temporary_bytes);
    hs_json__number(json, "culled_count", sum->culled_count);
    hs_json__number(json, "culled_bytes", sum->culled_bytes);
    hs_json__number(json, "threads", threads);
    hs_json__number(json, "stacks", subject->totals.count);
    hs_json__number(json, "unknown_frees", summary->unknown_frees);
    hs_json__number(json, "missed_frees", summary->missed_frees);
    hs_json__number(json, "capped_numbers", summary->capped_numbers);
    hs_json__number(json, "guessed_stacks", summary->guessed);
    hs_json__number(json, "merged_nodes", summary->merged_nodes);
    hs_json__number(json, "damaged_chunks", summary->damaged_chunks);
    hs_json__number(json, "damaged_bytes", summary->damaged_bytes);
    write_reasons(json, "truncated", summary->truncated, 1, hs_truncation_name);
    write_reasons(json, "dropped", summary->dropped, 0, hs_drop_reason);
}

// The contents of the trace; "truncated" contains the recorder's counts, per walk.
static int write_cut_stacks(struct hs_json *json, const struct hs_subject *subject)
{
    struct hs_cut_stacks cut;
    if (hs_cut_stacks__count(&cut, subject))
        return -ENOMEM;
    hs_json__open_array(json, "cut_stacks");
    for (unsigned i = 1; i < HS_CUT_REASONS; i++) {
        if (!cut.stacks[i])
            continue;
        hs_json__open_object(json, NULL);
        hs_json__string(json, "reason", hs_truncation_name(i));
        hs_json__number(json, "stacks", cut.stacks[i]);
        hs_json__number(json, "allocations", cut.allocations[i]);
        hs_json__number(json, "allocated_bytes", cut.bytes[i]);
        hs_json__close_object(json);
    }
    hs_json__close_array(json);
    hs_json__open_object(json, "guessed");
    hs_json__number(json, "stacks", cut.guessed_stacks);
    hs_json__number(json, "allocations", cut.guessed_allocations);
    hs_json__number(json, "allocated_bytes", cut.guessed_bytes);
    hs_json__close_object(json);
    return 0;
}

static void write_stack(struct hs_json *json, const struct hs_subject *subject, const struct hs_total *total)
{
    hs_json__open_object(json, NULL);
    hs_json__number(json, "live_bytes", total->live_bytes);
    hs_json__number(json, "live_count", total->live_count);
    if (hs_subject__knows(subject, HS_COST_PEAK)) {
        hs_json__number(json, "peak_bytes", total->peak_bytes);
        hs_json__number(json, "peak_count", total->peak_count);
    }
    if (hs_subject__knows(subject, HS_COST_ALLOCATED)) {
        hs_json__number(json, "allocated_bytes", total->allocated_bytes);
        hs_json__number(json, "allocations", total->allocated_count);
    }
    if (hs_subject__knows(subject, HS_COST_TEMPORARY)) {
        hs_json__number(json, "temporary_bytes", total->temporary_bytes);
        hs_json__number(json, "temporary_count", total->temporary_count);
    }
    hs_report__stack_json(json, subject, total->stack);
    hs_json__close_object(json);
}

struct report_json_ranking {
    const struct hs_totals *totals;
    enum hs_cost cost;
};

static bool comes_before(const void *context, uint32_t a, uint32_t b)
{
    const struct report_json_ranking *ranking = context;
    const struct hs_total *first = &ranking->totals->total[a];
    const struct hs_total *second = &ranking->totals->total[b];
    uint64_t first_bytes = hs_cost__bytes(first, ranking->cost);
    uint64_t second_bytes = hs_cost__bytes(second, ranking->cost);
    return first_bytes != second_bytes ? first_bytes > second_bytes : first->stack < second->stack;
}

// Marks the first `most` stacks by a cost, those without any left out.
static int choose(uint8_t *chosen, const struct hs_totals *totals, enum hs_cost cost, size_t most)
{
    struct hs_top top;
    struct report_json_ranking ranking = {totals, cost};
    if (hs_top__start(&top, most, totals->count, comes_before, &ranking))
        return -ENOMEM;
    for (size_t i = 0; i < totals->count; i++) {
        if (hs_cost__blocks(&totals->total[i], cost) || hs_cost__bytes(&totals->total[i], cost))
            hs_top__offer(&top, (uint32_t)i);
    }
    for (size_t i = 0; i < top.count; i++)
        chosen[top.number[i]] = 1;
    hs_top__free(&top);
    return 0;
}

static int write_chosen(struct hs_json *json, const struct hs_subject *subject, const uint8_t *chosen,
                        enum hs_cost cost)
{
    struct hs_top top;
    struct report_json_ranking ranking = {&subject->totals, cost};
    size_t count = 0;
    for (size_t i = 0; i < subject->totals.count; i++)
        count += chosen[i];
    if (hs_top__start(&top, count, count, comes_before, &ranking))
        return -ENOMEM;
    for (size_t i = 0; i < subject->totals.count; i++) {
        if (chosen[i])
            hs_top__offer(&top, (uint32_t)i);
    }
    hs_top__finish(&top);
    hs_json__open_array(json, "top");
    for (size_t i = 0; i < top.count; i++)
        write_stack(json, subject, &subject->totals.total[top.number[i]]);
    hs_json__close_array(json);
    hs_top__free(&top);
    return 0;
}

// The first stacks by the cost that was asked for, else those of each cost together.
static int write_top(struct hs_json *json, const struct hs_subject *subject, const struct hs_report_options *options)
{
    uint8_t *chosen = calloc(subject->totals.count + 1, 1);
    int result = chosen ? 0 : -ENOMEM;
    for (int cost = 0; !result && cost < HS_COST_COUNT; cost++) {
        bool wanted = !options->one_cost || options->cost == (enum hs_cost)cost;
        if (wanted && hs_subject__knows(subject, (enum hs_cost)cost))
            result = choose(chosen, &subject->totals, (enum hs_cost)cost, options->top);
    }
    if (!result)
        result = write_chosen(json, subject, chosen, options->cost);
    free(chosen);
    return result;
}

void hs_report__program_json(struct hs_json *json, const struct hs_subject *subject)
{
    write_program(json, subject);
    write_kind(json, hs_store__summary(subject->store));
    write_numbers(json, subject);
}

int hs_report__stacks_json(struct hs_json *json, const struct hs_subject *subject)
{
    int result = write_cut_stacks(json, subject);
    return result ? result : hs_report__missing_json(json, subject);
}

int hs_report__json(FILE *out, const struct hs_subject *subject, const struct hs_report_options *options)
{
    struct hs_json json;
    hs_json__start(&json, out, true);
    hs_json__open_object(&json, NULL);
    int result = 0;
    if (subject->kind) {
        subject->kind->write_json(&json, subject);
    } else {
        hs_report__program_json(&json, subject);
        result = write_cut_stacks(&json, subject);
        hs_report__unseen_json(&json, subject);
    }
    if (!result)
        result = write_top(&json, subject, options);
    if (!result && !subject->kind)
        result = hs_report__samples_json(&json, subject, options->top);
    if (!result && !subject->kind)
        result = hs_report__over_time_json(&json, subject);
    if (!result && !subject->kind)
        result = hs_report__budget_json(&json, subject);
    if (subject->store)
        hs_report__kernel_stacks_json(&json, subject);
    if (!result && !subject->kind)
        result = hs_report__unwound_json(&json, subject);
    if (!result)
        result = hs_report__missing_json(&json, subject);
    hs_json__close_object(&json);
    return result;
}
