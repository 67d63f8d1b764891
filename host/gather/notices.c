// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/notices.h"

#include "host/base/clock.h"
#include "host/base/json.h"
#include "host/gather/table.h"
#include "host/report/text.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

// Limits of printed lines, per reason and, for announcements, in total, so that unknown peers cannot fill a log.
enum { MOST_LINES = 20, MOST_HEARD_LINES = 1000, MOST_PEER = 200 };

struct hs_notices {
    enum hs_notices_form form;
    FILE *out, *errors;
    pthread_mutex_t mutex; // of the outputs
    struct hs_table table;
    unsigned lines[HS_REFUSAL_COUNT];
    unsigned heard_lines;
    uint64_t received_before, time_before;
    _Atomic uint64_t refused[HS_REFUSAL_COUNT];
};

struct hs_notices *hs_notices__create(enum hs_notices_form form, FILE *out, FILE *errors)
{
    struct hs_notices *notices = calloc(1, sizeof(*notices));
    if (!notices)
        return NULL;
    notices->form = form;
    notices->out = out;
    notices->errors = errors;
    pthread_mutex_init(&notices->mutex, NULL);
    return notices;
}

void hs_notices__destroy(struct hs_notices *notices)
{
    hs_table__free(&notices->table);
    pthread_mutex_destroy(&notices->mutex);
    free(notices);
}

// ---- pieces ---------------------------------------------------------------------------------------------------------

static void begin_object(struct hs_notices *notices, struct hs_json *json, const char *event)
{
    hs_json__start(json, notices->out, false);
    hs_json__open_object(json, NULL);
    hs_json__string(json, "event", event);
}

static void end_object(struct hs_notices *notices, struct hs_json *json)
{
    hs_json__close_object(json);
    fflush(notices->out);
}

static void put_device(struct hs_json *json, const struct hs_device *device)
{
    char id[2 * HS_TRACE_ID_SIZE + 1];
    for (unsigned i = 0; i < HS_TRACE_ID_SIZE; i++)
        snprintf(id + 2 * i, 3, "%02x", device->trace_id[i]);
    hs_json__string(json, "trace", id);
    hs_json__string(json, "name", device->name);
    hs_json__string(json, "pid", device->pid);
    hs_json__string(json, "device", device->device);
    hs_json__string(json, "labels", device->labels);
    hs_json__string(json, "shim", device->shim);
}

static void print_device(FILE *out, const struct hs_device *device)
{
    const char *name = device->name[0] ? device->name : "?";
    const char *title = hs_device__title(device);
    hs_text__print(out, name, strlen(name));
    fputs(" (", out);
    hs_text__print(out, device->pid, strlen(device->pid));
    fputs(") on ", out);
    hs_text__print(out, title, strlen(title));
}

// The stream to write a line to, without the table in the way.
static FILE *line_to(struct hs_notices *notices, FILE *to)
{
    if (notices->form == HS_NOTICES_TABLE)
        hs_table__wipe(&notices->table, notices->out);
    return to;
}

// ---- lines ----------------------------------------------------------------------------------------------------------

void hs_notices__listening(struct hs_notices *notices, const struct hs_address *address)
{
    char text[HS_ADDRESS_TEXT];
    struct hs_json json;
    pthread_mutex_lock(&notices->mutex);
    if (notices->form == HS_NOTICES_JSON) {
        begin_object(notices, &json, "listening");
        hs_json__string(&json, "address", hs_address__text(address, text));
        end_object(notices, &json);
    } else {
        fprintf(line_to(notices, notices->out), "listening on %s\n", hs_address__text(address, text));
        fflush(notices->out);
    }
    pthread_mutex_unlock(&notices->mutex);
}

void hs_notices__metrics(struct hs_notices *notices, const char *url)
{
    struct hs_json json;
    pthread_mutex_lock(&notices->mutex);
    if (notices->form == HS_NOTICES_JSON) {
        begin_object(notices, &json, "metrics");
        hs_json__string(&json, "url", url);
        end_object(notices, &json);
    } else {
        fprintf(line_to(notices, notices->out), "metrics at %s\n", url);
        fflush(notices->out);
    }
    pthread_mutex_unlock(&notices->mutex);
}

void hs_notices__heard(struct hs_notices *notices, const struct hs_device *device, const struct hs_address *address,
                       bool selected)
{
    char text[HS_ADDRESS_TEXT];
    struct hs_json json;
    pthread_mutex_lock(&notices->mutex);
    bool say = notices->heard_lines < MOST_HEARD_LINES;
    notices->heard_lines += say;
    if (say && notices->form == HS_NOTICES_JSON) {
        begin_object(notices, &json, "heard");
        put_device(&json, device);
        hs_json__string(&json, "address", hs_address__text(address, text));
        hs_json__boolean(&json, "selected", selected);
        end_object(notices, &json);
    } else if (say) {
        FILE *out = line_to(notices, notices->out);
        print_device(out, device);
        fprintf(out, ": heard at %s%s\n", hs_address__text(address, text), selected ? "" : ", not selected");
        fflush(out);
    }
    pthread_mutex_unlock(&notices->mutex);
}

static void stream_json(struct hs_notices *notices, const char *word, const struct hs_gathered_row *row)
{
    struct hs_json json;
    begin_object(notices, &json, word);
    put_device(&json, &row->device);
    hs_json__string(&json, "address", row->device.address);
    hs_json__string(&json, "file", row->file[0] ? row->file : NULL);
    hs_json__number(&json, "bytes", row->size);
    if (row->samples)
        hs_json__number(&json, "dumps", row->dumps);
    else if (!row->counts_lost)
        hs_json__number(&json, "events", row->events);
    if (!row->counts_lost)
        hs_json__number(&json, "dropped", row->dropped);
    end_object(notices, &json);
}

static void stream_line(struct hs_notices *notices, const char *word, const struct hs_gathered_row *row)
{
    FILE *out = line_to(notices, notices->out);
    print_device(out, &row->device);
    fprintf(out, ": %s", word);
    if (row->size)
        fprintf(out, ", %s", hs_text__bytes(row->size).text);
    if (row->samples)
        fprintf(out, ", %s", hs_text__counted(row->dumps, "dump").text);
    if (row->events && !row->counts_lost)
        fprintf(out, ", %s", hs_text__counted(row->events, "event").text);
    if (row->dropped && !row->counts_lost)
        fprintf(out, ", %s more dropped", hs_text__count(row->dropped).text);
    fprintf(out, "%s%s\n", row->file[0] ? ", " : "", row->file);
    fflush(out);
}

void hs_notices__stream(struct hs_notices *notices, const char *word, const struct hs_gathered_row *row)
{
    pthread_mutex_lock(&notices->mutex);
    if (notices->form == HS_NOTICES_JSON)
        stream_json(notices, word, row);
    else
        stream_line(notices, word, row);
    pthread_mutex_unlock(&notices->mutex);
}

static void refused_json(struct hs_notices *notices, enum hs_refusal refusal, const char *peer,
                         const struct hs_device *device, const char *detail)
{
    struct hs_json json;
    begin_object(notices, &json, "refused");
    hs_json__string(&json, "reason", hs_refusal__word(refusal));
    hs_json__string(&json, "text", hs_refusal__text(refusal));
    hs_json__string(&json, "address", peer);
    if (device)
        put_device(&json, device);
    if (detail)
        hs_json__string(&json, "detail", detail);
    end_object(notices, &json);
}

static void refused_line(struct hs_notices *notices, enum hs_refusal refusal, const char *peer,
                         const struct hs_device *device, const char *detail)
{
    FILE *out = line_to(notices, notices->errors);
    fputs("refused ", out);
    hs_text__print(out, peer, strnlen(peer, MOST_PEER));
    if (device) {
        fputs(", ", out);
        print_device(out, device);
    }
    fprintf(out, ": %s", hs_refusal__text(refusal));
    if (detail) {
        fputs(": ", out);
        hs_text__print(out, detail, strlen(detail));
    }
    fputs(notices->lines[refusal] == MOST_LINES ? "; further refusals for this reason are only counted\n" : "\n", out);
    fflush(out);
}

void hs_notices__refused_at(struct hs_notices *notices, enum hs_refusal refusal, const char *peer,
                            const struct hs_device *device, const char *detail)
{
    atomic_fetch_add(&notices->refused[refusal], 1);
    device = device && (device->name[0] || device->pid[0]) ? device : NULL;
    detail = detail && detail[0] ? detail : NULL;
    pthread_mutex_lock(&notices->mutex);
    if (notices->lines[refusal] < MOST_LINES) {
        notices->lines[refusal]++;
        if (notices->form == HS_NOTICES_JSON)
            refused_json(notices, refusal, peer, device, detail);
        else
            refused_line(notices, refusal, peer, device, detail);
    }
    pthread_mutex_unlock(&notices->mutex);
}

void hs_notices__refused(struct hs_notices *notices, enum hs_refusal refusal, const struct hs_address *peer,
                         const struct hs_device *device, const char *detail)
{
    char text[HS_ADDRESS_TEXT];
    hs_notices__refused_at(notices, refusal, hs_address__text(peer, text), device, detail);
}

void hs_notices__broker(struct hs_notices *notices, const char *url, const char *lost)
{
    struct hs_json json;
    pthread_mutex_lock(&notices->mutex);
    if (notices->form == HS_NOTICES_JSON) {
        begin_object(notices, &json, lost ? "broker-away" : "broker");
        hs_json__string(&json, "url", url);
        hs_json__string(&json, "text", lost);
        end_object(notices, &json);
    } else if (lost) {
        fprintf(line_to(notices, notices->errors), "broker %s: %s; trying again\n", url, lost);
        fflush(notices->errors);
    } else {
        fprintf(line_to(notices, notices->out), "receiving from %s\n", url);
        fflush(notices->out);
    }
    pthread_mutex_unlock(&notices->mutex);
}

uint64_t hs_notices__refused_count(struct hs_notices *notices, enum hs_refusal refusal)
{
    return atomic_load(&notices->refused[refusal]);
}

// ---- progress -------------------------------------------------------------------------------------------------------

static uint64_t rate(struct hs_notices *notices, uint64_t received)
{
    uint64_t now = hs_clock__now();
    uint64_t passed = now - notices->time_before;
    uint64_t result = 0;
    if (notices->time_before && passed)
        result = (uint64_t)((double)(received - notices->received_before) * 1e9 / (double)passed);
    notices->time_before = now;
    notices->received_before = received;
    return result;
}

static void put_totals(struct hs_json *json, const struct hs_traces_totals *totals)
{
    hs_json__number(json, "streams", totals->begun);
    hs_json__number(json, "running", totals->running);
    hs_json__number(json, "unfinished", totals->unfinished);
    hs_json__number(json, "received", totals->received);
    hs_json__number(json, "stored", totals->stored);
    hs_json__number(json, "removed", totals->removed);
}

static void put_refused(struct hs_notices *notices, struct hs_json *json)
{
    hs_json__open_object(json, "refused");
    for (unsigned i = 1; i < HS_REFUSAL_COUNT; i++) {
        uint64_t count = atomic_load(&notices->refused[i]);
        if (count)
            hs_json__number(json, hs_refusal__word((enum hs_refusal)i), count);
    }
    hs_json__close_object(json);
}

void hs_notices__progress(struct hs_notices *notices, struct hs_traces *traces)
{
    struct hs_traces_totals totals;
    struct hs_json json;
    if (notices->form == HS_NOTICES_LINES)
        return;
    hs_traces__totals(traces, &totals);
    pthread_mutex_lock(&notices->mutex);
    uint64_t per_second = rate(notices, totals.received);
    if (notices->form == HS_NOTICES_TABLE) {
        hs_table__draw(&notices->table, notices->out, traces, &totals, per_second);
    } else {
        begin_object(notices, &json, "status");
        put_totals(&json, &totals);
        hs_json__number(&json, "rate", per_second);
        put_refused(notices, &json);
        end_object(notices, &json);
    }
    pthread_mutex_unlock(&notices->mutex);
}

static void summary_lines(struct hs_notices *notices, const struct hs_traces_totals *totals)
{
    FILE *out = line_to(notices, notices->out);
    fprintf(out, "%s stream%s, %s not ended; %s received\n", hs_text__count(totals->begun).text,
            totals->begun == 1 ? "" : "s", hs_text__count(totals->unfinished).text,
            hs_text__bytes(totals->received).text);
    if (totals->removed)
        fprintf(out, "%s removed for the quota\n", hs_text__count(totals->removed).text);
    for (unsigned i = 1; i < HS_REFUSAL_COUNT; i++) {
        uint64_t count = atomic_load(&notices->refused[i]);
        if (count)
            fprintf(out, "refused %s: %s\n", hs_text__count(count).text, hs_refusal__text((enum hs_refusal)i));
    }
    fflush(out);
}

void hs_notices__summary(struct hs_notices *notices, struct hs_traces *traces)
{
    struct hs_traces_totals totals;
    struct hs_json json;
    hs_traces__totals(traces, &totals);
    pthread_mutex_lock(&notices->mutex);
    if (notices->form == HS_NOTICES_JSON) {
        begin_object(notices, &json, "summary");
        put_totals(&json, &totals);
        put_refused(notices, &json);
        end_object(notices, &json);
    } else {
        summary_lines(notices, &totals);
    }
    pthread_mutex_unlock(&notices->mutex);
}
