// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/traces.h"

#include "host/base/clock.h"
#include "host/gather/trace_dumps.h"
#include "host/gather/trace_files.h"
#include "host/gather/trace_journal.h"
#include "host/gather/trace_quota.h"
#include "host/gather/trace_registry.h"
#include "host/gather/trace_writer.h"

#include "format/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// The most chunk headers that are read of a partial trace. If it has more, only the counts that are shown are less.
#define MOST_CHUNKS_READ 65536
#define LEAST_ROOM       ((uint64_t)256 << 10)
// Traces that are shown; more than there may be connections.
#define MOST_LISTED 5120

// ---- opening and closing --------------------------------------------------------------------------------------------

static void free_all(struct hs_traces *traces)
{
    for (unsigned i = 0; i < HS_TRACES_BUCKETS; i++) {
        while (traces->bucket[i]) {
            if (traces->bucket[i]->fd >= 0)
                close(traces->bucket[i]->fd);
            hs_trace_registry__drop(traces, traces->bucket[i]);
        }
    }
    for (unsigned i = 0; i < HS_ACCOUNT_BUCKETS; i++) {
        while (traces->account[i]) {
            struct hs_account *account = traces->account[i];
            traces->account[i] = account->next;
            free(account);
        }
    }
    if (traces->journal >= 0)
        close(traces->journal);
    if (traces->directory >= 0)
        close(traces->directory);
    pthread_mutex_destroy(&traces->mutex);
    pthread_mutex_destroy(&traces->writer_mutex);
    pthread_cond_destroy(&traces->writer_wakes);
    free(traces);
}

int hs_traces__open(struct hs_traces **result, const struct hs_traces_options *options, struct hs_error *error)
{
    struct hs_traces *traces = calloc(1, sizeof(*traces));
    if (!traces)
        return hs_error__set(error, ENOMEM, "out of memory");
    traces->options = *options;
    traces->directory = traces->journal = -1;
    traces->run_last = &traces->run_first;
    pthread_mutex_init(&traces->mutex, NULL);
    pthread_mutex_init(&traces->writer_mutex, NULL);
    // The other clock can be set back, and the next second would be an hour away.
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&traces->writer_wakes, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int failed = hs_trace_files__open_directory(traces, error);
    if (!failed) {
        hs_trace_files__index(traces);
        failed = hs_trace_journal__open(traces, error);
    }
    if (!failed)
        failed = hs_trace_writer__start(traces, error);
    if (failed) {
        free_all(traces);
        return failed;
    }
    *result = traces;
    return 0;
}

void hs_traces__close(struct hs_traces *traces)
{
    hs_trace_writer__stop(traces);
    free_all(traces);
}

int hs_traces__directory(const struct hs_traces *traces)
{
    return traces->directory;
}

// ---- claims ---------------------------------------------------------------------------------------------------------

static void set_state(struct hs_traces *traces, struct hs_gathered *trace, enum hs_gathered_state state)
{
    if (trace->state == HS_GATHERED_RUNNING)
        atomic_fetch_sub(&traces->running, 1);
    if (state == HS_GATHERED_RUNNING)
        atomic_fetch_add(&traces->running, 1);
    trace->state = state;
}

static void add_to_run(struct hs_traces *traces, struct hs_gathered *trace)
{
    if (!trace->listed) {
        trace->listed = true;
        trace->next_in_run = NULL;
        *traces->run_last = trace;
        traces->run_last = &trace->next_in_run;
        traces->listed++;
    }
    if (trace->in_run)
        return;
    trace->in_run = true;
    trace->began_at = trace->size;
    atomic_fetch_add(&traces->begun, 1);
    atomic_fetch_add(&traces->unfinished, 1);
}

// If there are many traces, the oldest ones without a connection are not shown any more. Requires the folder's mutex.
static void retire(struct hs_traces *traces)
{
    struct hs_gathered *trace = traces->listed > MOST_LISTED ? traces->run_first : NULL;
    while (trace && trace->holders)
        trace = trace->next_in_run;
    if (!trace)
        return;
    hs_trace_registry__unlink_from_run(traces, trace);
    pthread_mutex_lock(&trace->mutex);
    free(trace->details);
    trace->details = NULL;
    pthread_mutex_unlock(&trace->mutex);
}

// The stream of this run is over, one way or the other. Its mutex is held.
static void finish(struct hs_traces *traces, struct hs_gathered *trace)
{
    if (trace->in_run && !trace->finished)
        atomic_fetch_sub(&traces->unfinished, 1);
    trace->finished = true;
}

// A stream that was refused because of the quota continues only when there is enough room.
static enum hs_refusal has_room(struct hs_traces *traces, struct hs_gathered *trace)
{
    if (trace->refusal != HS_REFUSAL_QUOTA && trace->refusal != HS_REFUSAL_QUOTA_DEVICE)
        return HS_REFUSAL_NONE;
    enum hs_refusal refusal = hs_trace_quota__take_locked(traces, trace->account, LEAST_ROOM);
    if (!refusal)
        hs_trace_quota__give_back(traces, trace->account, LEAST_ROOM);
    return refusal;
}

// The file of a part that was found belongs to a device from now on, if the journal did not say so.
static enum hs_refusal take_account(struct hs_traces *traces, struct hs_gathered *trace, const struct hs_device *device)
{
    if (!trace->account) {
        trace->account = hs_trace_registry__account(traces, hs_device__title(device));
        if (!trace->account)
            return HS_REFUSAL_TOO_MANY;
        atomic_fetch_add(&trace->account->bytes, trace->size);
    }
    if (trace->header_taken)
        return HS_REFUSAL_NONE;
    if (trace->size)
        return has_room(traces, trace);
    enum hs_refusal refusal = hs_trace_quota__take_locked(traces, trace->account, HS_FILE_HEADER_SIZE);
    trace->header_taken = !refusal;
    return refusal;
}

static void start_watch(struct hs_traces *traces, struct hs_gathered *trace)
{
    struct hs_details *details = trace->details;
    hs_chunk_watch__start(&details->watch, trace->big_endian ? HS_BYTE_ORDER_BIG : HS_BYTE_ORDER_LITTLE, trace->walked);
    if (!trace->samples)
        return;
    details->traces = traces;
    details->trace = trace;
    details->dump_failed = false;
    details->watch.whole = hs_trace_dumps__take;
    details->watch.context = details;
}

// Bytes that could not be stored are requested again when the stream reconnects.
static enum hs_refusal dumps_are_stored(struct hs_gathered *trace)
{
    if (!trace->details->dump_failed)
        return HS_REFUSAL_NONE;
    trace->details->watch.next = 0;
    return HS_REFUSAL_FILE;
}

// The file may still be open, of an earlier connection.
static enum hs_refusal reopen(struct hs_traces *traces, struct hs_gathered *trace)
{
    if (!trace->size)
        return HS_REFUSAL_NONE;
    if (trace->fd < 0) {
        if (!hs_trace_files__reopen(traces, trace))
            return HS_REFUSAL_FILE;
        hs_trace_writer__add(traces, trace);
    }
    if (!trace->details->watch.next) {
        start_watch(traces, trace);
        hs_chunk_watch__read(&trace->details->watch, trace->fd, trace->size, MOST_CHUNKS_READ);
    }
    return dumps_are_stored(trace);
}

// Both mutexes are held.
static enum hs_refusal claim_trace(struct hs_traces *traces, struct hs_gathered *trace, const struct hs_device *device,
                                   uint64_t newest, uint64_t claim)
{
    if (!trace->details)
        trace->details = calloc(1, sizeof(*trace->details));
    if (!trace->details)
        return HS_REFUSAL_TOO_MANY;
    enum hs_refusal refusal = trace->size > newest ? HS_REFUSAL_LESS : take_account(traces, trace, device);
    if (!refusal)
        refusal = reopen(traces, trace);
    if (refusal)
        return refusal;
    trace->details->device = *device;
    trace->claim = claim;
    trace->holders++;
    trace->ended_by = 0;
    trace->header_have = 0;
    trace->connections++;
    trace->refusal = HS_REFUSAL_NONE;
    set_state(traces, trace, HS_GATHERED_RUNNING);
    add_to_run(traces, trace);
    return HS_REFUSAL_NONE;
}

struct hs_gathered *hs_traces__claim(struct hs_traces *traces, const struct hs_device *device, uint64_t newest,
                                     uint64_t claim, uint64_t *size, enum hs_refusal *refusal)
{
    pthread_mutex_lock(&traces->mutex);
    struct hs_gathered *trace = hs_trace_registry__find(traces, device->trace_id);
    bool is_new = !trace;
    if (is_new)
        trace = hs_trace_registry__make(traces, device->trace_id);
    *refusal = HS_REFUSAL_TOO_MANY;
    if (trace) {
        pthread_mutex_lock(&trace->mutex);
        *refusal = claim_trace(traces, trace, device, newest, claim);
        *size = trace->size;
        pthread_mutex_unlock(&trace->mutex);
        if (*refusal && is_new)
            hs_trace_registry__drop(traces, trace);
    }
    pthread_mutex_unlock(&traces->mutex);
    return *refusal ? NULL : trace;
}

bool hs_gathered__is_claimed(struct hs_gathered *trace, uint64_t claim)
{
    pthread_mutex_lock(&trace->mutex);
    bool claimed = trace->claim == claim;
    pthread_mutex_unlock(&trace->mutex);
    return claimed;
}

// A stream without contents leaves no file. It counts as begun only if it was refused by a decision.
static void forget(struct hs_traces *traces, struct hs_gathered *trace, enum hs_refusal why)
{
    bool decided = why == HS_REFUSAL_DEVICE || why == HS_REFUSAL_QUOTA || why == HS_REFUSAL_QUOTA_DEVICE;
    finish(traces, trace);
    if (!decided)
        atomic_fetch_sub(&traces->begun, 1);
    if (trace->header_taken)
        hs_trace_quota__give_back(traces, trace->account, HS_FILE_HEADER_SIZE);
}

static void give_up(struct hs_traces *traces, struct hs_gathered *trace, enum hs_refusal why)
{
    trace->claim = 0;
    trace->header_have = 0;
    trace->refusal = why;
    set_state(traces, trace, trace->ended ? HS_GATHERED_ENDED : why ? HS_GATHERED_REFUSED : HS_GATHERED_AWAY);
    if (why || trace->ended)
        finish(traces, trace);
}

void hs_gathered__release(struct hs_traces *traces, struct hs_gathered *trace, uint64_t claim, enum hs_refusal why)
{
    pthread_mutex_lock(&traces->mutex);
    pthread_mutex_lock(&trace->mutex);
    trace->holders--;
    if (trace->claim == claim)
        give_up(traces, trace, why);
    bool drop = !trace->holders && !trace->size;
    if (drop)
        forget(traces, trace, why);
    pthread_mutex_unlock(&trace->mutex);
    if (drop)
        hs_trace_registry__drop(traces, trace);
    retire(traces);
    pthread_mutex_unlock(&traces->mutex);
}

// ---- bytes ----------------------------------------------------------------------------------------------------------

static uint64_t total(const struct iovec *pieces, int count)
{
    uint64_t bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += pieces[i].iov_len;
    return bytes;
}

static void watch(struct hs_gathered *trace, uint64_t offset, const struct iovec *pieces, int count, uint64_t bytes)
{
    for (int i = 0; i < count && bytes; i++) {
        size_t part = pieces[i].iov_len < bytes ? pieces[i].iov_len : (size_t)bytes;
        hs_chunk_watch__see(&trace->details->watch, offset, pieces[i].iov_base, part);
        offset += part;
        bytes -= part;
    }
}

static enum hs_refusal append(struct hs_traces *traces, struct hs_gathered *trace, const struct iovec *pieces,
                              int count, uint64_t bytes)
{
    uint64_t done = hs_trace_files__append(trace, pieces, count);
    watch(trace, trace->size, pieces, count, done);
    trace->size += done;
    trace->dirty = true;
    atomic_fetch_add(&traces->received, done);
    hs_trace_quota__give_back(traces, trace->account, bytes - done);
    return done == bytes ? dumps_are_stored(trace) : HS_REFUSAL_FILE;
}

// The whole header is there: looks at it, and makes the file.
static enum hs_refusal begin_file(struct hs_traces *traces, struct hs_gathered *trace)
{
    struct hs_file_header header;
    if (hs_file_header_read(trace->header, &header) != HS_HEADER_GOOD ||
        memcmp(trace->header + offsetof(struct hs_file_header, trace_id), trace->id, HS_TRACE_ID_SIZE))
        return HS_REFUSAL_HEADER;
    enum hs_refusal refusal = hs_trace_files__create(traces, trace);
    if (refusal)
        return refusal;
    trace->size = trace->walked = HS_FILE_HEADER_SIZE;
    trace->big_endian = header.byte_order == HS_BYTE_ORDER_BIG;
    trace->samples = header.content == HS_CONTENT_DUMPS;
    trace->dirty = true;
    trace->header_taken = false;
    atomic_fetch_add(&traces->received, trace->size);
    start_watch(traces, trace);
    hs_trace_journal__began(traces, trace);
    hs_trace_writer__add(traces, trace);
    free(trace->header);
    trace->header = NULL;
    return HS_REFUSAL_NONE;
}

// Takes what the header still needs off the front of the pieces.
static enum hs_refusal take_header(struct hs_traces *traces, struct hs_gathered *trace, struct iovec *pieces, int count)
{
    if (!trace->header)
        trace->header = malloc(HS_FILE_HEADER_SIZE);
    if (!trace->header)
        return HS_REFUSAL_FILE;
    for (int i = 0; i < count; i++) {
        size_t part = HS_FILE_HEADER_SIZE - trace->header_have;
        if (part > pieces[i].iov_len)
            part = pieces[i].iov_len;
        memcpy(trace->header + trace->header_have, pieces[i].iov_base, part);
        trace->header_have += part;
        pieces[i].iov_base = (uint8_t *)pieces[i].iov_base + part;
        pieces[i].iov_len -= part;
    }
    return trace->header_have == HS_FILE_HEADER_SIZE ? begin_file(traces, trace) : HS_REFUSAL_NONE;
}

// How many of the next bytes belong to the header.
static uint64_t header_part(const struct hs_gathered *trace, uint64_t bytes)
{
    uint64_t lacks = trace->size ? 0 : HS_FILE_HEADER_SIZE - trace->header_have;
    return bytes < lacks ? bytes : lacks;
}

static uint64_t bytes_to_take(struct hs_gathered *trace, uint64_t claim, uint64_t bytes)
{
    pthread_mutex_lock(&trace->mutex);
    if (trace->claim == claim)
        bytes -= header_part(trace, bytes);
    pthread_mutex_unlock(&trace->mutex);
    return bytes;
}

// The quota for what is no header is taken already; what is not used of it goes back. That for the header was taken
// with the claim.
static enum hs_refusal write_claimed(struct hs_traces *traces, struct hs_gathered *trace, const struct iovec *given,
                                     int count)
{
    struct iovec pieces[count];
    memcpy(pieces, given, sizeof(pieces));
    uint64_t bytes = total(pieces, count);
    if (!trace->size) {
        uint64_t taken = bytes - header_part(trace, bytes);
        enum hs_refusal refusal = take_header(traces, trace, pieces, count);
        if (refusal) {
            hs_trace_quota__give_back(traces, trace->account, taken);
            return refusal;
        }
        bytes = taken;
    }
    return bytes ? append(traces, trace, pieces, count, bytes) : HS_REFUSAL_NONE;
}

enum hs_refusal hs_gathered__write(struct hs_traces *traces, struct hs_gathered *trace, uint64_t claim,
                                   const struct iovec *pieces, int count, uint64_t *stored)
{
    uint64_t bytes = bytes_to_take(trace, claim, total(pieces, count));
    *stored = 0;
    // The account of a claimed trace does not change.
    enum hs_refusal refusal = hs_trace_quota__take(traces, trace->account, bytes);
    if (refusal)
        return refusal;
    pthread_mutex_lock(&trace->mutex);
    if (trace->claim == claim) {
        refusal = write_claimed(traces, trace, pieces, count);
        trace->details->heard = hs_clock__realtime();
        *stored = trace->size;
    } else {
        hs_trace_quota__give_back(traces, trace->account, bytes);
        refusal = HS_REFUSAL_REPLACED;
    }
    pthread_mutex_unlock(&trace->mutex);
    return refusal;
}

enum hs_refusal hs_gathered__end(struct hs_traces *traces, struct hs_gathered *trace, uint64_t claim, uint64_t offset)
{
    enum hs_refusal refusal = HS_REFUSAL_NONE;
    pthread_mutex_lock(&trace->mutex);
    if (trace->claim != claim)
        refusal = HS_REFUSAL_REPLACED;
    else if (offset < HS_FILE_HEADER_SIZE)
        refusal = HS_REFUSAL_HEADER;
    else if (offset != trace->size)
        refusal = HS_REFUSAL_OFFSET;
    if (!refusal) {
        trace->ended_by = claim;
        set_state(traces, trace, HS_GATHERED_ENDED);
        if (!trace->ended)
            hs_trace_journal__ended(traces, trace);
        trace->ended = true;
        trace->ended_ns = hs_clock__realtime();
    }
    pthread_mutex_unlock(&trace->mutex);
    if (!refusal)
        hs_trace_registry__wake_writer(traces);
    return refusal;
}

// ---- showing --------------------------------------------------------------------------------------------------------

// Its mutex is held.
static void copy_name(const struct hs_gathered *trace, char name[HS_TRACES_FILE_NAME])
{
    memcpy(name, trace->file, HS_TRACES_FILE_NAME);
    if (trace->samples && trace->file[0])
        hs_trace_dumps__folder(trace, name);
}

void hs_gathered__row(struct hs_gathered *trace, struct hs_gathered_row *row)
{
    pthread_mutex_lock(&trace->mutex);
    row->device = trace->details->device;
    row->samples = trace->samples;
    row->dumps = trace->dumps;
    copy_name(trace, row->file);
    row->heard = trace->details->heard;
    row->state = trace->state;
    row->refusal = trace->refusal;
    row->size = trace->size;
    row->events = trace->details->watch.events;
    row->dropped = trace->details->watch.dropped;
    row->counts_lost = trace->details->watch.lost;
    row->began_at = trace->began_at;
    row->connections = trace->connections;
    pthread_mutex_unlock(&trace->mutex);
}

size_t hs_traces__rows(struct hs_traces *traces, struct hs_gathered_row *rows, size_t most)
{
    size_t count = 0;
    pthread_mutex_lock(&traces->mutex);
    for (int running = 1; running >= 0; running--) {
        for (struct hs_gathered *trace = traces->run_first; trace && count < most; trace = trace->next_in_run) {
            hs_gathered__row(trace, &rows[count]);
            count += (rows[count].state == HS_GATHERED_RUNNING) == running;
        }
    }
    pthread_mutex_unlock(&traces->mutex);
    return count;
}

uint64_t hs_traces__claim_of(struct hs_traces *traces, const char *file)
{
    uint64_t claim = 0;
    pthread_mutex_lock(&traces->mutex);
    for (struct hs_gathered *trace = traces->run_first; trace && !claim; trace = trace->next_in_run) {
        pthread_mutex_lock(&trace->mutex);
        char name[HS_TRACES_FILE_NAME];
        copy_name(trace, name);
        if (*name && !strcmp(name, file))
            claim = trace->claim;
        pthread_mutex_unlock(&trace->mutex);
    }
    pthread_mutex_unlock(&traces->mutex);
    return claim;
}

bool hs_traces__remove(struct hs_traces *traces, const uint8_t id[HS_TRACE_ID_SIZE])
{
    pthread_mutex_lock(&traces->mutex);
    bool gone = hs_trace_quota__remove_locked(traces, id);
    pthread_mutex_unlock(&traces->mutex);
    return gone;
}

void hs_traces__totals(struct hs_traces *traces, struct hs_traces_totals *totals)
{
    totals->begun = atomic_load(&traces->begun);
    totals->unfinished = atomic_load(&traces->unfinished);
    totals->received = atomic_load(&traces->received);
    totals->stored = atomic_load(&traces->bytes);
    totals->running = atomic_load(&traces->running);
    pthread_mutex_lock(&traces->mutex);
    totals->removed = traces->removed;
    pthread_mutex_unlock(&traces->mutex);
}
