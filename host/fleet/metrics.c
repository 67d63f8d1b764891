// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/metrics.h"

#include "host/base/clock.h"
#include "host/fleet/keys.h"
#include "host/fleet/live_sites.h"
#include "host/server/exposition.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS_MOST = 5120, SHOWN_MOST = 1000, SITES_SHOWN = 20, LABELS_MOST = 16, LABEL_NAME = 64 };

// Longer than this nobody waits for an answer; what is left to read is read at the next question.
#define READING_MOST (5 * HS_SECOND)

// A stream that has not ended.
struct metrics_process {
    char program[HS_METRIC_LABEL], firmware[HS_METRIC_LABEL];
    uint8_t trace_id[HS_TRACE_ID_SIZE];
    struct hs_follow *follow;
    struct hs_live_process live;
    bool has_sums; // `live` says something
    bool refused;  // its trace holds no sums, or cannot be read
    uint64_t round;
};

struct hs_fleet_metrics {
    struct hs_fleet_metrics_options options;
    struct hs_http_server *server;
    struct hs_traces *traces;
    struct hs_notices *notices;
    struct hs_gathered_row *rows;
    struct metrics_process **of_row; // NULL: ended, refused, or no room
    size_t row_count;
    struct hs_array processes; // struct metrics_process *
    struct hs_live_sites sites;
    uint64_t round; // the number of the question
    size_t behind;  // processes that were not read to the end
};

// ---- processes -----------------------------------------------------------------------------------------------------

static struct metrics_process **all(const struct hs_fleet_metrics *metrics)
{
    return metrics->processes.data;
}

static void free_process(struct metrics_process *process)
{
    hs_live_process__leave(&process->live);
    hs_follow__close(process->follow);
    free(process);
}

// The value of a label in KEY=VALUE,...; "" if there is none.
static void label_value(const char *labels, const char *key, char *value, size_t size)
{
    size_t key_length = strlen(key);
    char whole[512] = "";
    for (const char *at = labels; *at;) {
        size_t length = strcspn(at, ",");
        if (length > key_length && !strncmp(at, key, key_length) && at[key_length] == '=' && length < sizeof(whole)) {
            memcpy(whole, at + key_length + 1, length - key_length - 1);
            whole[length - key_length - 1] = 0;
        }
        at += length + (at[length] == ',');
    }
    hs_exposition__clean(value, size, whole);
}

static struct metrics_process *add_process(struct hs_fleet_metrics *metrics, const struct hs_gathered_row *row)
{
    struct metrics_process *process = calloc(1, sizeof(*process));
    struct metrics_process **place = process ? hs_array__add(&metrics->processes, sizeof(*place)) : NULL;
    if (!place) {
        free(process);
        return NULL;
    }
    memcpy(process->trace_id, row->device.trace_id, sizeof(process->trace_id));
    hs_exposition__clean(process->program, sizeof(process->program), row->device.name);
    label_value(row->device.labels, metrics->options.firmware_label, process->firmware, sizeof(process->firmware));
    process->live.program = process->program;
    process->live.firmware = process->firmware;
    *place = process;
    return process;
}

static uint64_t row_key(const uint8_t id[HS_TRACE_ID_SIZE])
{
    uint64_t words[2];
    memcpy(words, id, sizeof(words));
    return hs_fleet_key__mixed(words[0] + hs_fleet_key__mixed(words[1] + 1));
}

static bool is_shown(const struct hs_gathered_row *row)
{
    return row->state == HS_GATHERED_RUNNING || row->state == HS_GATHERED_AWAY;
}

// A stream that was refused may go on, and must not count again what it has allocated by then. A process without a
// connection may have ended long ago, and has nothing in use for the sites.
static void keep(const struct hs_fleet_metrics *metrics, const struct hs_gathered_row *row,
                 struct metrics_process *process)
{
    process->round = metrics->round;
    hs_live_process__set_apart(&process->live, row->state != HS_GATHERED_RUNNING);
}

// Those that are in `rows`, in the same order.
static int find_processes(struct hs_fleet_metrics *metrics)
{
    struct hs_id_map place = {0};
    int failed = 0;
    for (size_t i = 0; i < metrics->processes.count && !failed; i++)
        failed = hs_id_map__set(&place, row_key(all(metrics)[i]->trace_id), (uint32_t)i);
    for (size_t i = 0; i < metrics->row_count && !failed; i++) {
        const struct hs_gathered_row *row = &metrics->rows[i];
        uint32_t known = hs_id_map__find(&place, row_key(row->device.trace_id));
        struct metrics_process *process = NULL;
        if (row->state != HS_GATHERED_ENDED && (is_shown(row) || known != UINT32_MAX))
            process = known != UINT32_MAX ? all(metrics)[known] : add_process(metrics, row);
        // An id that was made to have the key of another one is not shown.
        if (process && memcmp(process->trace_id, row->device.trace_id, sizeof(process->trace_id)))
            process = NULL;
        if (process && known == UINT32_MAX)
            failed = hs_id_map__set(&place, row_key(process->trace_id), (uint32_t)metrics->processes.count - 1);
        if (process)
            keep(metrics, row, process);
        metrics->of_row[i] = is_shown(row) ? process : NULL;
    }
    hs_id_map__free(&place);
    return failed;
}

static void drop_processes(struct hs_fleet_metrics *metrics, bool every)
{
    size_t kept = 0;
    for (size_t i = 0; i < metrics->processes.count; i++) {
        struct metrics_process *process = all(metrics)[i];
        if (!every && process->round == metrics->round)
            all(metrics)[kept++] = process;
        else
            free_process(process);
    }
    metrics->processes.count = kept;
}

// ---- reading -------------------------------------------------------------------------------------------------------

static int open_follow(struct metrics_process *process, int fd, const char *path)
{
    struct hs_error error;
    if (process->follow) {
        hs_follow__set_file(process->follow, fd);
        return 0;
    }
    int failed = hs_follow__open(fd, path, &process->follow, &error);
    process->refused = failed && failed != -EAGAIN && failed != -ENOMEM;
    return failed;
}

static void read_ticks(struct hs_fleet_metrics *metrics, struct metrics_process *process, uint64_t until)
{
    struct hs_follow_tick tick;
    int more;
    while ((more = hs_follow__next(process->follow, false, &tick)) > 0) {
        if (hs_live_sites__add(&metrics->sites, &process->live, process->follow, &tick)) {
            more = -ENOMEM;
            break;
        }
        process->has_sums = true;
        if (hs_clock__now() > until) {
            metrics->behind++;
            return;
        }
    }
    process->refused = more < 0;
}

static void read_process(struct hs_fleet_metrics *metrics, const struct hs_gathered_row *row,
                         struct metrics_process *process, uint64_t until)
{
    if (process->refused || row->samples || !*row->file)
        return;
    if (hs_clock__now() > until) {
        metrics->behind++;
        return;
    }
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", metrics->options.directory, row->file);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return;
    if (!open_follow(process, fd, path))
        read_ticks(metrics, process, until);
    close(fd);
}

static void look(struct hs_fleet_metrics *metrics)
{
    uint64_t until = hs_clock__now() + READING_MOST;
    metrics->round++;
    metrics->behind = 0;
    metrics->row_count = hs_traces__rows(metrics->traces, metrics->rows, ROWS_MOST);
    if (find_processes(metrics))
        metrics->row_count = 0;
    drop_processes(metrics, false);
    for (size_t i = 0; i < metrics->row_count; i++)
        if (metrics->of_row[i])
            read_process(metrics, &metrics->rows[i], metrics->of_row[i], until);
}

// ---- gather itself -------------------------------------------------------------------------------------------------

static uint64_t text_key(const char *text)
{
    uint64_t key = 1;
    for (; *text; text++)
        key = hs_fleet_key__mixed(key + (unsigned char)*text);
    return key;
}

static size_t count_devices(const struct hs_fleet_metrics *metrics, bool connected)
{
    struct hs_id_map seen = {0};
    for (size_t i = 0; i < metrics->row_count; i++) {
        const struct hs_gathered_row *row = &metrics->rows[i];
        if (!connected || row->state == HS_GATHERED_RUNNING)
            hs_id_map__set(&seen, text_key(hs_device__title(&row->device)), 0);
    }
    size_t count = seen.count;
    hs_id_map__free(&seen);
    return count;
}

static void one(struct hs_exposition *to, enum hs_metric kind, const char *name, const char *help, uint64_t value)
{
    hs_exposition__family(to, kind, name, help);
    hs_exposition__value(to, (double)value);
}

static void write_refused(struct hs_fleet_metrics *metrics, struct hs_exposition *to)
{
    hs_exposition__family(to, HS_METRIC_COUNTER, "heapsonde_gather_refused",
                          "Connections, streams and announcements that were refused or ended, by reason.");
    for (unsigned i = 1; i < HS_REFUSAL_COUNT; i++) {
        hs_exposition__begin(to);
        hs_exposition__label(to, "reason", hs_refusal__word((enum hs_refusal)i));
        hs_exposition__end(to, (double)hs_notices__refused_count(metrics->notices, (enum hs_refusal)i));
    }
}

static void write_totals(struct hs_fleet_metrics *metrics, struct hs_exposition *to)
{
    struct hs_traces_totals totals;
    hs_traces__totals(metrics->traces, &totals);
    one(to, HS_METRIC_GAUGE, "heapsonde_gather_devices_connected", "Devices with a connection.",
        count_devices(metrics, true));
    one(to, HS_METRIC_GAUGE, "heapsonde_gather_devices_seen", "Devices of the latest 5120 streams.",
        count_devices(metrics, false));
    one(to, HS_METRIC_GAUGE, "heapsonde_gather_streams_connected", "Streams with a connection.", totals.running);
    one(to, HS_METRIC_GAUGE, "heapsonde_gather_streams_unfinished", "Streams that have not ended.", totals.unfinished);
    one(to, HS_METRIC_COUNTER, "heapsonde_gather_streams", "Streams that began.", totals.begun);
    one(to, HS_METRIC_COUNTER, "heapsonde_gather_received_bytes", "Bytes of traces that were received.",
        totals.received);
    one(to, HS_METRIC_GAUGE, "heapsonde_gather_stored_bytes", "Size of the traces in the folder.", totals.stored);
    one(to, HS_METRIC_COUNTER, "heapsonde_gather_removed_traces", "Traces that were removed for the quota.",
        totals.removed);
    write_refused(metrics, to);
    one(to, HS_METRIC_GAUGE, "heapsonde_gather_traces_behind",
        "Traces of which a part was not read yet for these metrics.", metrics->behind);
}

// ---- processes -----------------------------------------------------------------------------------------------------

static bool connected(const struct hs_gathered_row *row, const struct metrics_process *process, uint64_t *value)
{
    (void)process;
    *value = row->state == HS_GATHERED_RUNNING;
    return true;
}

static bool trace_bytes(const struct hs_gathered_row *row, const struct metrics_process *process, uint64_t *value)
{
    (void)process;
    *value = row->size;
    return true;
}

static bool events(const struct hs_gathered_row *row, const struct metrics_process *process, uint64_t *value)
{
    (void)process;
    *value = row->events;
    return !row->counts_lost && !row->samples;
}

static bool dropped(const struct hs_gathered_row *row, const struct metrics_process *process, uint64_t *value)
{
    (void)process;
    *value = row->dropped;
    return !row->counts_lost;
}

static bool dumps(const struct hs_gathered_row *row, const struct metrics_process *process, uint64_t *value)
{
    (void)process;
    *value = row->dumps;
    return row->samples;
}

static bool live_bytes(const struct hs_gathered_row *row, const struct metrics_process *process, uint64_t *value)
{
    (void)row;
    *value = process->live.total.in_use_bytes;
    return process->has_sums;
}

static bool live_blocks(const struct hs_gathered_row *row, const struct metrics_process *process, uint64_t *value)
{
    (void)row;
    *value = process->live.total.in_use_count;
    return process->has_sums;
}

static bool allocated_bytes(const struct hs_gathered_row *row, const struct metrics_process *process, uint64_t *value)
{
    (void)row;
    *value = process->live.total.allocated_bytes;
    return process->has_sums;
}

static bool allocations(const struct hs_gathered_row *row, const struct metrics_process *process, uint64_t *value)
{
    (void)row;
    *value = process->live.total.allocated_count;
    return process->has_sums;
}

static const struct {
    enum hs_metric kind;
    const char *name, *help;
    // False: unknown.
    bool (*value)(const struct hs_gathered_row *row, const struct metrics_process *process, uint64_t *value);
} families[] = {
    {HS_METRIC_GAUGE, "heapsonde_process_connected", "Whether the process has a connection.", connected},
    {HS_METRIC_GAUGE, "heapsonde_process_live_bytes", "Bytes of the heap in use.", live_bytes},
    {HS_METRIC_GAUGE, "heapsonde_process_live_blocks", "Blocks of the heap in use.", live_blocks},
    {HS_METRIC_COUNTER, "heapsonde_process_allocated_bytes", "Bytes that were allocated.", allocated_bytes},
    {HS_METRIC_COUNTER, "heapsonde_process_allocations", "Blocks that were allocated.", allocations},
    {HS_METRIC_COUNTER, "heapsonde_process_events", "Events in the trace.", events},
    {HS_METRIC_COUNTER, "heapsonde_process_dropped_events", "Events that the recorder left out.", dropped},
    {HS_METRIC_COUNTER, "heapsonde_process_dumps", "Dumps of a process that samples.", dumps},
    {HS_METRIC_GAUGE, "heapsonde_process_trace_bytes", "Size of the trace.", trace_bytes},
};

// The id of the trace keeps processes apart whatever they say about themselves.
static void begin_process(struct hs_exposition *to, const struct hs_gathered_row *row)
{
    char id[2 * HS_TRACE_ID_SIZE + 1];
    for (unsigned i = 0; i < HS_TRACE_ID_SIZE; i++)
        snprintf(id + 2 * i, 3, "%02x", row->device.trace_id[i]);
    hs_exposition__begin(to);
    hs_exposition__label(to, "device", hs_device__title(&row->device));
    hs_exposition__label(to, "program", row->device.name);
    hs_exposition__label(to, "pid", row->device.pid);
    hs_exposition__label(to, "trace", id);
}

// What a device calls a label, as the name of one: "label_" and letters, digits and underscores.
static void label_name(char name[LABEL_NAME], const char *text, size_t length)
{
    size_t used = (size_t)snprintf(name, LABEL_NAME, "label_");
    for (size_t i = 0; i < length && used + 1 < LABEL_NAME; i++) {
        char c = text[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        name[used++] = good ? c : '_';
    }
    name[used] = 0;
}

static bool is_used(char names[][LABEL_NAME], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], names[count]))
            return true;
    return false;
}

static void write_labels(struct hs_exposition *to, const char *labels)
{
    char names[LABELS_MOST][LABEL_NAME];
    char value[512];
    size_t count = 0;
    for (const char *at = labels; *at && count < LABELS_MOST;) {
        size_t length = strcspn(at, ",");
        const char *sign = memchr(at, '=', length);
        if (sign && sign > at) {
            label_name(names[count], at, (size_t)(sign - at));
            snprintf(value, sizeof(value), "%.*s", (int)(at + length - sign - 1), sign + 1);
            // Of names that are equal now, the first one counts.
            if (!is_used(names, count)) {
                hs_exposition__label(to, names[count], value);
                count++;
            }
        }
        at += length + (at[length] == ',');
    }
}

static void write_processes(struct hs_fleet_metrics *metrics, struct hs_exposition *to)
{
    size_t shown = 0, left_out = 0, end = 0;
    for (; end < metrics->row_count && shown < SHOWN_MOST; end++)
        shown += metrics->of_row[end] != NULL;
    for (size_t i = end; i < metrics->row_count; i++)
        left_out += metrics->of_row[i] != NULL;
    one(to, HS_METRIC_GAUGE, "heapsonde_gather_processes_left_out",
        "Processes that have no metrics of their own here, because there are too many.", left_out);
    hs_exposition__family(to, HS_METRIC_GAUGE, "heapsonde_process_info", "1; the labels of the device.");
    for (size_t i = 0; i < end; i++) {
        if (!metrics->of_row[i])
            continue;
        begin_process(to, &metrics->rows[i]);
        write_labels(to, metrics->rows[i].device.labels);
        hs_exposition__end(to, 1);
    }
    for (size_t k = 0; k < sizeof(families) / sizeof(*families); k++) {
        hs_exposition__family(to, families[k].kind, families[k].name, families[k].help);
        for (size_t i = 0; i < end; i++) {
            uint64_t value;
            if (!metrics->of_row[i] || !families[k].value(&metrics->rows[i], metrics->of_row[i], &value))
                continue;
            begin_process(to, &metrics->rows[i]);
            hs_exposition__end(to, (double)value);
        }
    }
}

// ---- sites ---------------------------------------------------------------------------------------------------------

static const struct {
    enum hs_metric kind;
    const char *name, *help;
    size_t offset; // in hs_follow_sums
} site_families[] = {
    {HS_METRIC_GAUGE, "heapsonde_site_live_bytes",
     "Bytes in use of the stacks that have most, of all connected devices.",
     offsetof(struct hs_follow_sums, in_use_bytes)},
    {HS_METRIC_GAUGE, "heapsonde_site_live_blocks", "Blocks in use of these stacks.",
     offsetof(struct hs_follow_sums, in_use_count)},
    {HS_METRIC_COUNTER, "heapsonde_site_allocated_bytes", "Bytes that were allocated with these stacks.",
     offsetof(struct hs_follow_sums, allocated_bytes)},
    {HS_METRIC_COUNTER, "heapsonde_site_allocations", "Blocks that were allocated with these stacks.",
     offsetof(struct hs_follow_sums, allocated_count)},
};

static void write_sites(const struct hs_fleet_metrics *metrics, struct hs_exposition *to)
{
    const struct hs_live_site *top[SITES_SHOWN];
    char stack[24];
    size_t count = hs_live_sites__top(&metrics->sites, top, SITES_SHOWN);
    for (size_t k = 0; k < sizeof(site_families) / sizeof(*site_families); k++) {
        hs_exposition__family(to, site_families[k].kind, site_families[k].name, site_families[k].help);
        for (size_t i = 0; i < count; i++) {
            uint64_t value;
            memcpy(&value, (const char *)&top[i]->sums + site_families[k].offset, sizeof(value));
            snprintf(stack, sizeof(stack), "%" PRIu64, top[i]->stack);
            hs_exposition__begin(to);
            hs_exposition__label(to, "site", top[i]->frames);
            hs_exposition__label(to, "stack", stack);
            hs_exposition__label(to, "program", top[i]->program);
            hs_exposition__label(to, "firmware", top[i]->firmware);
            hs_exposition__end(to, (double)value);
        }
    }
}

// ---- the page ------------------------------------------------------------------------------------------------------

static void write_all(void *context, struct hs_exposition *to)
{
    struct hs_fleet_metrics *metrics = context;
    look(metrics);
    write_totals(metrics, to);
    write_processes(metrics, to);
    write_sites(metrics, to);
}

static void serve(void *context, const struct hs_http_request *request, struct hs_http_answer *answer)
{
    hs_exposition__serve(request, answer, write_all, context);
}

static const struct hs_http_page pages[] = {
    {.method = "GET", .path = "/metrics", .serve = serve, .accept = HS_OPEN_METRICS},
    {.method = "GET", .path = "/metrics", .serve = serve},
    {0},
};

struct hs_fleet_metrics *hs_fleet_metrics__create(const struct hs_fleet_metrics_options *options)
{
    struct hs_fleet_metrics *metrics = calloc(1, sizeof(*metrics));
    if (!metrics)
        return NULL;
    metrics->options = *options;
    metrics->rows = calloc(ROWS_MOST, sizeof(*metrics->rows));
    metrics->of_row = calloc(ROWS_MOST, sizeof(*metrics->of_row));
    if (metrics->rows && metrics->of_row)
        return metrics;
    hs_fleet_metrics__free(metrics);
    return NULL;
}

int hs_fleet_metrics__start(struct hs_fleet_metrics *metrics, struct hs_traces *traces, struct hs_notices *notices,
                            struct hs_error *error)
{
    const struct hs_http_options http = {
        .listen = metrics->options.listen, .token = metrics->options.token, .pages = pages, .context = metrics};
    char url[256];
    metrics->traces = traces;
    metrics->notices = notices;
    int failed = hs_http__start(&metrics->server, &http, error);
    if (failed)
        return failed;
    snprintf(url, sizeof(url), "%s/metrics", hs_http__address(metrics->server));
    hs_notices__metrics(notices, url);
    return 0;
}

void hs_fleet_metrics__stop(struct hs_fleet_metrics *metrics)
{
    if (metrics->server)
        hs_http__stop(metrics->server);
    metrics->server = NULL;
}

void hs_fleet_metrics__free(struct hs_fleet_metrics *metrics)
{
    if (!metrics)
        return;
    drop_processes(metrics, true);
    hs_live_sites__free(&metrics->sites);
    free(metrics->processes.data);
    free(metrics->rows);
    free(metrics->of_row);
    free(metrics);
}
