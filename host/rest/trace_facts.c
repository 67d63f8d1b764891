// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/trace_facts.h"

#include "host/query/stack_totals_make.h"
#include "host/report/events.h"
#include "host/report/report.h"

#include <stdlib.h>
#include <string.h>

struct facts_looking {
    const uint32_t *depths; // by node
    size_t nodes;
    struct hs_trace_facts *facts;
};

static int look_at_stack(void *context, uint32_t stack, uint64_t bytes, uint64_t count)
{
    const struct facts_looking *looking = context;
    const uint32_t depth = stack < looking->nodes ? looking->depths[stack] : 0;
    (void)bytes;
    (void)count;
    looking->facts->stacks++;
    if (depth > looking->facts->deepest)
        looking->facts->deepest = depth;
    return 0;
}

static bool look_at_stacks(const struct hs_store *store, struct hs_trace_facts *facts)
{
    struct facts_looking looking = {.facts = facts};
    uint32_t *depths = hs_store__depths(store);
    hs_store__nodes(store, &looking.nodes);
    looking.depths = depths;
    bool good = depths && !hs_query__each_stack(store, HS_TOTAL_STACK, HS_TOTAL_STACK, look_at_stack, &looking, NULL);
    free(depths);
    return good;
}

static bool copy_text(char **copy, const char *text)
{
    *copy = text ? strdup(text) : NULL;
    return *copy || !text;
}

struct hs_trace_facts *hs_trace_facts__make(const struct hs_store *store)
{
    char command[4096];
    struct hs_trace_facts *facts = calloc(1, sizeof(*facts));
    if (!facts)
        return NULL;
    facts->holders = 1;
    facts->summary = *hs_store__summary(store);
    facts->began_ns = hs_store__realtime_ns(store, 0);
    facts->costs = hs_events__costs(HS_EVENTS_HEAP, store);
    hs_command_line(store, command, sizeof(command));
    if (look_at_stacks(store, facts) && copy_text(&facts->executable, hs_program_name(store)) &&
        copy_text(&facts->command, command) && copy_text(&facts->dumps, hs_store__info(store, "dumps")) &&
        copy_text(&facts->clock, hs_store__info(store, "clock")) &&
        copy_text(&facts->since, hs_store__info(store, "since")) &&
        copy_text(&facts->host, hs_store__info(store, "host")) &&
        copy_text(&facts->incomplete, hs_store__info(store, "incomplete")))
        return facts;
    hs_trace_facts__release(facts);
    return NULL;
}

struct hs_trace_facts *hs_trace_facts__hold(struct hs_trace_facts *facts)
{
    if (facts)
        __atomic_fetch_add(&facts->holders, 1, __ATOMIC_RELAXED);
    return facts;
}

void hs_trace_facts__release(const struct hs_trace_facts *held)
{
    struct hs_trace_facts *facts = (struct hs_trace_facts *)(uintptr_t)held;
    if (!facts || __atomic_sub_fetch(&facts->holders, 1, __ATOMIC_ACQ_REL))
        return;
    free(facts->executable);
    free(facts->command);
    free(facts->dumps);
    free(facts->clock);
    free(facts->since);
    free(facts->host);
    free(facts->incomplete);
    free(facts);
}
