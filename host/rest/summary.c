// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /summary: what a trace is, what matches in all, and what can be asked of it; /recording: what is missing in it.
#include "host/import/ticks.h"
#include "host/report/events.h"
#include "host/report/missing.h"
#include "host/report/report.h"
#include "host/rest/answers.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct hs_subject *make_subject(struct hs_question *question)
{
    const struct hs_summary *summary = hs_store__summary(question->store);
    struct hs_subject *subject = calloc(1, sizeof(*subject));
    if (!subject) {
        hs_error__set(&question->error, ENOMEM, "out of memory");
        return NULL;
    }
    *subject = (struct hs_subject){.store = question->store,
                                   .symbols = question->symbols,
                                   .peak = summary->peak,
                                   .peak_time = summary->peak_time,
                                   .filter = &question->filter,
                                   .events = HS_EVENTS_HEAP,
                                   .restriction = question->restricted ? question->filter_text : NULL,
                                   .path = question->state->path};
    question->work = subject;
    question->free_work = free;
    return subject;
}

static void add_total(struct hs_total *sum, const struct hs_total *total)
{
    sum->allocated_bytes += total->allocated_bytes;
    sum->allocated_usable += total->allocated_usable;
    sum->allocated_count += total->allocated_count;
    sum->live_bytes += total->live_bytes;
    sum->live_usable += total->live_usable;
    sum->live_count += total->live_count;
    sum->temporary_bytes += total->temporary_bytes;
    sum->temporary_count += total->temporary_count;
    sum->culled_bytes += total->culled_bytes;
    sum->culled_count += total->culled_count;
}

static int take_total(void *context, const struct hs_total *total)
{
    struct hs_totals *totals = context;
    add_total(&totals->sum, total);
    totals->count++;
    return 0;
}

int hs_prepare__summary(struct hs_question *question)
{
    struct hs_stack_totals stacks;
    struct hs_subject *subject = make_subject(question);
    int result = subject ? hs_question__stack_totals(question, &stacks) : -ENOMEM;
    if (!result && hs_stack_totals__each(&stacks, take_total, &subject->totals))
        result = hs_error__set(&question->error, ENOMEM, "out of memory");
    if (result || !question->restricted)
        return result;
    if (hs_ticks__are_asked(question->store, &question->filter)) {
        const struct hs_total *sum = &subject->totals.sum;
        subject->peak = (struct hs_live_total){sum->live_bytes, sum->live_usable, sum->live_count};
        subject->peak_time = question->filter.alive_at[0];
        return 0;
    }
    return hs_query__peak(question->store, &question->filter, &question->control, &subject->peak, &subject->peak_time,
                          &question->error);
}

static void write_costs(struct hs_json *json, unsigned costs)
{
    hs_json__open_array(json, "costs");
    for (unsigned cost = 0; cost < HS_COST_COUNT; cost++)
        if (costs >> cost & 1)
            hs_json__string(json, NULL, hs_cost__name((enum hs_cost)cost));
    hs_json__close_array(json);
}

// The kinds of events, with the reason for those that are not available.
static void write_events(struct hs_json *json, const struct hs_store *store)
{
    static const enum hs_events all[] = {HS_EVENTS_HEAP,   HS_EVENTS_CPU,     HS_EVENTS_OFF_CPU,
                                         HS_EVENTS_FAULTS, HS_EVENTS_TOUCHED, HS_EVENTS_TOUCHED_MAPPINGS};
    hs_json__open_array(json, "events");
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        char absence[128];
        const struct hs_events_kind *kind = hs_events_kind__of(all[i]);
        hs_json__open_object(json, NULL);
        hs_json__string(json, "name", kind->name);
        hs_json__string(json, "words", kind->words);
        hs_json__string(json, "unit", kind->unit);
        hs_json__string(json, "thing", kind->thing);
        hs_json__string(json, "absence", hs_events__absence(all[i], store, absence, sizeof(absence)));
        write_costs(json, hs_events__costs(all[i], store));
        hs_json__close_object(json);
    }
    hs_json__close_array(json);
}

static void write_marks(struct hs_json *json, const struct hs_store *store)
{
    size_t count;
    const struct hs_side_event *event = hs_store__side_events(store, &count);
    hs_json__open_array(json, "marks");
    for (size_t i = 0, written = 0; i < count && written < 1000; i++) {
        if (event[i].kind != HS_SIDE_MARK && event[i].kind != HS_SIDE_TOGGLE)
            continue;
        hs_json__open_object(json, NULL);
        hs_json__number(json, "time_ns", event[i].time);
        hs_json__string(json, "kind", event[i].kind == HS_SIDE_MARK ? "mark" : event[i].value ? "start" : "stop");
        hs_json__string(json, "text", event[i].text);
        hs_json__close_object(json);
        written++;
    }
    hs_json__close_array(json);
}

// The threads for the filter `thread`; if there are very many, only the first.
static void write_threads(struct hs_json *json, const struct hs_store *store)
{
    enum { MOST_THREADS = 500 };
    size_t count;
    const struct hs_thread *thread = hs_store__threads(store, &count);
    hs_json__open_array(json, "thread_list");
    for (size_t i = 0; i < count && i < MOST_THREADS; i++) {
        hs_json__open_object(json, NULL);
        hs_json__number(json, "thread", thread[i].tid);
        hs_json__string(json, "name", thread[i].name ? thread[i].name : "");
        hs_json__close_object(json);
    }
    hs_json__close_array(json);
}

static void write_words(struct hs_json *json, const char *option, const char *const *value, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hs_json__string(json, NULL, option);
        hs_json__string(json, NULL, value[i]);
    }
}

// With these options a command finds the same names.
static void write_symbol_options(struct hs_json *json, const struct hs_symbols_options *options)
{
    hs_json__open_array(json, "symbol_options");
    if (options) {
        write_words(json, "--sysroot", options->sysroots, options->sysroot_count);
        write_words(json, "--debug-dir", options->debug_dirs, options->debug_dir_count);
        write_words(json, "--source-map", options->source_maps, options->source_map_count);
        write_words(json, "--perf-map", options->perf_maps, options->perf_map_count);
    }
    hs_json__close_array(json);
}

int hs_answer__summary(struct hs_question *question, FILE *out)
{
    const struct hs_subject *subject = question->work;
    struct hs_json json;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_report__program_json(&json, subject);
    hs_json__string(&json, "allocator", hs_store__info(question->store, "allocator"));
    hs_json__string(&json, "perf", hs_store__info(question->store, "perf"));
    hs_json__string(&json, "dumps", hs_store__info(question->store, "dumps"));
    hs_json__string(&json, "estimate", hs_store__info(question->store, "estimate"));
    hs_json__string(&json, "clock", hs_store__info(question->store, "clock"));
    hs_json__boolean(&json, "growing", hs_rest_state__grows(question->state));
    write_symbol_options(&json, question->state->symbols_options);
    write_events(&json, question->store);
    write_marks(&json, question->store);
    write_threads(&json, question->store);
    hs_json__close_object(&json);
    return 0;
}

int hs_prepare__recording(struct hs_question *question)
{
    const struct hs_totals *totals;
    struct hs_subject *subject = make_subject(question);
    int result = subject ? hs_question__totals(question, &totals) : -ENOMEM;
    if (!result)
        subject->totals = *totals;
    return result;
}

int hs_answer__recording(struct hs_question *question, FILE *out)
{
    const struct hs_subject *subject = question->work;
    struct hs_json json;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    int result = hs_report__stacks_json(&json, subject);
    hs_json__close_object(&json);
    return result;
}
