// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/trace.h"

#include "host/base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int open_state(const struct hs_rest_trace *trace, const struct hs_query_control *progress,
                      struct hs_rest_state **state, struct hs_error *error)
{
    const struct hs_rest_common *common = trace->common;
    return hs_rest_state__open(state, trace->path, &common->symbols, common->prepares, progress, error);
}

// ---- states that are held -------------------------------------------------------------------------------------------

static struct hs_rest_state *hold(struct hs_rest_state *state)
{
    state->holders++;
    return state;
}

struct hs_rest_state *hs_rest_trace__hold_now(struct hs_rest_trace *trace)
{
    pthread_mutex_lock(&trace->lock);
    struct hs_rest_state *state = trace->now ? hold(trace->now) : NULL;
    pthread_mutex_unlock(&trace->lock);
    return state;
}

void hs_rest_trace__let_go(struct hs_rest_state *state)
{
    struct hs_rest_trace *trace = state->trace;
    pthread_mutex_lock(&trace->lock);
    const bool last = !--state->holders;
    struct hs_rest_state *next = last && trace->now && trace->now != state ? hold(trace->now) : NULL;
    pthread_mutex_unlock(&trace->lock);
    if (next) {
        // Debug information that is unpacked would be unpacked again.
        hs_trace_symbols__hand_over(state->symbols, next->symbols);
        hs_rest_trace__let_go(next);
    }
    if (last)
        hs_rest_state__close(state);
}

static void keep_facts(struct hs_rest_trace *trace, const struct hs_rest_state *state, struct hs_trace_facts *facts)
{
    struct hs_trace_facts *before = NULL;
    pthread_mutex_lock(&trace->lock);
    if (trace->now == state) {
        before = trace->facts;
        trace->facts = hs_trace_facts__hold(facts);
        trace->facts_are_old = false;
    }
    pthread_mutex_unlock(&trace->lock);
    hs_trace_facts__release(before);
}

// Of the last state that was read. Those of a truncated store are for one list only.
struct hs_trace_facts *hs_rest_trace__hold_facts(struct hs_rest_trace *trace)
{
    pthread_mutex_lock(&trace->lock);
    struct hs_rest_state *state = trace->now && (!trace->facts || trace->facts_are_old) ? hold(trace->now) : NULL;
    struct hs_trace_facts *facts = state ? NULL : hs_trace_facts__hold(trace->facts);
    pthread_mutex_unlock(&trace->lock);
    if (!state)
        return facts;
    facts = hs_trace_facts__make(state->store);
    if (facts && hs_store__is_whole(state->store))
        keep_facts(trace, state, facts);
    hs_rest_trace__let_go(state);
    return facts;
}

// Puts a state in the place of the one that was there. The stamp is from before the file was read. A trace that was
// closed and has not changed keeps its name.
static void take_state(struct hs_rest_trace *trace, struct hs_rest_state *state, const struct hs_file_stamp *stamp)
{
    pthread_mutex_lock(&trace->lock);
    struct hs_rest_state *before = trace->now;
    if (before || !trace->opened || !hs_file_stamp__is_same(stamp, &trace->stamp)) {
        trace->generation++;
        trace->facts_are_old = true;
    }
    snprintf(state->name, sizeof(state->name), "%s/%u/", trace->id, trace->generation);
    snprintf(state->key, sizeof(state->key), "%s%u/", state->name, trace->opened++);
    state->trace = trace;
    trace->now = hold(state);
    trace->stamp = *stamp;
    trace->grows = hs_rest_state__grows(state);
    trace->is_series = state->series != NULL;
    trace->again_error = (struct hs_error){""};
    pthread_mutex_unlock(&trace->lock);
    if (before)
        hs_rest_trace__let_go(before);
}

struct hs_indexes_progress hs_rest_trace__indexes(struct hs_rest_trace *trace)
{
    pthread_mutex_lock(&trace->lock);
    const struct hs_indexes_progress progress = hs_indexes__progress(trace->now ? trace->now->indexes : NULL);
    pthread_mutex_unlock(&trace->lock);
    return progress;
}

// ---- files that change ----------------------------------------------------------------------------------------------

bool hs_rest_trace__is_folder_of_dumps(const struct hs_rest_trace *trace)
{
    struct stat status;
    return trace->is_series && !stat(trace->path, &status) && S_ISDIR(status.st_mode);
}

// A process that ended after the state was read has written more, which has to be read.
static bool has_changed(struct hs_rest_trace *trace)
{
    struct hs_file_stamp stamp;
    pthread_mutex_lock(&trace->lock);
    const struct hs_file_stamp before = trace->stamp;
    pthread_mutex_unlock(&trace->lock);
    return hs_file_stamp__take(&stamp, trace->path) || !hs_file_stamp__is_same(&stamp, &before);
}

bool hs_rest_trace__is_written(struct hs_rest_trace *trace, bool grows)
{
    return grows && (hs_file_stamp__is_locked(trace->path) || has_changed(trace));
}

static int is_stale(const struct hs_rest_trace *trace, struct hs_error *error, const char *what)
{
    return hs_error__set(error, ESTALE, "%s: %s", trace->path, what);
}

int hs_rest_trace__check(struct hs_rest_trace *trace, const struct hs_rest_state *state, struct hs_error *error)
{
    if (hs_store__is_whole(state->store))
        return 0;
    return is_stale(trace, error, "its store was truncated while it was read; try again");
}

static int look_at_file(const struct hs_rest_trace *trace, struct hs_file_stamp *stamp, struct hs_error *error)
{
    int failed = hs_file_stamp__take(stamp, trace->path);
    if (failed == -ENOENT)
        return is_stale(trace, error, "the file is gone; put it back, or restart the server without it");
    return failed ? is_stale(trace, error, strerror(-failed)) : 0;
}

// Under one of the locks.
static int check_stamp(const struct hs_rest_trace *trace, const struct hs_file_stamp *stamp, struct hs_error *error)
{
    if (hs_file_stamp__is_same(stamp, &trace->stamp) || trace->grows || hs_rest_trace__is_folder_of_dumps(trace))
        return 0;
    return is_stale(trace, error, "the file was changed after it was read; restart the server to read it again");
}

int hs_rest_trace__check_file(struct hs_rest_trace *trace, struct hs_error *error)
{
    struct hs_file_stamp stamp;
    int failed = look_at_file(trace, &stamp, error);
    if (failed)
        return failed;
    pthread_mutex_lock(&trace->lock);
    failed = check_stamp(trace, &stamp, error);
    pthread_mutex_unlock(&trace->lock);
    return failed;
}

int hs_rest_trace__read(struct hs_rest_trace *trace, const struct hs_file_stamp *stamp, struct hs_error *error)
{
    struct hs_rest_state *state;
    uint64_t began = hs_clock__now();
    __atomic_store_n(&trace->is_read, true, __ATOMIC_RELEASE);
    const struct hs_query_control control = {.cancel = &trace->common->ends};
    int result = open_state(trace, &control, &state, error);
    __atomic_store_n(&trace->is_read, false, __ATOMIC_RELEASE);
    // The id of a series depends on its files, which have become more.
    if (!result && !state->series && strcmp(hs_store__summary(state->store)->trace_id, trace->id) != 0)
        result = is_stale(trace, error, "another trace has replaced it; restart the server to read that one");
    if (result) {
        hs_rest_state__close(state);
        return -ESTALE;
    }
    take_state(trace, state, stamp);
    uint64_t took = hs_clock__now() - began;
    trace->not_before = hs_clock__now() + 4 * took;
    return 0;
}

int hs_rest_trace__needs_reading(struct hs_rest_trace *trace, bool wanted, struct hs_file_stamp *stamp,
                                 struct hs_error *error)
{
    const bool open = trace->now;
    int failed = look_at_file(trace, stamp, error);
    if (failed)
        return failed;
    if (open && !hs_store__is_whole(trace->now->store))
        return 1;
    if (hs_file_stamp__is_same(stamp, &trace->stamp))
        return !open && wanted;
    failed = check_stamp(trace, stamp, error);
    if (failed)
        return failed;
    return hs_clock__now() >= trace->not_before || (!open && wanted);
}

int hs_rest_trace__refresh(struct hs_rest_trace *trace, bool wanted, struct hs_error *error)
{
    struct hs_file_stamp stamp;
    const int needed = hs_rest_trace__needs_reading(trace, wanted, &stamp, error);
    return needed > 0 ? hs_rest_trace__read(trace, &stamp, error) : needed;
}

// ---- the trace ------------------------------------------------------------------------------------------------------

static int open_first(struct hs_rest_trace *trace, const struct hs_query_control *progress, struct hs_error *error)
{
    struct hs_file_stamp stamp;
    struct hs_rest_state *state;
    hs_file_stamp__take(&stamp, trace->path);
    int result = open_state(trace, progress, &state, error);
    if (result)
        return result;
    snprintf(trace->id, sizeof(trace->id), "%s", hs_store__summary(state->store)->trace_id);
    take_state(trace, state, &stamp);
    return 0;
}

int hs_rest_trace__create(struct hs_rest_trace **created, const char *path, struct hs_rest_common *common,
                          const struct hs_query_control *progress, struct hs_error *error)
{
    struct hs_rest_trace *trace = calloc(1, sizeof(*trace));
    char *copy = strdup(path);
    *created = NULL;
    if (!trace || !copy) {
        free(trace);
        free(copy);
        return hs_error__set(error, ENOMEM, "%s: out of memory", path);
    }
    trace->path = copy;
    trace->common = common;
    pthread_mutex_init(&trace->lock, NULL);
    pthread_mutex_init(&trace->reading, NULL);
    int result = open_first(trace, progress, error);
    if (result)
        hs_rest_trace__destroy(trace);
    else
        *created = trace;
    return result;
}

void hs_rest_trace__destroy(struct hs_rest_trace *trace)
{
    hs_rest_state__close(trace->now);
    hs_trace_facts__release(trace->facts);
    pthread_mutex_destroy(&trace->lock);
    pthread_mutex_destroy(&trace->reading);
    free(trace->path);
    free(trace);
}

const char *hs_rest_trace__id(const struct hs_rest_trace *trace)
{
    return trace->id;
}

const char *hs_rest_trace__path(const struct hs_rest_trace *trace)
{
    return trace->path;
}
