// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NS_2001 ((uint64_t)978307200 * 1000000000u)

struct hs_fleet_load {
    int fd;
    char *path, *device_name, *labels, *firmware_label;
    struct hs_sender_device device;
    struct hs_follow *follow;
    struct hs_sender_stacks *stacks;
    uint64_t seen_ns;
    bool has_news; // the row of the session does not say yet what was added
};

static bool copy(char **to, const char *from)
{
    *to = from ? strdup(from) : NULL;
    return !from || *to;
}

static int open_file(struct hs_fleet_load *load, struct hs_error *error)
{
    struct stat status;
    load->fd = open(load->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (load->fd < 0 || fstat(load->fd, &status))
        return hs_error__set(error, errno, "%s: %s", load->path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return hs_error__set(error, EINVAL, "%s: not a regular file", load->path);
    return 0;
}

// Many traces are followed at a time, so none keeps its file open.
static void close_file(struct hs_fleet_load *load)
{
    if (load->fd >= 0)
        close(load->fd);
    load->fd = -1;
}

static int take_age(void *age, const struct hs_follow_tick *tick)
{
    *(uint64_t *)age = tick->age_ns;
    return 0;
}

// How long the trace has gone on at its last tick: 0 if it has none.
static int find_age(const struct hs_fleet_load *load, uint64_t *age, struct hs_error *error)
{
    struct hs_follow *follow;
    struct hs_follow_tick tick;
    int more = 0, failed = hs_follow__open(load->fd, load->path, &follow, error);
    if (failed)
        return failed;
    while ((more = hs_follow__next(follow, true, &tick)) > 0)
        take_age(age, &tick);
    failed = more;
    if (!failed && hs_follow__has_events(follow))
        failed = hs_follow__replay(follow, take_age, age, error);
    hs_follow__close(follow);
    return failed;
}

// A clock that was not set when the trace began: its last tick is taken to be when its file was last changed. What
// prevents that from being known is said when the trace is read.
static void set_clock(struct hs_fleet_load *load)
{
    const struct hs_file_header *header = hs_follow__header(load->follow);
    struct hs_error ignored = {{0}};
    struct stat status;
    uint64_t age = 0;
    if (header->start_realtime_ns >= NS_2001 || fstat(load->fd, &status))
        return;
    const uint64_t changed = (uint64_t)status.st_ctim.tv_sec * 1000000000u;
    if (find_age(load, &age, &ignored) || age > changed)
        age = 0;
    load->device.clock_ns = changed - age - header->start_realtime_ns;
}

int hs_fleet_load__open(const char *path, const struct hs_sender_device *device, struct hs_fleet_load **result,
                        struct hs_error *error)
{
    struct hs_fleet_load *load = calloc(1, sizeof(*load));
    if (!load)
        return hs_error__set(error, ENOMEM, "%s: out of memory", path);
    load->fd = -1;
    int failed = 0;
    if (!copy(&load->path, path) || !copy(&load->device_name, device->device) || !copy(&load->labels, device->labels) ||
        !copy(&load->firmware_label, device->firmware_label))
        failed = hs_error__set(error, ENOMEM, "%s: out of memory", path);
    if (!failed)
        failed = open_file(load, error);
    if (!failed)
        failed = hs_follow__open(load->fd, load->path, &load->follow, error);
    if (failed) {
        hs_fleet_load__close(load);
        return failed;
    }
    load->device = (struct hs_sender_device){load->device_name, load->labels, load->firmware_label, device->clock_ns};
    if (!load->device.clock_ns)
        set_clock(load);
    close_file(load);
    *result = load;
    return 0;
}

void hs_fleet_load__close(struct hs_fleet_load *load)
{
    if (!load)
        return;
    hs_follow__close(load->follow);
    hs_sender__forget(load->stacks);
    close_file(load);
    free(load->path);
    free(load->device_name);
    free(load->labels);
    free(load->firmware_label);
    free(load);
}

// One round of reading a trace.
struct load_round {
    struct hs_fleet_load *load;
    struct hs_sender *sender;
    uint64_t from;
    struct hs_fleet_loaded *loaded;
    struct hs_error *error;
};

static int take_tick(void *context, const struct hs_follow_tick *tick)
{
    struct load_round *round = context;
    struct hs_fleet_load *load = round->load;
    uint64_t before = hs_sender__waiting(round->sender);
    load->seen_ns = hs_sender__time_of(&load->device, hs_follow__header(load->follow), tick);
    if (hs_sender__add(round->sender, load->follow, &load->device, tick, tick->offset > round->from, &load->stacks))
        return hs_error__set(round->error, ENOMEM, "%s: out of memory", load->path);
    if (tick->offset <= round->from)
        return 0;
    round->loaded->ticks++;
    round->loaded->rows += hs_sender__waiting(round->sender) - before;
    load->has_news = true;
    return hs_sender__waiting(round->sender) >= HS_SENDER_BATCH ? hs_sender__flush(round->sender, round->error) : 0;
}

// All at once: until that is done, none of it counts as sent, and the next attempt starts from the beginning.
static int replay_events(struct load_round *round, uint64_t *to)
{
    struct hs_fleet_load *load = round->load;
    if (hs_follow__offset(load->follow) <= round->from)
        return 0;
    *round->error = (struct hs_error){{0}};
    int failed = hs_follow__replay(load->follow, take_tick, round, round->error);
    hs_sender__forget(load->stacks);
    load->stacks = NULL;
    if (!failed)
        *to = hs_follow__offset(load->follow);
    else if (!*round->error->message)
        hs_error__set(round->error, -failed, "%s: cannot be added up: %s", load->path, strerror(-failed));
    return failed;
}

static int read_ticks(struct load_round *round, bool whole, uint64_t *to)
{
    struct hs_fleet_load *load = round->load;
    struct hs_follow_tick tick;
    int more, failed = 0;
    while (!failed && (more = hs_follow__next(load->follow, whole, &tick)) > 0) {
        *to = tick.offset;
        failed = take_tick(round, &tick);
    }
    if (!failed && more < 0)
        failed = hs_error__set(round->error, -more, "%s: cannot be read: %s", load->path, strerror(-more));
    if (!failed && whole && hs_follow__has_events(load->follow))
        failed = replay_events(round, to);
    // Also when an earlier round failed behind the last tick.
    if (!failed && load->has_news && hs_sender__add_session(round->sender, load->follow, &load->device, load->seen_ns))
        failed = hs_error__set(round->error, ENOMEM, "%s: out of memory", load->path);
    load->has_news = load->has_news && failed;
    round->loaded->damaged = hs_follow__damaged(load->follow);
    return failed;
}

// Such as when a damaged chunk says that it is longer than the file.
static bool has_more(const struct hs_fleet_load *load)
{
    struct stat status;
    return fstat(load->fd, &status) || (uint64_t)status.st_size > hs_follow__offset(load->follow);
}

int hs_fleet_load__go_on(struct hs_fleet_load *load, struct hs_sender *sender, bool whole, uint64_t from, uint64_t *to,
                         struct hs_fleet_loaded *loaded, struct hs_error *error)
{
    struct load_round round = {load, sender, from, loaded, error};
    int failed = open_file(load, error);
    if (!failed) {
        hs_follow__set_file(load->follow, load->fd);
        failed = read_ticks(&round, whole, to);
    }
    loaded->unread = failed || has_more(load);
    close_file(load);
    return failed;
}
