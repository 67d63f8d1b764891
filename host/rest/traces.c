// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/traces.h"

#include "host/base/clock.h"
#include "host/convert/convert.h"
#include "host/dump/series.h"
#include "host/query/drop_pages.h"
#include "host/rest/background.h"
#include "host/rest/frame_counts.h"
#include "host/store/torn_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// The state of the file when it was read.
struct stamp {
    dev_t device;
    ino_t number;
    off_t size;
    struct timespec modified;
};

struct traces_state {
    struct hs_rest_state public;
    struct hs_store *store;
    bool is_series;
    struct hs_dump_series series; // of heap dumps, which has the store and the symbols
    unsigned holders;             // under `lock` of the trace; one of them is the trace itself
    struct hs_rest_trace *trace;
    pthread_mutex_t counts_lock;          // of the next one while they are made
    struct hs_frame_counts *frame_counts; // NULL: not worked out yet
    struct hs_indexes *indexes;
};

struct hs_rest_trace {
    char id[33];
    char *path;
    const struct hs_symbols_options *symbols;
    bool prepares; // indexes are made in the background
    struct hs_rest_traces *owner;
    struct hs_rest_trace *older, *newer; // of those that are open, under `lock` of the owner
    struct hs_background_thing again;    // to read it again when it has grown
    uint64_t bytes;                      // what the symbols of `now` take, as of the last release; atomic
    bool is_read;                        // under `reading`, which will be held for long; atomic
    // The next ones are written under both locks, and read under one of them. `lock` is never held while a trace is
    // read, `reading` is: then, and while a state becomes held for a question or is closed for being idle.
    pthread_mutex_t lock, reading;
    struct traces_state *now; // NULL: closed
    struct stamp stamp;
    bool grows, is_series;        // as the last state said
    unsigned generation;          // of the contents
    unsigned opened;              // how many states there were
    uint64_t not_before;          // ns: when a trace that grows may be read again; under `reading`
    struct hs_trace_facts *facts; // NULL: not worked out yet; under `lock`
    bool facts_are_old;           // not of this stamp; under `lock`
    struct hs_error again_error;  // of the last reading in the background; under `lock`
};

struct hs_rest_traces {
    struct hs_symbols_options symbols;
    bool prepares;
    struct hs_cache *cache;
    struct hs_background *background;
    int ends;             // not 0: what is read in the background is given up
    pthread_mutex_t lock; // of the rest; taken before those of a trace, unless that is only tried
    struct hs_rest_trace **trace;
    size_t count;
    struct hs_rest_trace *oldest, *newest; // those that are open, by their last use
    size_t open;
};

#define STEP_NS 1000000

struct hs_rest_traces_limits hs_rest_traces_limits = {
    .open = 128, .bytes = (uint64_t)512 << 20, .read = (uint64_t)4 << 20, .wait = 200 * HS_MILLISECOND};

// ---- states ---------------------------------------------------------------------------------------------------------

static void close_state(struct traces_state *state)
{
    if (!state)
        return;
    hs_indexes__stop(state->indexes);
    hs_filter_scope__destroy(state->public.scope);
    if (state->is_series) {
        hs_dump_series__close(&state->series);
    } else {
        hs_trace_symbols__destroy(state->public.symbols);
        hs_store__close(state->store);
    }
    pthread_mutex_destroy(&state->counts_lock);
    hs_frame_counts__destroy(state->frame_counts);
    free(state);
}

// Nearly every answer has stacks in it, and with them these counts.
static int make_counts(struct traces_state *state, const int *cancel, struct hs_error *error)
{
    int result = 0;
    pthread_mutex_lock(&state->counts_lock);
    if (!state->frame_counts)
        result = hs_frame_counts__make(state->store, cancel, &state->frame_counts, error);
    pthread_mutex_unlock(&state->counts_lock);
    return result;
}

static void prepare_counts(void *context, const int *cancel)
{
    make_counts(context, cancel, NULL);
}

static int open_dumps(struct hs_rest_trace *trace, const int *cancel, struct traces_state *state,
                      struct hs_error *error)
{
    int result = hs_dump_series__open(&state->series, trace->path, trace->symbols, cancel, error);
    if (result)
        return result;
    state->is_series = true;
    state->public.series = &state->series;
    state->store = state->series.view.store;
    state->public.symbols = state->series.view.subject.symbols;
    return 0;
}

static int open_trace(struct hs_rest_trace *trace, const struct hs_import_options *options, struct traces_state *state,
                      struct hs_error *error)
{
    int result = hs_foreign__open(trace->path, options, &state->store, error);
    if (!result)
        state->public.symbols = hs_trace_symbols__create(state->store, trace->symbols);
    return result;
}

static int open_state(struct hs_rest_trace *trace, const struct hs_query_control *progress,
                      struct traces_state **opened, struct hs_error *error)
{
    struct hs_import_options options = {.symbols = trace->symbols,
                                        .cancel = progress ? progress->cancel : NULL,
                                        .progress = progress ? progress->progress : NULL,
                                        .context = progress ? progress->context : NULL};
    struct traces_state *state = calloc(1, sizeof(*state));
    *opened = state;
    if (!state)
        return hs_error__set(error, ENOMEM, "%s: out of memory", trace->path);
    pthread_mutex_init(&state->counts_lock, NULL);
    int result = hs_dump_series__recognise(trace->path) ? open_dumps(trace, options.cancel, state, error)
                                                        : open_trace(trace, &options, state, error);
    if (result)
        return result;
    state->trace = trace;
    state->public.store = state->store;
    state->public.path = trace->path;
    state->public.symbols_options = trace->symbols;
    if (state->public.symbols)
        state->public.scope = hs_filter_scope__create(state->store, state->public.symbols, NULL);
    if (!state->public.scope)
        return hs_error__set(error, ENOMEM, "%s: out of memory", trace->path);
    if (trace->prepares)
        state->public.indexes = state->indexes = hs_indexes__start(state->store, prepare_counts, state);
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

static struct traces_state *hold(struct traces_state *state)
{
    state->holders++;
    return state;
}

int hs_rest_state__prepare_frame_counts(const struct hs_rest_state *public, struct hs_error *error)
{
    return make_counts((struct traces_state *)(uintptr_t) public, NULL, error);
}

uint64_t hs_rest_state__frame_count(const struct hs_rest_state *public, uint32_t node)
{
    const struct traces_state *state = (const struct traces_state *)public;
    size_t count = 0;
    const struct hs_node *nodes = hs_store__nodes(state->store, &count);
    return state->frame_counts && node < count ? hs_frame_counts__of(state->frame_counts, nodes[node].pc) : 0;
}

// ---- files that change ---------------------------------------------------------------------------------------------

static bool is_store(const char *folder)
{
    char *head = NULL;
    const bool is = asprintf(&head, "%s/head", folder) > 0 && !access(head, F_OK);
    free(head);
    return is;
}

static int take_stamp(const char *path, struct stamp *stamp)
{
    struct stat status;
    *stamp = (struct stamp){0};
    if (stat(path, &status))
        return -errno;
    *stamp = (struct stamp){status.st_dev, status.st_ino, status.st_size, status.st_mtim};
    if (S_ISDIR(status.st_mode) && is_store(path)) // its folder may be touched
        *stamp = (struct stamp){.device = status.st_dev, .number = status.st_ino};
    return 0;
}

// Its process may write more of them.
static bool is_folder_of_dumps(const struct hs_rest_trace *trace)
{
    struct stat status;
    return trace->is_series && !stat(trace->path, &status) && S_ISDIR(status.st_mode);
}

static bool same_stamp(const struct stamp *one, const struct stamp *other)
{
    return one->device == other->device && one->number == other->number && one->size == other->size &&
           one->modified.tv_sec == other->modified.tv_sec && one->modified.tv_nsec == other->modified.tv_nsec;
}

// The recorder's lock lasts as long as its process, and that of `gather` on its folder as well.
static bool is_locked(const char *path, int kind)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | kind);
    bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
    if (fd >= 0)
        close(fd);
    return locked;
}

// A process that ended after the state was read has written more, which has to be read.
static bool has_changed(struct hs_rest_trace *trace)
{
    struct stamp stamp;
    pthread_mutex_lock(&trace->lock);
    const struct stamp before = trace->stamp;
    pthread_mutex_unlock(&trace->lock);
    return take_stamp(trace->path, &stamp) || !same_stamp(&stamp, &before);
}

bool hs_rest_trace__is_written(struct hs_rest_trace *trace, bool grows)
{
    if (!grows)
        return false;
    const char *slash = strrchr(trace->path, '/');
    char *folder = slash ? strndup(trace->path, (size_t)(slash - trace->path) + 1) : strdup(".");
    bool written = is_locked(trace->path, 0) || (folder && is_locked(folder, O_DIRECTORY));
    free(folder);
    return written || has_changed(trace);
}

static int is_stale(const struct hs_rest_trace *trace, struct hs_error *error, const char *what)
{
    return hs_error__set(error, ESTALE, "%s: %s", trace->path, what);
}

// ---- traces that are open -------------------------------------------------------------------------------------------

// Under `lock` of all. The one that is used most recently is the newest.
static void unlink_open(struct hs_rest_traces *traces, struct hs_rest_trace *trace)
{
    if (traces->newest != trace && !trace->newer)
        return;
    *(trace->older ? &trace->older->newer : &traces->oldest) = trace->newer;
    *(trace->newer ? &trace->newer->older : &traces->newest) = trace->older;
    trace->older = trace->newer = NULL;
    traces->open--;
}

static void note_use(struct hs_rest_trace *trace)
{
    struct hs_rest_traces *traces = trace->owner;
    pthread_mutex_lock(&traces->lock);
    unlink_open(traces, trace);
    trace->older = traces->newest;
    *(traces->newest ? &traces->newest->newer : &traces->oldest) = trace;
    traces->newest = trace;
    traces->open++;
    pthread_mutex_unlock(&traces->lock);
}

// Lists open traces that grow, which is no use of them.
static void note_open(struct hs_rest_trace *trace)
{
    struct hs_rest_traces *traces = trace->owner;
    pthread_mutex_lock(&traces->lock);
    if (traces->newest != trace && !trace->newer) {
        trace->newer = traces->oldest;
        *(traces->oldest ? &traces->oldest->older : &traces->newest) = trace;
        traces->oldest = trace;
        traces->open++;
    }
    pthread_mutex_unlock(&traces->lock);
}

// Only the owner of the lock `reading` can turn an idle trace into one that is held for a question.
static bool is_idle(struct hs_rest_trace *trace)
{
    pthread_mutex_lock(&trace->lock);
    const bool idle = trace->now && trace->now->holders == 1;
    pthread_mutex_unlock(&trace->lock);
    return idle;
}

// Symbols and indexes, which grow without any question. Under `lock` of all.
static uint64_t bytes_of(struct hs_rest_trace *trace)
{
    pthread_mutex_lock(&trace->lock);
    const uint64_t bytes = trace->now ? hs_indexes__bytes(trace->now->indexes) : 0;
    pthread_mutex_unlock(&trace->lock);
    return bytes + __atomic_load_n(&trace->bytes, __ATOMIC_RELAXED);
}

static bool is_too_large_alone(struct hs_rest_trace *trace)
{
    return bytes_of(trace) > hs_rest_traces_limits.bytes;
}

// If closing others cannot make room for a trace, it is not counted.
static bool are_bytes_too_many(const struct hs_rest_traces *traces)
{
    uint64_t bytes = 0;
    for (struct hs_rest_trace *trace = traces->oldest; trace; trace = trace->newer)
        if (!is_too_large_alone(trace) || (trace != traces->newest && is_idle(trace)))
            bytes += bytes_of(trace);
    return bytes > hs_rest_traces_limits.bytes;
}

// The idle trace that was not used for longest, with its `reading` locked. Never the newest one.
static struct hs_rest_trace *lock_idle(struct hs_rest_traces *traces, bool (*is_wanted)(struct hs_rest_trace *trace))
{
    for (struct hs_rest_trace *trace = traces->oldest; trace && trace != traces->newest; trace = trace->newer) {
        if ((is_wanted && !is_wanted(trace)) || pthread_mutex_trylock(&trace->reading))
            continue;
        if (is_idle(trace))
            return trace;
        pthread_mutex_unlock(&trace->reading);
    }
    return NULL;
}

// One to close if there are too many. One that is too large alone goes first: without it, the others may stay.
static struct hs_rest_trace *take_idle(struct hs_rest_traces *traces)
{
    struct hs_rest_trace *trace = NULL;
    pthread_mutex_lock(&traces->lock);
    const bool are_too_large = are_bytes_too_many(traces);
    if (are_too_large)
        trace = lock_idle(traces, is_too_large_alone);
    if (!trace && (are_too_large || traces->open > hs_rest_traces_limits.open))
        trace = lock_idle(traces, NULL);
    if (trace)
        unlink_open(traces, trace);
    pthread_mutex_unlock(&traces->lock);
    return trace;
}

static void let_go(struct traces_state *state)
{
    struct hs_rest_trace *trace = state->trace;
    pthread_mutex_lock(&trace->lock);
    const bool last = !--state->holders;
    struct traces_state *next = last && trace->now && trace->now != state ? hold(trace->now) : NULL;
    pthread_mutex_unlock(&trace->lock);
    if (next) {
        // Debug information that is unpacked would be unpacked again.
        hs_trace_symbols__hand_over(state->public.symbols, next->public.symbols);
        let_go(next);
    }
    if (last)
        close_state(state);
}

static void keep_facts(struct hs_rest_trace *trace, const struct traces_state *state, struct hs_trace_facts *facts)
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
static struct hs_trace_facts *hold_facts(struct hs_rest_trace *trace)
{
    pthread_mutex_lock(&trace->lock);
    struct traces_state *state = trace->now && (!trace->facts || trace->facts_are_old) ? hold(trace->now) : NULL;
    struct hs_trace_facts *facts = state ? NULL : hs_trace_facts__hold(trace->facts);
    pthread_mutex_unlock(&trace->lock);
    if (!state)
        return facts;
    facts = hs_trace_facts__make(state->store);
    if (facts && hs_store__is_whole(state->store))
        keep_facts(trace, state, facts);
    let_go(state);
    return facts;
}

// Else what was free between blocks of other traces stays resident.
static void give_memory_back(uint64_t bytes)
{
    if (bytes < (uint64_t)1 << 20)
        return;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

static void close_idle(struct hs_rest_traces *traces)
{
    struct hs_rest_trace *trace;
    while ((trace = take_idle(traces))) {
        struct traces_state *state = trace->now;
        const uint64_t bytes = hs_indexes__bytes(state->indexes) + __atomic_load_n(&trace->bytes, __ATOMIC_RELAXED);
        hs_trace_facts__release(hold_facts(trace));
        pthread_mutex_lock(&trace->lock);
        trace->now = NULL;
        __atomic_store_n(&trace->bytes, 0, __ATOMIC_RELAXED);
        pthread_mutex_unlock(&trace->lock);
        pthread_mutex_unlock(&trace->reading);
        hs_cache__forget(traces->cache, state->public.key);
        let_go(state);
        give_memory_back(bytes);
    }
}

void hs_rest_state__release(const struct hs_rest_state *public)
{
    struct traces_state *state = (struct traces_state *)(uintptr_t) public;
    struct hs_rest_trace *trace = state->trace;
    const uint64_t bytes = hs_trace_symbols__bytes(state->public.symbols);
    pthread_mutex_lock(&trace->lock);
    if (trace->now == state && bytes)
        __atomic_store_n(&trace->bytes, bytes, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&trace->lock);
    let_go(state);
    close_idle(trace->owner);
}

// Puts a state in the place of the one that was there. The stamp is from before the file was read. A trace that was
// closed and has not changed keeps its name.
static void take_state(struct hs_rest_trace *trace, struct traces_state *state, const struct stamp *stamp)
{
    struct hs_rest_state *public = &state->public;
    pthread_mutex_lock(&trace->lock);
    struct traces_state *before = trace->now;
    if (before || !trace->opened || !same_stamp(stamp, &trace->stamp)) {
        trace->generation++;
        trace->facts_are_old = true;
    }
    snprintf(public->name, sizeof(public->name), "%s/%u/", trace->id, trace->generation);
    snprintf(public->key, sizeof(public->key), "%s%u/", public->name, trace->opened++);
    trace->now = hold(state);
    trace->stamp = *stamp;
    trace->grows = hs_rest_state__grows(public);
    trace->is_series = state->is_series;
    trace->again_error = (struct hs_error){""};
    pthread_mutex_unlock(&trace->lock);
    if (before)
        let_go(before);
}

static int read_again(struct hs_rest_trace *trace, const struct stamp *stamp, struct hs_error *error)
{
    struct traces_state *state;
    uint64_t began = hs_clock__now();
    __atomic_store_n(&trace->is_read, true, __ATOMIC_RELEASE);
    const struct hs_query_control control = {.cancel = &trace->owner->ends};
    int result = open_state(trace, &control, &state, error);
    __atomic_store_n(&trace->is_read, false, __ATOMIC_RELEASE);
    // The id of a series is made of what it contains, which has become more.
    if (!result && !state->is_series && strcmp(hs_store__summary(state->store)->trace_id, trace->id) != 0)
        result = is_stale(trace, error, "another trace has replaced it; restart the server to read that one");
    if (result) {
        close_state(state);
        return -ESTALE;
    }
    take_state(trace, state, stamp);
    uint64_t took = hs_clock__now() - began;
    trace->not_before = hs_clock__now() + 4 * took;
    return 0;
}

static int look_at_file(const struct hs_rest_trace *trace, struct stamp *stamp, struct hs_error *error)
{
    int failed = take_stamp(trace->path, stamp);
    if (failed == -ENOENT)
        return is_stale(trace, error, "the file is gone; put it back, or restart the server without it");
    return failed ? is_stale(trace, error, strerror(-failed)) : 0;
}

// Under one of the locks.
static int check_stamp(const struct hs_rest_trace *trace, const struct stamp *stamp, struct hs_error *error)
{
    if (same_stamp(stamp, &trace->stamp) || trace->grows || is_folder_of_dumps(trace))
        return 0;
    return is_stale(trace, error, "the file was changed after it was read; restart the server to read it again");
}

// Under `reading`. Whether to read it: 1, 0 or an error. A trace that grows is read again, but not so often that
// nothing else is done. One that is closed is opened if that is `wanted`.
static int needs_reading(struct hs_rest_trace *trace, bool wanted, struct stamp *stamp, struct hs_error *error)
{
    const bool open = trace->now;
    int failed = look_at_file(trace, stamp, error);
    if (failed)
        return failed;
    if (open && !hs_store__is_whole(trace->now->store))
        return 1;
    if (same_stamp(stamp, &trace->stamp))
        return !open && wanted;
    failed = check_stamp(trace, stamp, error);
    if (failed)
        return failed;
    return hs_clock__now() >= trace->not_before || (!open && wanted);
}

static int refresh(struct hs_rest_trace *trace, bool wanted, struct hs_error *error)
{
    struct stamp stamp;
    const int needed = needs_reading(trace, wanted, &stamp, error);
    return needed > 0 ? read_again(trace, &stamp, error) : needed;
}

static struct traces_state *hold_now(struct hs_rest_trace *trace)
{
    pthread_mutex_lock(&trace->lock);
    struct traces_state *state = trace->now ? hold(trace->now) : NULL;
    pthread_mutex_unlock(&trace->lock);
    return state;
}

int hs_rest_trace__hold(struct hs_rest_trace *trace, const struct hs_rest_state **state, struct hs_error *error)
{
    pthread_mutex_lock(&trace->reading);
    int result = refresh(trace, true, error);
    struct traces_state *held = result ? NULL : hold_now(trace);
    pthread_mutex_unlock(&trace->reading);
    if (held)
        note_use(trace);
    *state = held ? &held->public : NULL;
    return result;
}

// Locks `reading`, unless a state is being read.
static bool lock_at_once(struct hs_rest_trace *trace)
{
    const struct timespec step = {.tv_nsec = STEP_NS};
    while (pthread_mutex_trylock(&trace->reading)) {
        if (__atomic_load_n(&trace->is_read, __ATOMIC_ACQUIRE))
            return false;
        nanosleep(&step, NULL);
    }
    return true;
}

struct hs_rest_patience hs_rest_patience__of_list(void)
{
    return (struct hs_rest_patience){hs_rest_traces_limits.read, hs_clock__now() + hs_rest_traces_limits.wait};
}

// The size of a folder says nothing about the dumps in it.
static bool is_worth_waiting(struct hs_rest_patience *patience, const struct hs_rest_trace *trace,
                             const struct stamp *stamp)
{
    if (is_folder_of_dumps(trace) || (uint64_t)stamp->size > patience->bytes)
        return false;
    patience->bytes -= (uint64_t)stamp->size;
    return true;
}

static void read_in_background(struct hs_background_thing *thing)
{
    struct hs_rest_trace *trace = (void *)((char *)thing - offsetof(struct hs_rest_trace, again));
    struct hs_error error = {""};
    pthread_mutex_lock(&trace->reading);
    refresh(trace, false, &error);
    hs_trace_facts__release(hold_facts(trace));
    if (trace->now)
        note_open(trace);
    pthread_mutex_lock(&trace->lock);
    trace->again_error = error;
    pthread_mutex_unlock(&trace->lock);
    pthread_mutex_unlock(&trace->reading);
    close_idle(trace->owner);
}

const struct hs_trace_facts *hs_rest_trace__facts(struct hs_rest_trace *trace, struct hs_rest_patience *patience,
                                                  struct hs_error *error)
{
    struct stamp stamp;
    if (!lock_at_once(trace)) {
        if (!look_at_file(trace, &stamp, error)) {
            pthread_mutex_lock(&trace->lock);
            check_stamp(trace, &stamp, error);
            pthread_mutex_unlock(&trace->lock);
        }
        return hold_facts(trace);
    }
    const bool needed = needs_reading(trace, false, &stamp, error) > 0;
    const bool waits = needed && is_worth_waiting(patience, trace, &stamp);
    if (waits)
        read_again(trace, &stamp, error);
    struct hs_trace_facts *facts = hold_facts(trace);
    if (trace->now)
        note_open(trace);
    pthread_mutex_unlock(&trace->reading);
    close_idle(trace->owner);
    if (!needed || waits)
        return facts;
    hs_trace_facts__release(facts);
    hs_background__ask(trace->owner->background, &trace->again, patience->until);
    pthread_mutex_lock(&trace->lock);
    *error = trace->again_error;
    pthread_mutex_unlock(&trace->lock);
    return hold_facts(trace);
}

struct hs_indexes_progress hs_rest_trace__indexes(struct hs_rest_trace *trace)
{
    pthread_mutex_lock(&trace->lock);
    const struct hs_indexes_progress progress = hs_indexes__progress(trace->now ? trace->now->indexes : NULL);
    pthread_mutex_unlock(&trace->lock);
    return progress;
}

int hs_rest_trace__check(struct hs_rest_trace *trace, const struct hs_rest_state *state, struct hs_error *error)
{
    if (hs_store__is_whole(state->store))
        return 0;
    return is_stale(trace, error, "its store was truncated while it was read; try again");
}

// ---- all of them ---------------------------------------------------------------------------------------------------

struct hs_rest_traces *hs_rest_traces__create(const struct hs_symbols_options *symbols, bool prepares,
                                              struct hs_cache *cache)
{
    struct hs_rest_traces *traces = calloc(1, sizeof(*traces));
    struct hs_background *background = hs_background__create(read_in_background);
    if (!traces || !background) {
        hs_background__destroy(background);
        free(traces);
        traces = NULL;
    }
    if (traces && symbols)
        traces->symbols = *symbols;
    if (traces) {
        traces->background = background;
        traces->prepares = prepares;
        traces->cache = cache;
        pthread_mutex_init(&traces->lock, NULL);
    }
    hs_torn_pages__mend();
    return traces;
}

static void free_trace(struct hs_rest_trace *trace)
{
    close_state(trace->now);
    hs_trace_facts__release(trace->facts);
    pthread_mutex_destroy(&trace->lock);
    pthread_mutex_destroy(&trace->reading);
    free(trace->path);
    free(trace);
}

void hs_rest_traces__cancel(struct hs_rest_traces *traces)
{
    __atomic_store_n(&traces->ends, 1, __ATOMIC_RELAXED);
}

void hs_rest_traces__stop(struct hs_rest_traces *traces)
{
    if (!traces)
        return;
    hs_rest_traces__cancel(traces);
    hs_background__destroy(traces->background);
    traces->background = NULL;
}

void hs_rest_traces__destroy(struct hs_rest_traces *traces)
{
    if (!traces)
        return;
    hs_rest_traces__stop(traces);
    for (size_t i = 0; i < traces->count; i++)
        free_trace(traces->trace[i]);
    free(traces->trace);
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

static int add(struct hs_rest_traces *traces, struct hs_rest_trace *trace, const struct hs_query_control *progress,
               struct hs_error *error)
{
    struct stamp stamp;
    struct traces_state *state = NULL;
    take_stamp(trace->path, &stamp);
    int result = open_state(trace, progress, &state, error);
    if (!result) {
        snprintf(trace->id, sizeof(trace->id), "%s", hs_store__summary(state->store)->trace_id);
        if (hs_rest_traces__find(traces, trace->id))
            result = hs_error__set(error, EEXIST, "%s: this trace is served already", trace->path);
    }
    if (result) {
        close_state(state);
        return result;
    }
    take_state(trace, state, &stamp);
    if (append(traces, trace))
        return hs_error__set(error, ENOMEM, "%s: out of memory", trace->path);
    note_use(trace);
    close_idle(traces);
    return 0;
}

int hs_rest_traces__add(struct hs_rest_traces *traces, const char *path, const struct hs_query_control *progress,
                        struct hs_error *error)
{
    struct hs_rest_trace *trace = calloc(1, sizeof(*trace));
    char *copy = strdup(path);
    if (!trace || !copy) {
        free(trace);
        free(copy);
        return hs_error__set(error, ENOMEM, "%s: out of memory", path);
    }
    trace->path = copy;
    trace->owner = traces;
    trace->symbols = &traces->symbols;
    trace->prepares = traces->prepares;
    pthread_mutex_init(&trace->lock, NULL);
    pthread_mutex_init(&trace->reading, NULL);
    int result = add(traces, trace, progress, error);
    if (result)
        free_trace(trace);
    return result;
}

size_t hs_rest_traces__open(struct hs_rest_traces *traces)
{
    pthread_mutex_lock(&traces->lock);
    const size_t open = traces->open;
    pthread_mutex_unlock(&traces->lock);
    return open;
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

const char *hs_rest_trace__id(const struct hs_rest_trace *trace)
{
    return trace->id;
}

const char *hs_rest_trace__path(const struct hs_rest_trace *trace)
{
    return trace->path;
}
