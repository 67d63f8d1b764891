// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/shipper.h"

#include "host/base/array.h"
#include "host/base/id_map.h"
#include "host/fleet/load_dumps.h"
#include "host/fleet/progress_file.h"
#include "host/fleet/schema.h"
#include "host/fleet/sent_dumps.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROWS_MOST = 5120, PERIOD_SECONDS = 2, LONGEST_WAIT_SECONDS = 60 };

// One trace, or the dumps of one process. Only the thread uses it.
struct shipped {
    struct hs_progress_line line; // as in the file
    uint64_t read_to;             // the rows up to here are in the sender, or in the database
    struct hs_fleet_load *load;
    struct hs_sender_device device; // of `line`
    bool is_dumps;                  // line.file is a folder, and its offsets are those of hs_sent_dumps__list
    bool has_dumps;
    struct timespec listed; // when the folder was changed last
    bool refused;           // it cannot be read
    bool ended;             // nothing more will come
    bool is_whole;          // and all of it was read
    bool has_losses;        // some of it could not be decoded
    bool is_cut;            // its end could not
};

struct hs_shipper {
    struct hs_shipper_options options;
    struct hs_database *database;
    struct hs_sender *sender;
    struct hs_traces *traces;
    struct hs_gathered_row *rows;
    struct hs_array shipped; // struct shipped *
    struct hs_id_map place;  // in it, by trace_key
    int folder;
    unsigned wait_seconds; // after a failure; 0: there was none
    bool changed;          // something is not in the file yet
    bool checked;          // the tables are there

    pthread_t thread;
    bool runs;
    pthread_mutex_t mutex; // for `ends`
    pthread_cond_t wakes;
    bool ends;
};

static struct shipped **all(const struct hs_shipper *shipper)
{
    return shipper->shipped.data;
}

// ---- traces --------------------------------------------------------------------------------------------------------

static uint64_t trace_key(const uint8_t id[16])
{
    uint64_t words[2];
    memcpy(words, id, sizeof(words));
    return words[0] ^ (words[1] << 32 | words[1] >> 32);
}

static struct shipped *find(const struct hs_shipper *shipper, const uint8_t id[16])
{
    uint32_t place = hs_id_map__find(&shipper->place, trace_key(id));
    return place == UINT32_MAX ? NULL : all(shipper)[place];
}

static struct shipped *add(struct hs_shipper *shipper, const struct hs_progress_line *line)
{
    struct shipped *trace = calloc(1, sizeof(*trace));
    struct shipped **place = NULL;
    if (trace && !hs_id_map__set(&shipper->place, trace_key(line->trace_id), (uint32_t)shipper->shipped.count))
        place = hs_array__add(&shipper->shipped, sizeof(*place));
    if (!place) {
        free(trace);
        return NULL;
    }
    trace->line = *line;
    trace->device = (struct hs_sender_device){.device = *line->device ? trace->line.device : NULL,
                                              .labels = trace->line.labels,
                                              .firmware_label = shipper->options.firmware_label};
    trace->is_dumps = !hs_sent_dumps__is_trace(line->file);
    trace->read_to = trace->is_dumps ? line->offset : 0;
    *place = trace;
    return trace;
}

static void take_line(void *context, const struct hs_progress_line *line)
{
    struct shipped *trace = find(context, line->trace_id) ? NULL : add(context, line);
    // Of an earlier run: it goes on only if its device comes back.
    if (trace)
        trace->ended = trace->has_dumps = true;
}

static void take_row(struct hs_shipper *shipper, const struct hs_gathered_row *row)
{
    struct shipped *trace = find(shipper, row->device.trace_id);
    if (!*row->file)
        return;
    if (!trace) {
        struct hs_progress_line line = {0};
        memcpy(line.trace_id, row->device.trace_id, sizeof(line.trace_id));
        snprintf(line.file, sizeof(line.file), "%s", row->file);
        snprintf(line.device, sizeof(line.device), "%s", row->device.device);
        snprintf(line.labels, sizeof(line.labels), "%s", row->device.labels);
        trace = add(shipper, &line);
        shipper->changed = true;
    }
    // Two ids with one key: one of them was made for it.
    if (!trace || memcmp(trace->line.trace_id, row->device.trace_id, sizeof(trace->line.trace_id)))
        return;
    trace->ended = row->state == HS_GATHERED_ENDED;
    trace->line.done = trace->line.done && trace->ended;
    // Then there is a folder, which the file names.
    shipper->changed |= trace->is_dumps && !trace->has_dumps && row->dumps;
    trace->has_dumps |= row->dumps > 0;
}

static void look(struct hs_shipper *shipper)
{
    size_t count = hs_traces__rows(shipper->traces, shipper->rows, ROWS_MOST);
    for (size_t i = 0; i < count; i++)
        take_row(shipper, &shipper->rows[i]);
}

static void release(struct shipped *trace)
{
    hs_fleet_load__close(trace->load);
    trace->load = NULL;
}

// ---- shipping ------------------------------------------------------------------------------------------------------

static int open_trace(struct hs_shipper *shipper, struct shipped *trace, struct hs_error *error)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", shipper->options.directory, trace->line.file) < 0)
        return -ENOMEM;
    int failed = hs_fleet_load__open(path, &trace->device, &trace->load, error);
    free(path);
    return failed;
}

// Later there may be enough.
static bool is_shortage(int failed)
{
    return failed == -ENOMEM || failed == -EMFILE || failed == -ENFILE;
}

// Reads what is new in a trace. Fails only for what concerns all traces: the database, or memory.
static int ship(struct hs_shipper *shipper, struct shipped *trace, struct hs_error *error)
{
    struct hs_fleet_loaded loaded = {0};
    if (trace->refused || trace->line.done)
        return 0;
    trace->is_whole = false;
    int failed = trace->load ? 0 : open_trace(shipper, trace, error);
    if (failed == -EAGAIN || is_shortage(failed))
        return failed == -ENOMEM ? failed : 0;
    trace->refused = failed != 0;
    if (failed)
        return 0;
    failed = hs_fleet_load__go_on(trace->load, shipper->sender, trace->ended, trace->line.offset, &trace->read_to,
                                  &loaded, error);
    if (failed == -ECONNREFUSED || failed == -EREMOTEIO || failed == -ENOMEM)
        return failed;
    if (is_shortage(failed))
        return 0;
    trace->refused = failed != 0; // its file can no longer be read
    trace->is_whole = trace->ended && !failed;
    trace->has_losses |= loaded.damaged > 0;
    trace->is_cut = loaded.unread;
    return 0;
}

struct listing {
    const struct hs_shipper *shipper;
    struct shipped *trace;
    struct hs_fleet_dump_files *dumps;
    struct hs_error *error;
};

static int take_dump(void *context, const char *name)
{
    const struct listing *listing = context;
    char *path = NULL;
    if (asprintf(&path, "%s/%s/%s", listing->shipper->options.directory, listing->trace->line.file, name) < 0)
        return hs_error__set(listing->error, ENOMEM, "out of memory");
    int failed = hs_fleet_dump_files__add(listing->dumps, &listing->trace->device, path, listing->error);
    free(path);
    if (!failed || is_shortage(failed))
        return failed;
    listing->trace->has_losses = true;
    return 0;
}

// Notes what is new in a folder of dumps. What fails here concerns all.
static int look_for_dumps(struct hs_shipper *shipper, struct shipped *trace, struct hs_fleet_dump_files *dumps,
                          struct hs_error *error)
{
    struct listing listing = {shipper, trace, dumps, error};
    struct hs_sent_dumps_state state = {.offset = trace->line.offset, .changed = trace->listed};
    if (trace->line.done || !trace->has_dumps)
        return 0;
    // The last dumps may have come within the resolution of the file system's times.
    if (trace->ended || trace->line.offset != trace->read_to)
        state.changed = (struct timespec){0};
    int failed = hs_sent_dumps__list(shipper->folder, trace->line.file, &state, take_dump, &listing);
    if (failed)
        return failed == -ENOMEM ? failed : 0;
    trace->listed = state.changed;
    trace->read_to = state.offset;
    trace->is_whole = trace->ended && !state.is_moving;
    return 0;
}

// A dump was removed meanwhile, such as by the quota: the next round no longer finds it.
static void forget_dumps(struct hs_shipper *shipper)
{
    for (size_t i = 0; i < shipper->shipped.count; i++) {
        struct shipped *trace = all(shipper)[i];
        if (!trace->is_dumps)
            continue;
        trace->read_to = trace->line.offset;
        trace->listed = (struct timespec){0};
        trace->is_whole = false;
    }
}

static int ship_dumps(struct hs_shipper *shipper, struct hs_error *error)
{
    struct hs_fleet_loaded loaded = {0};
    struct hs_fleet_dump_files *dumps = hs_fleet_dump_files__create(shipper->sender, shipper->database);
    int failed = dumps ? 0 : hs_error__set(error, ENOMEM, "out of memory");
    for (size_t i = 0; i < shipper->shipped.count && !failed; i++)
        if (all(shipper)[i]->is_dumps)
            failed = look_for_dumps(shipper, all(shipper)[i], dumps, error);
    if (!failed)
        failed = hs_fleet_dump_files__load(dumps, &loaded, error);
    hs_fleet_dump_files__free(dumps);
    if (failed)
        forget_dumps(shipper);
    return failed == -ECONNREFUSED || failed == -EREMOTEIO || failed == -ENOMEM ? failed : 0;
}

// All that was read is in the database now.
static void confirm(struct hs_shipper *shipper)
{
    for (size_t i = 0; i < shipper->shipped.count; i++) {
        struct shipped *trace = all(shipper)[i];
        bool done = trace->line.done || trace->is_whole || (trace->ended && trace->refused);
        bool moved = trace->is_dumps ? trace->line.offset != trace->read_to : trace->line.offset < trace->read_to;
        shipper->changed |= moved || trace->line.done != done;
        if (moved)
            trace->line.offset = trace->read_to;
        trace->line.done = done;
        if (trace->line.done)
            release(trace);
    }
}

struct writing {
    const struct hs_shipper *shipper;
    size_t next;
};

// What could not be read is no reason to remove the file, and the next run tries again.
static bool is_stored(const struct shipped *trace)
{
    return trace->line.done && trace->line.offset && !trace->refused && !trace->has_losses && !trace->is_cut;
}

// Traces whose files are gone need no line.
static bool next_line(void *context, struct hs_progress_line *line)
{
    struct writing *writing = context;
    while (writing->next < writing->shipper->shipped.count) {
        const struct shipped *trace = all(writing->shipper)[writing->next++];
        if (faccessat(writing->shipper->folder, trace->line.file, F_OK, AT_SYMLINK_NOFOLLOW))
            continue;
        *line = trace->line;
        line->done = is_stored(trace);
        // From the beginning, as events are decoded only when there are new ones.
        if (trace->has_losses)
            line->offset = 0;
        return true;
    }
    return false;
}

static int write_progress(struct hs_shipper *shipper, struct hs_error *error)
{
    struct writing writing = {.shipper = shipper};
    if (!shipper->changed)
        return 0;
    int failed = hs_progress_file__write(shipper->folder, next_line, &writing);
    if (failed)
        return hs_error__set(error, -failed, "%s/.heapsonde-fleet cannot be written: %s", shipper->options.directory,
                             strerror(-failed));
    shipper->changed = false;
    return 0;
}

// The rows are in the database, and the file says so. Those that are not whole there stay.
static void remove_files(struct hs_shipper *shipper)
{
    for (size_t i = 0; i < shipper->shipped.count;) {
        struct shipped *trace = all(shipper)[i];
        if (!is_stored(trace) || !hs_traces__remove(shipper->traces, trace->line.trace_id)) {
            i++;
            continue;
        }
        struct shipped *last = all(shipper)[--shipper->shipped.count];
        hs_id_map__remove(&shipper->place, trace_key(trace->line.trace_id));
        if (last != trace)
            hs_id_map__set(&shipper->place, trace_key(last->line.trace_id), (uint32_t)i); // has a place already
        all(shipper)[i] = last;
        release(trace);
        free(trace);
        shipper->changed = true;
    }
}

static int ship_all(struct hs_shipper *shipper, struct hs_error *error)
{
    look(shipper);
    // Before anything is sent: the next run has to know the devices.
    int failed = write_progress(shipper, error);
    if (!failed && !shipper->checked)
        failed = hs_fleet_schema__check(shipper->database, error);
    shipper->checked = shipper->checked || !failed;
    if (!failed && hs_sender__waiting(shipper->sender))
        failed = hs_sender__flush(shipper->sender, error);
    for (size_t i = 0; i < shipper->shipped.count && !failed; i++)
        if (!all(shipper)[i]->is_dumps)
            failed = ship(shipper, all(shipper)[i], error);
    if (!failed)
        failed = ship_dumps(shipper, error);
    if (!failed)
        failed = hs_sender__flush(shipper->sender, error);
    if (failed)
        return failed;
    confirm(shipper);
    failed = write_progress(shipper, error);
    if (failed || !shipper->options.in_place)
        return failed;
    remove_files(shipper);
    return write_progress(shipper, error);
}

static void round_of(struct hs_shipper *shipper)
{
    struct hs_error error = {.message = "out of memory"};
    char line[1200];
    int failed = ship_all(shipper, &error);
    if (failed && !shipper->wait_seconds) {
        snprintf(line, sizeof(line), "%s; new data is kept in the folder and is sent later", error.message);
        shipper->options.say(shipper->options.context, line);
    }
    if (!failed && shipper->wait_seconds) {
        snprintf(line, sizeof(line), "%s: the database accepts rows again", hs_database__address(shipper->database));
        shipper->options.say(shipper->options.context, line);
    }
    unsigned longer = shipper->wait_seconds ? 2 * shipper->wait_seconds : PERIOD_SECONDS;
    shipper->wait_seconds = !failed ? 0 : longer < LONGEST_WAIT_SECONDS ? longer : LONGEST_WAIT_SECONDS;
}

static void *run(void *data)
{
    struct hs_shipper *shipper = data;
    bool ends = false;
    while (!ends) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += shipper->wait_seconds ? shipper->wait_seconds : PERIOD_SECONDS;
        pthread_mutex_lock(&shipper->mutex);
        while (!shipper->ends && pthread_cond_timedwait(&shipper->wakes, &shipper->mutex, &until) != ETIMEDOUT) {
        }
        ends = shipper->ends;
        pthread_mutex_unlock(&shipper->mutex);
        round_of(shipper);
    }
    return NULL;
}

// ---- beginning and end ---------------------------------------------------------------------------------------------

int hs_shipper__create(struct hs_shipper **result, const struct hs_shipper_options *options, struct hs_error *error)
{
    struct hs_shipper *shipper = calloc(1, sizeof(*shipper));
    if (!shipper)
        return hs_error__set(error, ENOMEM, "out of memory");
    shipper->options = *options;
    shipper->folder = -1;
    pthread_mutex_init(&shipper->mutex, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&shipper->wakes, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int failed = hs_database__open(options->address, &shipper->database, error);
    if (!failed)
        failed = hs_fleet_schema__check(shipper->database, error);
    shipper->checked = !failed;
    // It may be away when gather starts, too; the first round says so.
    if (failed == -ECONNREFUSED)
        failed = 0;
    if (!failed) {
        shipper->sender = hs_sender__create(shipper->database);
        shipper->rows = calloc(ROWS_MOST, sizeof(*shipper->rows));
        failed = shipper->sender && shipper->rows ? 0 : hs_error__set(error, ENOMEM, "out of memory");
    }
    if (failed) {
        hs_shipper__free(shipper);
        return failed;
    }
    *result = shipper;
    return 0;
}

int hs_shipper__start(struct hs_shipper *shipper, struct hs_traces *traces, struct hs_error *error)
{
    const char *directory = shipper->options.directory;
    shipper->traces = traces;
    shipper->folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int failed = shipper->folder < 0 ? -errno : hs_progress_file__read(shipper->folder, take_line, shipper);
    if (failed)
        return hs_error__set(error, -failed, "%s: %s", directory, strerror(-failed));
    int problem = pthread_create(&shipper->thread, NULL, run, shipper);
    if (problem)
        return hs_error__set(error, problem, "a thread cannot be started: %s", strerror(problem));
    shipper->runs = true;
    return 0;
}

size_t hs_shipper__stop(struct hs_shipper *shipper)
{
    if (!shipper->runs)
        return 0;
    pthread_mutex_lock(&shipper->mutex);
    shipper->ends = true;
    pthread_cond_signal(&shipper->wakes);
    pthread_mutex_unlock(&shipper->mutex);
    pthread_join(shipper->thread, NULL);
    shipper->runs = false;
    size_t lacking = 0;
    for (size_t i = 0; i < shipper->shipped.count; i++)
        lacking += !all(shipper)[i]->refused && all(shipper)[i]->line.offset < all(shipper)[i]->read_to;
    return shipper->wait_seconds && !lacking ? 1 : lacking;
}

void hs_shipper__free(struct hs_shipper *shipper)
{
    if (!shipper)
        return;
    for (size_t i = 0; i < shipper->shipped.count; i++) {
        release(all(shipper)[i]);
        free(all(shipper)[i]);
    }
    free(shipper->shipped.data);
    hs_id_map__free(&shipper->place);
    hs_sender__free(shipper->sender);
    hs_database__close(shipper->database);
    if (shipper->folder >= 0)
        close(shipper->folder);
    pthread_mutex_destroy(&shipper->mutex);
    pthread_cond_destroy(&shipper->wakes);
    free(shipper->rows);
    free(shipper);
}
