// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A thread that brings files to the disk: those that were written to once a second, one that has ended, and dumps, at
// once. It also closes files that no connection holds any more. Waiting for a disk thus stops no stream.
#include "host/gather/trace_writer.h"

#include "host/gather/trace_dumps.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void hs_trace_writer__add(struct hs_traces *traces, struct hs_gathered *trace)
{
    pthread_mutex_lock(&traces->writer_mutex);
    trace->next_open = traces->open;
    traces->open = trace;
    pthread_mutex_unlock(&traces->writer_mutex);
}

// Only this thread closes files, so that `fd` stays what it is without the mutex.
static void sync_one(struct hs_traces *traces, struct hs_gathered *trace, bool all)
{
    pthread_mutex_lock(&trace->mutex);
    uint64_t ended_by = trace->ended_by;
    bool sync = trace->dirty && (all || ended_by || trace->unflushed);
    if (sync)
        trace->dirty = false;
    int fd = trace->fd;
    pthread_mutex_unlock(&trace->mutex);
    if (sync) {
        fdatasync(fd);
        hs_trace_dumps__flush(traces, trace);
    }
    if (!ended_by)
        return;
    pthread_mutex_lock(&trace->mutex);
    bool reported = trace->ended_by != ended_by;
    if (!reported)
        trace->ended_by = 0;
    pthread_mutex_unlock(&trace->mutex);
    if (!reported && traces->options.stored)
        traces->options.stored(traces->options.context, ended_by);
}

// Closes the file if nobody uses it. True: it was closed and removed from the list.
static bool close_one(struct hs_gathered *trace, bool all)
{
    pthread_mutex_lock(&trace->mutex);
    bool orphan = trace->orphan;
    bool unused = orphan || ((all || !trace->claim) && !trace->dirty);
    if (unused) {
        close(trace->fd);
        trace->fd = -1;
    }
    pthread_mutex_unlock(&trace->mutex);
    if (orphan)
        hs_trace_registry__free(trace);
    return unused;
}

// Others put in front of the list meanwhile; what is behind `first` is this thread's.
static void sync_all(struct hs_traces *traces, bool all, bool close_all)
{
    pthread_mutex_lock(&traces->writer_mutex);
    struct hs_gathered *list = traces->open;
    traces->open = NULL;
    pthread_mutex_unlock(&traces->writer_mutex);
    struct hs_gathered *kept = NULL, **last = &kept;
    while (list) {
        struct hs_gathered *trace = list;
        list = trace->next_open;
        sync_one(traces, trace, all);
        // A closed one may be claimed and added, or removed, at once.
        if (all && close_one(trace, close_all))
            continue;
        *last = trace;
        last = &trace->next_open;
    }
    pthread_mutex_lock(&traces->writer_mutex);
    *last = traces->open;
    traces->open = kept;
    pthread_mutex_unlock(&traces->writer_mutex);
}

static void next_second(struct timespec *time)
{
    clock_gettime(CLOCK_MONOTONIC, time);
    time->tv_sec++;
}

static void *run(void *data)
{
    struct hs_traces *traces = data;
    struct timespec time;
    next_second(&time);
    pthread_mutex_lock(&traces->writer_mutex);
    while (!traces->writer_ends) {
        bool late = false;
        while (!traces->writer_ends && !traces->writer_urgent && !late)
            late = pthread_cond_timedwait(&traces->writer_wakes, &traces->writer_mutex, &time) == ETIMEDOUT;
        traces->writer_urgent = false;
        pthread_mutex_unlock(&traces->writer_mutex);
        sync_all(traces, late, false);
        if (late)
            next_second(&time);
        pthread_mutex_lock(&traces->writer_mutex);
    }
    pthread_mutex_unlock(&traces->writer_mutex);
    sync_all(traces, true, true);
    return NULL;
}

int hs_trace_writer__start(struct hs_traces *traces, struct hs_error *error)
{
    int problem = pthread_create(&traces->writer, NULL, run, traces);
    if (problem)
        return hs_error__set(error, problem, "a thread cannot be started: %s", strerror(problem));
    traces->writer_runs = true;
    return 0;
}

void hs_trace_writer__stop(struct hs_traces *traces)
{
    if (!traces->writer_runs)
        return;
    pthread_mutex_lock(&traces->writer_mutex);
    traces->writer_ends = true;
    pthread_cond_signal(&traces->writer_wakes);
    pthread_mutex_unlock(&traces->writer_mutex);
    pthread_join(traces->writer, NULL);
    traces->writer_runs = false;
}
