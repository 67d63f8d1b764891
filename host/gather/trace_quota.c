// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/trace_quota.h"

#include "host/gather/trace_dumps.h"

#include <unistd.h>

static bool add_within(_Atomic uint64_t *sum, uint64_t bytes, uint64_t quota)
{
    uint64_t before = atomic_fetch_add(sum, bytes);
    if (before + bytes >= before && before + bytes <= quota)
        return true;
    atomic_fetch_sub(sum, bytes);
    return false;
}

static enum hs_refusal try(struct hs_traces *traces, struct hs_account *account, uint64_t bytes)
{
    if (!add_within(&traces->bytes, bytes, traces->options.quota))
        return HS_REFUSAL_QUOTA;
    if (!account || add_within(&account->bytes, bytes, traces->options.quota_per_device))
        return HS_REFUSAL_NONE;
    atomic_fetch_sub(&traces->bytes, bytes);
    return HS_REFUSAL_QUOTA_DEVICE;
}

void hs_trace_quota__give_back(struct hs_traces *traces, struct hs_account *account, uint64_t bytes)
{
    atomic_fetch_sub(&traces->bytes, bytes);
    if (account)
        atomic_fetch_sub(&account->bytes, bytes);
}

// ---- room by removing -----------------------------------------------------------------------------------------------

static bool may_go(const struct hs_gathered *trace, const struct hs_account *account)
{
    return trace->ended && !trace->holders && trace->size && (!account || trace->account == account);
}

// The one that was written to last longest ago; `account` NULL: of all devices. Those that are in use are passed over.
static struct hs_gathered *oldest(struct hs_traces *traces, const struct hs_account *account)
{
    struct hs_gathered *found = NULL;
    for (unsigned i = 0; i < HS_TRACES_BUCKETS; i++) {
        for (struct hs_gathered *trace = traces->bucket[i]; trace; trace = trace->next_in_bucket) {
            if (pthread_mutex_trylock(&trace->mutex))
                continue;
            if (may_go(trace, account) && (!found || trace->ended_ns < found->ended_ns))
                found = trace;
            pthread_mutex_unlock(&trace->mutex);
        }
    }
    return found;
}

static bool remove_trace(struct hs_traces *traces, struct hs_gathered *trace)
{
    if (unlinkat(traces->directory, trace->file, 0))
        return false;
    if (trace->samples)
        hs_trace_dumps__remove(traces, trace);
    hs_trace_quota__give_back(traces, trace->account, trace->size);
    hs_trace_registry__unlink(traces, trace);
    pthread_mutex_lock(&trace->mutex);
    bool open = trace->fd >= 0;
    trace->orphan = open;
    pthread_mutex_unlock(&trace->mutex);
    if (!open)
        hs_trace_registry__free(trace);
    return true;
}

static bool remove_one(struct hs_traces *traces, const struct hs_account *account)
{
    struct hs_gathered *trace = oldest(traces, account);
    if (!trace || !remove_trace(traces, trace))
        return false;
    traces->removed++;
    return true;
}

bool hs_trace_quota__remove_locked(struct hs_traces *traces, const uint8_t id[HS_TRACE_ID_SIZE])
{
    struct hs_gathered *trace = hs_trace_registry__find(traces, id);
    if (!trace)
        return false;
    pthread_mutex_lock(&trace->mutex);
    bool goes = may_go(trace, NULL) && !trace->ended_by;
    pthread_mutex_unlock(&trace->mutex);
    return goes && remove_trace(traces, trace);
}

enum hs_refusal hs_trace_quota__take_locked(struct hs_traces *traces, struct hs_account *account, uint64_t bytes)
{
    enum hs_refusal refusal = try(traces, account, bytes);
    while (refusal && traces->options.remove_oldest &&
           remove_one(traces, refusal == HS_REFUSAL_QUOTA_DEVICE ? account : NULL))
        refusal = try(traces, account, bytes);
    return refusal;
}

enum hs_refusal hs_trace_quota__take(struct hs_traces *traces, struct hs_account *account, uint64_t bytes)
{
    enum hs_refusal refusal = try(traces, account, bytes);
    if (!refusal || !traces->options.remove_oldest)
        return refusal;
    pthread_mutex_lock(&traces->mutex);
    refusal = hs_trace_quota__take_locked(traces, account, bytes);
    pthread_mutex_unlock(&traces->mutex);
    return refusal;
}
