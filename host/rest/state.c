// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/state.h"

#include "host/convert/convert.h"
#include "host/dump/series.h"
#include "host/query/drop_pages.h"
#include "host/rest/frame_counts.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct opened_state {
    struct hs_rest_state public;
    struct hs_store *store;               // NULL: the series has it, and the symbols
    struct hs_dump_series series;         // of heap dumps
    pthread_mutex_t counts_lock;          // of the next one while they are made
    struct hs_frame_counts *frame_counts; // NULL: not worked out yet
};

static struct opened_state *opened(const struct hs_rest_state *public)
{
    return (struct opened_state *)(uintptr_t) public;
}

void hs_rest_state__close(struct hs_rest_state *public)
{
    if (!public)
        return;
    struct opened_state *state = opened(public);
    hs_indexes__stop(public->indexes);
    hs_filter_scope__destroy(public->scope);
    if (public->series) {
        hs_dump_series__close(&state->series);
    } else {
        hs_trace_symbols__destroy(public->symbols);
        hs_store__close(state->store);
    }
    pthread_mutex_destroy(&state->counts_lock);
    hs_frame_counts__destroy(state->frame_counts);
    free(state);
}

// Nearly every answer has stacks in it, and with them these counts.
static int make_counts(struct opened_state *state, const int *cancel, struct hs_error *error)
{
    int result = 0;
    pthread_mutex_lock(&state->counts_lock);
    if (!state->frame_counts)
        result = hs_frame_counts__make(state->public.store, cancel, &state->frame_counts, error);
    pthread_mutex_unlock(&state->counts_lock);
    return result;
}

static void prepare_counts(void *context, const int *cancel)
{
    make_counts(context, cancel, NULL);
}

static int open_dumps(struct opened_state *state, const int *cancel, struct hs_error *error)
{
    struct hs_rest_state *public = &state->public;
    int result = hs_dump_series__open(&state->series, public->path, public->symbols_options, cancel, error);
    if (result)
        return result;
    public->series = &state->series;
    public->store = state->series.view.store;
    public->symbols = state->series.view.subject.symbols;
    return 0;
}

static int open_trace(struct opened_state *state, const struct hs_import_options *options, struct hs_error *error)
{
    struct hs_rest_state *public = &state->public;
    int result = hs_foreign__open(public->path, options, &state->store, error);
    if (result)
        return result;
    public->store = state->store;
    public->symbols = hs_trace_symbols__create(state->store, public->symbols_options);
    return 0;
}

static int open_state(struct opened_state *state, const struct hs_query_control *progress, struct hs_error *error)
{
    struct hs_rest_state *public = &state->public;
    struct hs_import_options options = {.symbols = public->symbols_options,
                                        .cancel = progress ? progress->cancel : NULL,
                                        .progress = progress ? progress->progress : NULL,
                                        .context = progress ? progress->context : NULL};
    int result = hs_dump_series__recognise(public->path) ? open_dumps(state, options.cancel, error)
                                                         : open_trace(state, &options, error);
    if (result)
        return result;
    public->scope = public->symbols ? hs_filter_scope__create(public->store, public->symbols, NULL) : NULL;
    return public->scope ? 0 : hs_error__set(error, ENOMEM, "%s: out of memory", public->path);
}

int hs_rest_state__open(struct hs_rest_state **public, const char *path, const struct hs_symbols_options *symbols,
                        bool prepares, const struct hs_query_control *progress, struct hs_error *error)
{
    struct opened_state *state = calloc(1, sizeof(*state));
    *public = NULL;
    if (!state)
        return hs_error__set(error, ENOMEM, "%s: out of memory", path);
    pthread_mutex_init(&state->counts_lock, NULL);
    state->public.path = path;
    state->public.symbols_options = symbols;
    int result = open_state(state, progress, error);
    if (result) {
        hs_rest_state__close(&state->public);
        return result;
    }
    if (prepares)
        state->public.indexes = hs_indexes__start(state->public.store, prepare_counts, state);
    *public = &state->public;
    return 0;
}

// Sums of all mapped files of the process.
#define MOST_RESIDENT ((uint64_t)512 << 20)

static uint64_t resident_of_files(void)
{
    unsigned long all, resident, shared = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return 0;
    if (fscanf(file, "%lu %lu %lu", &all, &resident, &shared) != 3)
        shared = 0;
    fclose(file);
    return (uint64_t)shared * (uint64_t)sysconf(_SC_PAGESIZE);
}

void hs_rest_state__drop_pages(const struct hs_rest_state *state)
{
    hs_columns__drop_pages(hs_store__columns(state->store), UINT64_MAX);
    hs_indexes__drop_pages(state->indexes);
}

void hs_rest_state__trim(const struct hs_rest_state *state)
{
    if (resident_of_files() > MOST_RESIDENT)
        hs_rest_state__drop_pages(state);
}

bool hs_rest_state__grows(const struct hs_rest_state *state)
{
    return hs_store__summary(state->store)->state == HS_STATE_RECORDING;
}

int hs_rest_state__prepare_frame_counts(const struct hs_rest_state *state, struct hs_error *error)
{
    return make_counts(opened(state), NULL, error);
}

uint64_t hs_rest_state__frame_count(const struct hs_rest_state *state, uint32_t node)
{
    const struct hs_frame_counts *counts = opened(state)->frame_counts;
    size_t count = 0;
    const struct hs_node *nodes = hs_store__nodes(state->store, &count);
    return counts && node < count ? hs_frame_counts__of(counts, nodes[node].pc) : 0;
}
