// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/traces.h"

#include "host/store/torn_pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct hs_rest_traces {
    struct hs_rest_common common;
    struct hs_open_traces open;
    pthread_mutex_t lock; // of the rest
    struct hs_rest_trace **trace;
    size_t count;
};

struct hs_rest_traces *hs_rest_traces__create(const struct hs_symbols_options *symbols, bool prepares,
                                              struct hs_cache *cache)
{
    struct hs_rest_traces *traces = calloc(1, sizeof(*traces));
    struct hs_background *background = hs_list_reading__start();
    hs_torn_pages__mend();
    if (!traces || !background) {
        hs_background__destroy(background);
        free(traces);
        return NULL;
    }
    traces->common = (struct hs_rest_common){.prepares = prepares, .background = background, .open = &traces->open};
    if (symbols)
        traces->common.symbols = *symbols;
    traces->open.cache = cache;
    pthread_mutex_init(&traces->open.lock, NULL);
    pthread_mutex_init(&traces->lock, NULL);
    return traces;
}

void hs_rest_traces__cancel(struct hs_rest_traces *traces)
{
    __atomic_store_n(&traces->common.ends, 1, __ATOMIC_RELAXED);
}

void hs_rest_traces__stop(struct hs_rest_traces *traces)
{
    if (!traces)
        return;
    hs_rest_traces__cancel(traces);
    hs_background__destroy(traces->common.background);
    traces->common.background = NULL;
}

void hs_rest_traces__destroy(struct hs_rest_traces *traces)
{
    if (!traces)
        return;
    hs_rest_traces__stop(traces);
    for (size_t i = 0; i < traces->count; i++)
        hs_rest_trace__destroy(traces->trace[i]);
    free(traces->trace);
    pthread_mutex_destroy(&traces->open.lock);
    pthread_mutex_destroy(&traces->lock);
    free(traces);
}

static int append(struct hs_rest_traces *traces, struct hs_rest_trace *trace)
{
    pthread_mutex_lock(&traces->lock);
    struct hs_rest_trace **grown = reallocarray(traces->trace, traces->count + 1, sizeof(struct hs_rest_trace *));
    if (grown) {
        traces->trace = grown;
        traces->trace[traces->count++] = trace;
    }
    pthread_mutex_unlock(&traces->lock);
    return grown ? 0 : -ENOMEM;
}

int hs_rest_traces__add(struct hs_rest_traces *traces, const char *path, const struct hs_query_control *progress,
                        struct hs_error *error)
{
    struct hs_rest_trace *trace;
    int result = hs_rest_trace__create(&trace, path, &traces->common, progress, error);
    if (result)
        return result;
    if (hs_rest_traces__find(traces, trace->id))
        result = hs_error__set(error, EEXIST, "%s: this trace is served already", path);
    else if (append(traces, trace))
        result = hs_error__set(error, ENOMEM, "%s: out of memory", path);
    if (result) {
        hs_rest_trace__destroy(trace);
        return result;
    }
    hs_open_traces__use(trace);
    hs_open_traces__close_idle(&traces->open);
    return 0;
}

size_t hs_rest_traces__open(struct hs_rest_traces *traces)
{
    return hs_open_traces__count(&traces->open);
}

size_t hs_rest_traces__count(struct hs_rest_traces *traces)
{
    pthread_mutex_lock(&traces->lock);
    const size_t count = traces->count;
    pthread_mutex_unlock(&traces->lock);
    return count;
}

struct hs_rest_trace *hs_rest_traces__at(struct hs_rest_traces *traces, size_t number)
{
    pthread_mutex_lock(&traces->lock);
    struct hs_rest_trace *trace = traces->trace[number];
    pthread_mutex_unlock(&traces->lock);
    return trace;
}

struct hs_rest_trace *hs_rest_traces__find(struct hs_rest_traces *traces, const char *id)
{
    struct hs_rest_trace *found = NULL;
    pthread_mutex_lock(&traces->lock);
    if (!strcmp(id, "last") && traces->count)
        found = traces->trace[traces->count - 1];
    for (size_t i = 0; i < traces->count && !found; i++)
        if (!strcasecmp(traces->trace[i]->id, id))
            found = traces->trace[i];
    pthread_mutex_unlock(&traces->lock);
    return found;
}
