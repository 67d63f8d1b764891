// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /list: the traces.
#include "host/report/report.h"
#include "host/rest/answers.h"
#include "host/rest/rest.h"
#include "host/rest/write.h"

#include <stdlib.h>
#include <string.h>

static void write_indexes(struct hs_json *json, struct hs_rest_trace *trace)
{
    const struct hs_indexes_progress progress = hs_rest_trace__indexes(trace);
    if (progress.done == progress.total)
        return;
    hs_json__open_object(json, "indexes");
    hs_json__number(json, "done", progress.done);
    hs_json__number(json, "total", progress.total);
    hs_json__close_object(json);
}

// `now`: also what is true at this moment alone.
static void write_trace(struct hs_json *json, struct hs_rest_trace *trace, bool now, struct hs_rest_wait_budget *budget)
{
    struct hs_error error = {""};
    const struct hs_trace_facts *facts = hs_rest_trace__facts(trace, budget, &error);
    if (!facts)
        return;
    const struct hs_summary *summary = &facts->summary;
    hs_json__open_object(json, NULL);
    hs_json__string(json, "id", hs_rest_trace__id(trace));
    hs_json__string(json, "executable", facts->executable);
    hs_json__string(json, "cmdline", facts->command);
    hs_json__string(json, "architecture", hs_arch_name(summary));
    hs_json__number(json, "final_allocated", summary->live.bytes);
    hs_json__number(json, "final_allocated_count", summary->live.count);
    hs_write__interval(json, "runtime", summary->end_time);
    hs_json__number(json, "unique_backtrace_count", facts->stacks);
    hs_json__number(json, "maximum_backtrace_depth", facts->deepest);
    hs_write__interval(json, "timestamp", facts->began_ns);
    hs_json__number(json, "final_allocated_usable", summary->live.usable);
    hs_json__string(json, "path", hs_rest_trace__path(trace));
    hs_json__boolean(json, "growing", hs_rest_trace__is_written(trace, summary->state == HS_STATE_RECORDING));
    hs_json__number(json, "pid", summary->pid);
    hs_json__number(json, "file_size", summary->file_size);
    hs_json__string(json, "holds", summary->is_aggregate ? "sums" : "events");
    if (facts->costs & 1u << HS_COST_ALLOCATED)
        hs_json__number(json, "allocations", summary->allocations);
    else
        hs_json__null(json, "allocations");
    if (facts->dumps)
        hs_json__number(json, "dumps", strtoull(facts->dumps, NULL, 10));
    else
        hs_json__null(json, "dumps");
    hs_json__string(json, "clock", facts->clock);
    hs_json__string(json, "problem", *error.message ? error.message : facts->incomplete);
    if (now)
        write_indexes(json, trace);
    hs_json__close_object(json);
    hs_trace_facts__release(facts);
}

struct list_written {
    struct hs_rest_traces *traces;
    size_t count;
};

static bool is_written(void *context, const char *path)
{
    const struct list_written *written = context;
    for (size_t i = 0; i < written->count; i++)
        if (!strcmp(hs_rest_trace__path(hs_rest_traces__at(written->traces, i)), path))
            return true;
    return false;
}

#define FLEET   "</fleet>; rel=\"related\""
#define DEVICES "</devices>; rel=\"related\""

// So the page need not ask whether there is any of it.
int hs_prepare__list(struct hs_question *question)
{
    const struct hs_rest_folders *folders = question->rest->folders;
    if (folders && folders->count)
        question->link = question->rest->fleet ? FLEET ", " DEVICES : DEVICES;
    else
        question->link = question->rest->fleet ? FLEET : NULL;
    return 0;
}

int hs_answer__list(struct hs_question *question, FILE *out)
{
    struct hs_json json;
    // A trace becomes one that is served before it ceases to be one that is read: those are looked at first.
    struct hs_importing_rows *reading = hs_importing__rows(question->rest->importing);
    const bool now = question->endpoint; // a report remains
    hs_json__start(&json, out, false);
    hs_json__open_array(&json, NULL);
    struct list_written written = {question->rest->traces, hs_rest_traces__count(question->rest->traces)};
    struct hs_rest_wait_budget budget = hs_rest_wait_budget__of_list();
    for (size_t i = 0; i < written.count; i++)
        write_trace(&json, hs_rest_traces__at(written.traces, i), now, &budget);
    hs_importing_rows__write(reading, is_written, &written, &json);
    hs_json__close_array(&json);
    return 0;
}
