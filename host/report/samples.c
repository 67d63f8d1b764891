// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/samples.h"

#include "host/base/json.h"
#include "host/query/event_totals.h"
#include "host/report/sites.h"
#include "host/report/stack_json.h"
#include "host/report/text.h"

#define SHOWN_FRAMES 6

typedef void (*print_line)(FILE *out, const struct hs_total *site, const struct hs_total *sum);

// Sites by a cost, a line for each, and their frames.
static int print_sites(FILE *out, const struct hs_subject *subject, const struct hs_totals *totals, enum hs_cost cost,
                       unsigned most, print_line line)
{
    const struct hs_style *style = hs_style__for(out);
    struct hs_sites sites;
    int result = hs_sites__build(&sites, subject->symbols, totals, SHOWN_FRAMES);
    if (result)
        return result;
    struct hs_top top;
    result = hs_sites__top(&sites, cost, most, &top);
    for (size_t i = 0; i < top.count; i++) {
        const struct hs_site *site = &sites.site[top.number[i]];
        fprintf(out, "%s%4u.%s ", style->number, (unsigned)i + 1, style->plain);
        line(out, &site->sum, &totals->sum);
        hs_site__print_stacks(out, style, site);
    }
    hs_top__free(&top);
    hs_sites__free(&sites);
    return result;
}

static void print_heading(FILE *out, const char *title)
{
    const struct hs_style *style = hs_style__for(out);
    fprintf(out, "\n%s%s%s", style->heading, title, style->plain);
}

static void time_line(FILE *out, const struct hs_total *site, const struct hs_total *sum)
{
    fprintf(out, "%s  %s in %s", hs_text__time(site->allocated_bytes).text,
            hs_text__percent(site->allocated_bytes, sum->allocated_bytes).text,
            hs_text__samples(site->allocated_count).text);
}

static int print_time(FILE *out, const struct hs_subject *subject, enum hs_events events, unsigned most)
{
    char title[64];
    struct hs_totals totals;
    struct hs_error error;
    if (!hs_events__are_in(events, subject->store))
        return 0;
    snprintf(title, sizeof(title), "Call sites by %s", hs_events_kind__of(events)->words);
    print_heading(out, title);
    if (subject->not_of_samples) {
        fprintf(out, ": left out, because %s is a property of blocks, which samples do not have\n",
                subject->not_of_samples);
        return 0;
    }
    int result = hs_query__event_totals(subject->store, events, subject->filter, NULL, &totals, &error);
    if (result)
        return result;
    fprintf(out, " (%s in %s)\n", hs_text__time(totals.sum.allocated_bytes).text,
            hs_text__samples(totals.sum.allocated_count).text);
    result = print_sites(out, subject, &totals, HS_COST_ALLOCATED, most, time_line);
    hs_totals__free(&totals);
    return result;
}

int hs_report__times(FILE *out, const struct hs_subject *subject, unsigned most)
{
    int result = print_time(out, subject, HS_EVENTS_CPU, most);
    return result ? result : print_time(out, subject, HS_EVENTS_OFF_CPU, most);
}

static void touched_line(FILE *out, const struct hs_total *site, const struct hs_total *sum)
{
    fprintf(out, "%s  %s touched of %s in %s", hs_text__bytes(site->allocated_bytes).text,
            hs_text__percent(site->allocated_bytes, sum->allocated_bytes).text,
            hs_text__bytes(site->allocated_usable).text, hs_text__blocks(site->allocated_count).text);
    if (site->live_count)
        fprintf(out, "; live at the end: %s of %s", hs_text__bytes(site->live_bytes).text,
                hs_text__bytes(site->live_usable).text);
}

static int print_touched(FILE *out, const struct hs_subject *subject, enum hs_events events, unsigned most)
{
    struct hs_error error;
    struct hs_totals totals;
    int result = hs_query__event_totals(subject->store, events, subject->filter, NULL, &totals, &error);
    if (result)
        return result;
    if (totals.count) {
        print_heading(out, events == HS_EVENTS_TOUCHED ? "Call sites by memory that was touched"
                                                       : "Mappings by memory that was touched");
        fprintf(out, " (%s of %s; page faults made %s resident in all)\n",
                hs_text__bytes(totals.sum.allocated_bytes).text, hs_text__bytes(totals.sum.allocated_usable).text,
                hs_text__bytes(hs_store__summary(subject->store)->faulted_bytes).text);
        result = print_sites(out, subject, &totals, HS_COST_ALLOCATED, most, touched_line);
    }
    hs_totals__free(&totals);
    return result;
}

int hs_report__touched(FILE *out, const struct hs_subject *subject, unsigned most)
{
    int result = print_touched(out, subject, HS_EVENTS_TOUCHED, most);
    return result ? result : print_touched(out, subject, HS_EVENTS_TOUCHED_MAPPINGS, most);
}

// ---- JSON ----------------------------------------------------------------------------------------------------------

static void time_json(struct hs_json *json, const struct hs_total *total)
{
    hs_json__number(json, "ns", total->allocated_bytes);
    hs_json__number(json, "samples", total->allocated_count);
}

static void faults_json(struct hs_json *json, const struct hs_total *total)
{
    hs_json__number(json, "faults", total->allocated_bytes);
    hs_json__number(json, "samples", total->allocated_count);
}

static void touched_json(struct hs_json *json, const struct hs_total *total)
{
    hs_json__number(json, "touched_bytes", total->allocated_bytes);
    hs_json__number(json, "allocated_bytes", total->allocated_usable);
    hs_json__number(json, "allocations", total->allocated_count);
    hs_json__number(json, "live_touched_bytes", total->live_bytes);
    hs_json__number(json, "live_bytes", total->live_usable);
    hs_json__number(json, "live_count", total->live_count);
}

void hs_report__events_json(struct hs_json *json, enum hs_events events, const struct hs_total *total)
{
    if (hs_events__are_times(events))
        time_json(json, total);
    else if (events == HS_EVENTS_FAULTS)
        faults_json(json, total);
    else
        touched_json(json, total);
}

// The open object's sums, and the first stacks.
static void write_stacks(struct hs_json *json, const struct hs_subject *subject, enum hs_events events,
                         struct hs_totals *totals, size_t most)
{
    hs_report__events_json(json, events, &totals->sum);
    hs_totals__sort(totals, HS_TOTAL_ALLOCATED_BYTES);
    hs_json__open_array(json, "top");
    for (size_t i = 0; i < totals->count && i < most; i++) {
        hs_json__open_object(json, NULL);
        hs_report__events_json(json, events, &totals->total[i]);
        hs_report__stack_json(json, subject, totals->total[i].stack);
        hs_json__close_object(json);
    }
    hs_json__close_array(json);
}

static int write_events(struct hs_json *json, const struct hs_subject *subject, enum hs_events events, size_t most)
{
    struct hs_totals totals;
    struct hs_error error;
    const char *name = hs_events_kind__of(events)->name;
    if (!hs_events__are_in(events, subject->store))
        return 0;
    if (hs_events__are_samples(events) && subject->not_of_samples) {
        hs_json__null(json, name);
        return 0;
    }
    int result = hs_query__event_totals(subject->store, events, subject->filter, NULL, &totals, &error);
    if (result)
        return result;
    hs_json__open_object(json, name);
    if (hs_events__are_touched(events))
        hs_json__number(json, "faulted_bytes", hs_store__summary(subject->store)->faulted_bytes);
    write_stacks(json, subject, events, &totals, most);
    hs_json__close_object(json);
    hs_totals__free(&totals);
    return 0;
}

int hs_report__samples_json(struct hs_json *json, const struct hs_subject *subject, size_t most)
{
    const char *perf = hs_store__info(subject->store, "perf");
    int result = 0;
    if (perf)
        hs_json__string(json, "perf", perf);
    for (int events = HS_EVENTS_CPU; !result && events < HS_EVENTS_COUNT; events++)
        result = write_events(json, subject, (enum hs_events)events, most);
    return result;
}
