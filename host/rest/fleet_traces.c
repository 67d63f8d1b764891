// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/fleet_traces.h"

#include "host/base/search.h"
#include "host/fleet/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fleet_trace {
    uint64_t key;
    size_t number;
};

// In the order of keys, then of numbers.
struct fleet_order {
    struct fleet_trace *at;
    size_t count;
};

// Dumps say their process, from which the key of a session follows if the device is known. By the key of their own host
// they are in `of_session`, too.
struct hs_fleet_traces {
    struct hs_rest_traces *traces;
    size_t count;
    const struct hs_trace_facts **dumped; // NULL: not dumps
    struct fleet_order of_session, of_pid;
};

static uint64_t key_of_id(const char *id)
{
    char half[17];
    snprintf(half, sizeof(half), "%.16s", id);
    const uint64_t words[2] = {strtoull(half, NULL, 16), strlen(id) == 32 ? strtoull(id + 16, NULL, 16) : 0};
    return hs_fleet_key__session(words);
}

static uint64_t key_of_dumps(const struct hs_trace_facts *facts, const char *device)
{
    char pid[16];
    snprintf(pid, sizeof(pid), "%" PRIu32, facts->summary.pid);
    return hs_fleet_key__dumped(device, facts->executable, pid, facts->since);
}

static const struct hs_trace_facts *facts_of_dumps(struct hs_rest_trace *trace, struct hs_rest_wait_budget *budget)
{
    struct hs_error error;
    const struct hs_trace_facts *facts = hs_rest_trace__facts(trace, budget, &error);
    if (facts && facts->dumps && facts->since)
        return facts;
    hs_trace_facts__release(facts);
    return NULL;
}

static int compare(const void *left, const void *right)
{
    const struct fleet_trace *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static void append(struct fleet_order *order, uint64_t key, size_t number)
{
    order->at[order->count++] = (struct fleet_trace){key, number};
}

static void add(struct hs_fleet_traces *self, size_t number, struct hs_rest_wait_budget *budget)
{
    struct hs_rest_trace *trace = hs_rest_traces__at(self->traces, number);
    const struct hs_trace_facts *facts = self->dumped[number] = facts_of_dumps(trace, budget);
    append(&self->of_session, key_of_id(hs_rest_trace__id(trace)), number);
    if (facts)
        append(&self->of_pid, facts->summary.pid, number);
    if (facts && facts->host)
        append(&self->of_session, key_of_dumps(facts, facts->host), number);
}

struct hs_fleet_traces *hs_fleet_traces__make(struct hs_rest_traces *traces)
{
    struct hs_fleet_traces *self = calloc(1, sizeof(*self));
    if (!self)
        return NULL;
    self->traces = traces;
    self->count = hs_rest_traces__count(traces);
    self->dumped = calloc(self->count + 1, sizeof(*self->dumped));
    self->of_session.at = calloc(2 * self->count + 1, sizeof(*self->of_session.at));
    self->of_pid.at = calloc(self->count + 1, sizeof(*self->of_pid.at));
    if (!self->dumped || !self->of_session.at || !self->of_pid.at) {
        hs_fleet_traces__destroy(self);
        return NULL;
    }
    struct hs_rest_wait_budget budget = hs_rest_wait_budget__of_list();
    for (size_t i = 0; i < self->count; i++)
        add(self, i, &budget);
    qsort(self->of_session.at, self->of_session.count, sizeof(*self->of_session.at), compare);
    qsort(self->of_pid.at, self->of_pid.count, sizeof(*self->of_pid.at), compare);
    return self;
}

void hs_fleet_traces__destroy(struct hs_fleet_traces *self)
{
    if (!self)
        return;
    for (size_t i = 0; self->dumped && i < self->count; i++)
        hs_trace_facts__release(self->dumped[i]);
    free(self->dumped);
    free(self->of_session.at);
    free(self->of_pid.at);
    free(self);
}

// The first with this key, or with a greater one.
static size_t first_of(const struct fleet_order *order, uint64_t key)
{
    return HS_SEARCH(order->count, i, order->at[i].key < key);
}

const char *hs_fleet_traces__find(const struct hs_fleet_traces *self, uint64_t session, const char *device,
                                  uint32_t pid)
{
    const struct fleet_order *sessions = &self->of_session, *pids = &self->of_pid;
    size_t found = self->count, at = first_of(sessions, session);
    if (at < sessions->count && sessions->at[at].key == session)
        found = sessions->at[at].number;
    for (at = first_of(pids, pid); at < pids->count && pids->at[at].key == pid && pids->at[at].number < found; at++)
        if (key_of_dumps(self->dumped[pids->at[at].number], device) == session)
            found = pids->at[at].number;
    return found < self->count ? hs_rest_trace__id(hs_rest_traces__at(self->traces, found)) : NULL;
}
