// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/gather.h"

#include "host/base/clock.h"
#include "host/gather/door.h"
#include "host/gather/folder_socket.h"
#include "host/gather/mqtt.h"
#include "host/gather/worker.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_PERIOD (100 * HS_MILLISECOND)

struct gather {
    const struct hs_gather_options *options;
    struct hs_select *select;
    struct hs_notices *notices;
    struct hs_traces *traces;
    struct hs_workers *workers;
    struct hs_door *door;
    struct hs_folder_socket *socket; // NULL: none
    struct hs_mqtt *mqtt;
    struct hs_address listen;
    struct hs_targets targets;
    uint64_t silent_since; // 0: there is a connection, or nothing is missing
    bool given_up;
};

bool hs_gather__may_use(const struct hs_address *address, const char *text, const struct hs_shared_key *key,
                        bool insecure, struct hs_error *error)
{
    if (key->length || insecure || hs_address__is_loopback(address))
        return true;
    hs_error__set(error, EPERM,
                  "%s is beyond this machine, which needs --key-file with the devices' key (or --insecure on a closed "
                  "test network; anyone who can reach it can then read, change and command everything)",
                  text);
    return false;
}

// ---- what was asked for ---------------------------------------------------------------------------------------------

static int resolve_listen(struct gather *gather, struct hs_error *error)
{
    const struct hs_gather_options *options = gather->options;
    if (!options->listen)
        return 0;
    int count = hs_address__resolve(options->listen, &gather->listen, 1, error);
    if (count < 0)
        return count;
    return hs_gather__may_use(&gather->listen, options->listen, &options->key, options->insecure, error) ? 0 : -EPERM;
}

static int resolve_targets(struct gather *gather, struct hs_error *error)
{
    const struct hs_gather_options *options = gather->options;
    struct hs_address addresses[HS_TARGET_ADDRESSES];
    for (size_t i = 0; i < options->address_count; i++) {
        const char *text = options->addresses[i];
        int count = hs_address__resolve(text, addresses, HS_TARGET_ADDRESSES, error);
        if (count < 0)
            return count;
        for (int k = 0; k < count; k++)
            if (!hs_gather__may_use(&addresses[k], text, &options->key, options->insecure, error))
                return -EPERM;
        if (!hs_targets__give(&gather->targets, addresses, (unsigned)count))
            return hs_error__set(error, ENOMEM, "out of memory");
    }
    return 0;
}

static int parse_select(struct gather *gather, struct hs_error *error)
{
    if (!gather->options->select)
        return 0;
    gather->select = hs_select__parse(gather->options->select, error);
    return gather->select ? 0 : -EINVAL;
}

// ---- starting and stopping ------------------------------------------------------------------------------------------

static void stored(void *data, uint64_t claim)
{
    const struct gather *gather = data;
    if (claim & HS_PARCELS_CLAIM)
        hs_mqtt__stored(gather->mqtt, claim);
    else
        hs_workers__stored(gather->workers, claim);
}

static int start_traces(struct gather *gather, struct hs_error *error)
{
    const struct hs_gather_options *options = gather->options;
    struct hs_traces_options traces = {.directory = options->directory,
                                       .quota = options->quota,
                                       .quota_per_device = options->quota_per_device,
                                       .remove_oldest = options->remove_oldest,
                                       .stored = stored,
                                       .context = gather};
    int failed = hs_traces__open(&gather->traces, &traces, error);
    for (size_t i = 0; i < options->observer_count && !failed; i++)
        failed = options->observers[i].opened(options->observers[i].context, gather->traces, gather->notices, error);
    return failed;
}

static int create_door(struct gather *gather, struct hs_error *error)
{
    const struct hs_gather_options *options = gather->options;
    bool discover = !options->broker.url && (options->select || (!options->listen && !options->address_count));
    struct hs_door_options door = {.key = &options->key,
                                   .select = gather->select,
                                   .notices = gather->notices,
                                   .listen = options->listen ? &gather->listen : NULL,
                                   .targets = gather->targets,
                                   .discover = discover,
                                   .anywhere = options->key.length || options->insecure};
    memset(&gather->targets, 0, sizeof(gather->targets));
    return hs_door__create(&gather->door, &door, error);
}

static int start_workers(struct gather *gather, struct hs_error *error)
{
    cpu_set_t processors;
    CPU_ZERO(&processors);
    int count = sched_getaffinity(0, sizeof(processors), &processors) ? 1 : CPU_COUNT(&processors);
    struct hs_workers_options workers = {
        .context = {.traces = gather->traces, .select = gather->select, .notices = gather->notices},
        .count = (unsigned)count,
        .closed = hs_door__closed,
        .data = gather->door};
    return hs_workers__start(&gather->workers, &workers, error);
}

// Some file systems have no sockets: everything else works there, too.
static void start_socket(struct gather *gather)
{
    struct hs_error error;
    if (gather->options->commands && hs_folder_socket__start(&gather->socket, gather->traces, gather->workers, &error))
        fprintf(stderr, "heapsonde gather: %s\n", error.message);
}

static int start_mqtt(struct gather *gather, struct hs_error *error)
{
    const struct hs_gather_options *options = gather->options;
    const struct hs_mqtt_options mqtt = {
        .broker = options->broker,
        .parcels = {.context = {.traces = gather->traces, .select = gather->select, .notices = gather->notices},
                    .key = &options->key}};
    return options->broker.url ? hs_mqtt__start(&gather->mqtt, &mqtt, error) : 0;
}

static int start(struct gather *gather, struct hs_error *error)
{
    int failed = parse_select(gather, error);
    if (!failed)
        failed = resolve_listen(gather, error);
    if (!failed)
        failed = resolve_targets(gather, error);
    if (!failed)
        failed = start_traces(gather, error);
    if (!failed)
        failed = create_door(gather, error);
    if (!failed)
        failed = start_workers(gather, error);
    if (!failed)
        failed = hs_door__start(gather->door, gather->workers, error);
    if (!failed)
        failed = start_mqtt(gather, error);
    if (!failed)
        start_socket(gather);
    return failed;
}

static void stop(struct gather *gather)
{
    hs_folder_socket__stop(gather->socket);
    if (gather->door)
        hs_door__stop(gather->door);
    if (gather->workers)
        hs_workers__stop(gather->workers);
    if (gather->mqtt)
        hs_mqtt__stop(gather->mqtt);
    if (gather->traces && gather->workers)
        hs_notices__summary(gather->notices, gather->traces);
    for (size_t i = 0; gather->traces && i < gather->options->observer_count; i++)
        gather->options->observers[i].closing(gather->options->observers[i].context);
    // The folder's thread may still report to these.
    if (gather->traces)
        hs_traces__close(gather->traces);
    if (gather->mqtt)
        hs_mqtt__free(gather->mqtt);
    if (gather->workers)
        hs_workers__free(gather->workers);
    if (gather->door)
        hs_door__free(gather->door);
    hs_targets__free(&gather->targets);
    hs_select__free(gather->select);
}

// ---- running --------------------------------------------------------------------------------------------------------

static bool is_over(const struct gather *gather)
{
    struct hs_traces_totals totals;
    if (!gather->options->once || !hs_door__all_over(gather->door))
        return false;
    hs_traces__totals(gather->traces, &totals);
    return totals.begun && !totals.unfinished;
}

// Unfinished streams exist, but no device is connected: one that was killed, or switched off, never comes back.
static bool is_silent(struct gather *gather, uint64_t now)
{
    struct hs_traces_totals totals;
    hs_traces__totals(gather->traces, &totals);
    if (!totals.unfinished || totals.running)
        gather->silent_since = 0;
    else if (!gather->silent_since)
        gather->silent_since = now;
    gather->given_up =
        gather->options->once && gather->silent_since && now - gather->silent_since > gather->options->patience;
    return gather->given_up;
}

static void watch(struct gather *gather, const sigset_t *signals)
{
    struct timespec period = {.tv_nsec = LOOK_PERIOD};
    uint64_t last = hs_clock__now();
    while (!is_over(gather)) {
        if (sigtimedwait(signals, NULL, &period) > 0)
            return;
        uint64_t now = hs_clock__now();
        if (is_silent(gather, now))
            return;
        if (now - last < HS_SECOND)
            continue;
        last = now;
        hs_notices__progress(gather->notices, gather->traces);
    }
}

static int give_up(const struct gather *gather, struct hs_error *error)
{
    struct hs_traces_totals totals;
    hs_traces__totals(gather->traces, &totals);
    return hs_error__set(
        error, ETIMEDOUT,
        "no device has been connected for %llu seconds, and %llu stream%s not ended; the received data is stored",
        (unsigned long long)(gather->options->patience / HS_SECOND), (unsigned long long)totals.unfinished,
        totals.unfinished == 1 ? " has" : "s have");
}

int hs_gather__run(const struct hs_gather_options *options, struct hs_error *error)
{
    struct gather gather = {.options = options};
    sigset_t signals, before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    // Before the first thread, which inherits it.
    sigprocmask(SIG_BLOCK, &signals, &before);
    signal(SIGPIPE, SIG_IGN);
    gather.notices = hs_notices__create(options->form, stdout, stderr);
    if (!gather.notices)
        return hs_error__set(error, ENOMEM, "out of memory");
    int failed = start(&gather, error);
    if (!failed)
        watch(&gather, &signals);
    if (gather.given_up)
        failed = give_up(&gather, error);
    stop(&gather);
    hs_notices__destroy(gather.notices);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return failed;
}
