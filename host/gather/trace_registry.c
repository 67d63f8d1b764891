// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/trace_registry.h"

#include <stdlib.h>
#include <string.h>

static struct hs_gathered **bucket_of(struct hs_traces *traces, const uint8_t id[HS_TRACE_ID_SIZE])
{
    // Ids are random bytes. Forged ids can cause long chains, whose length HS_TRACES_MOST limits.
    unsigned index = (unsigned)(id[0] | id[1] << 8) ^ (unsigned)(id[6] | id[7] << 8) * 31;
    return &traces->bucket[index % HS_TRACES_BUCKETS];
}

struct hs_gathered *hs_trace_registry__find(struct hs_traces *traces, const uint8_t id[HS_TRACE_ID_SIZE])
{
    struct hs_gathered *trace = *bucket_of(traces, id);
    while (trace && memcmp(trace->id, id, HS_TRACE_ID_SIZE))
        trace = trace->next_in_bucket;
    return trace;
}

struct hs_gathered *hs_trace_registry__make(struct hs_traces *traces, const uint8_t id[HS_TRACE_ID_SIZE])
{
    struct hs_gathered *trace = traces->count < HS_TRACES_MOST ? calloc(1, sizeof(*trace)) : NULL;
    if (!trace)
        return NULL;
    struct hs_gathered **bucket = bucket_of(traces, id);
    memcpy(trace->id, id, HS_TRACE_ID_SIZE);
    pthread_mutex_init(&trace->mutex, NULL);
    trace->fd = -1;
    trace->next_in_bucket = *bucket;
    *bucket = trace;
    traces->count++;
    return trace;
}

void hs_trace_registry__unlink_from_run(struct hs_traces *traces, struct hs_gathered *trace)
{
    struct hs_gathered **at = &traces->run_first;
    while (*at && *at != trace)
        at = &(*at)->next_in_run;
    if (!*at)
        return;
    *at = trace->next_in_run;
    if (traces->run_last == &trace->next_in_run)
        traces->run_last = at;
    traces->listed--;
    trace->listed = false;
}

void hs_trace_registry__unlink(struct hs_traces *traces, struct hs_gathered *trace)
{
    struct hs_gathered **at = bucket_of(traces, trace->id);
    while (*at != trace)
        at = &(*at)->next_in_bucket;
    *at = trace->next_in_bucket;
    hs_trace_registry__unlink_from_run(traces, trace);
    traces->count--;
}

void hs_trace_registry__free(struct hs_gathered *trace)
{
    pthread_mutex_destroy(&trace->mutex);
    for (struct hs_unflushed_dump *dump = trace->unflushed, *next; dump; dump = next) {
        next = dump->next;
        free(dump);
    }
    free(trace->header);
    free(trace->details);
    free(trace);
}

void hs_trace_registry__drop(struct hs_traces *traces, struct hs_gathered *trace)
{
    hs_trace_registry__unlink(traces, trace);
    hs_trace_registry__free(trace);
}

struct hs_account *hs_trace_registry__account(struct hs_traces *traces, const char *name)
{
    uint32_t hash = 2166136261u;
    for (const char *at = name; *at; at++)
        hash = (hash ^ (uint8_t)*at) * 16777619u;
    struct hs_account **bucket = &traces->account[hash % HS_ACCOUNT_BUCKETS];
    struct hs_account *account = *bucket;
    while (account && strncmp(account->name, name, sizeof(account->name) - 1))
        account = account->next;
    if (account || traces->account_count >= HS_ACCOUNTS_MOST)
        return account;
    account = calloc(1, sizeof(*account));
    if (!account)
        return NULL;
    strncpy(account->name, name, sizeof(account->name) - 1);
    account->next = *bucket;
    *bucket = account;
    traces->account_count++;
    return account;
}

void hs_trace_registry__wake_writer(struct hs_traces *traces)
{
    pthread_mutex_lock(&traces->writer_mutex);
    traces->writer_urgent = true;
    pthread_cond_signal(&traces->writer_wakes);
    pthread_mutex_unlock(&traces->writer_mutex);
}
