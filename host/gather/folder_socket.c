// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/folder_socket.h"

#include "host/base/clock.h"
#include "host/base/json.h"
#include "host/base/text_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { MOST_GUESTS = 32, MOST_LINE = 4096, MOST_ROWS = 8192, BACKLOG = 64 };

#define LINE_WITHIN   (2 * HS_SECOND)
#define ANSWER_WITHIN (10 * HS_SECOND)
#define DUMP_WITHIN   (100 * HS_SECOND)
#define LOOK_AGAIN    (100 * HS_MILLISECOND)

struct guest {
    struct hs_folder_socket *owner;
    pthread_t thread;
    int socket;
    _Atomic bool over; // the thread ends by itself
    bool runs;
};

struct hs_folder_socket {
    int folder, listener, wake;
    struct hs_traces *traces;
    struct hs_workers *workers;
    _Atomic bool ends;
    bool runs;
    pthread_t thread;
    struct guest guest[MOST_GUESTS];
};

// ---- answers -------------------------------------------------------------------------------------------------------

static void send_all(int socket, const char *bytes, size_t length)
{
    while (length) {
        const ssize_t sent = send(socket, bytes, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return;
        bytes += sent;
        length -= (size_t)sent;
    }
}

static void refuse(int socket, const char *word, const char *text)
{
    char line[512];
    const int length = snprintf(line, sizeof(line), "error %s %s\n", word, text);
    send_all(socket, line, length < (int)sizeof(line) ? (size_t)length : sizeof(line) - 1);
}

static void answer(int socket, unsigned status, const char *body, size_t length)
{
    char head[64];
    send_all(socket, head, (size_t)snprintf(head, sizeof(head), "ok\nstatus %u\nlength %zu\n\n", status, length));
    send_all(socket, body, length);
}

// ---- connections ---------------------------------------------------------------------------------------------------

static void write_row(struct hs_json *json, const struct hs_gathered_row *row)
{
    static const char *const states[] = {[HS_GATHERED_FOUND] = "found",
                                         [HS_GATHERED_RUNNING] = "running",
                                         [HS_GATHERED_AWAY] = "away",
                                         [HS_GATHERED_ENDED] = "ended",
                                         [HS_GATHERED_REFUSED] = "refused"};
    const struct hs_device *device = &row->device;
    hs_json__open_object(json, NULL);
    hs_json__string(json, "file", row->file);
    hs_json__string(json, "device", hs_device__title(device));
    hs_json__string(json, "address", device->address);
    hs_json__string(json, "labels", device->labels);
    hs_json__string(json, "program", device->name);
    hs_json__string(json, "pid", device->pid);
    hs_json__boolean(json, "samples", !strcmp(device->shim, "sampler"));
    hs_json__string(json, "state", states[row->state]);
    hs_json__string(json, "refusal", row->refusal ? hs_refusal__text(row->refusal) : NULL);
    if (row->heard)
        hs_json__number(json, "heard_ns", row->heard);
    else
        hs_json__null(json, "heard_ns");
    hs_json__number(json, "size", row->size);
    if (row->counts_lost) {
        hs_json__null(json, "events");
        hs_json__null(json, "dropped");
    } else {
        hs_json__number(json, "events", row->samples ? row->dumps : row->events);
        hs_json__number(json, "dropped", row->dropped);
    }
    hs_json__close_object(json);
}

static void write_rows(FILE *out, struct hs_gathered_row *rows, size_t count, const struct hs_select *select)
{
    struct hs_json json;
    hs_json__start(&json, out, false);
    hs_json__open_array(&json, NULL);
    for (size_t i = 0; i < count; i++)
        if (*rows[i].file && hs_device__is_selected(&rows[i].device, select))
            write_row(&json, &rows[i]);
    hs_json__close_array(&json);
}

static void show_devices(struct guest *guest, const char *expression)
{
    struct hs_error error = {.message = ""};
    struct hs_text_stream stream;
    struct hs_select *select = *expression ? hs_select__parse(expression, &error) : NULL;
    if (*expression && !select) {
        refuse(guest->socket, "request", error.message);
        return;
    }
    struct hs_gathered_row *rows = calloc(MOST_ROWS, sizeof(*rows));
    FILE *out = rows ? hs_text_stream__open(&stream) : NULL;
    if (out)
        write_rows(out, rows, hs_traces__rows(guest->owner->traces, rows, MOST_ROWS), select);
    char *text = out ? hs_text_stream__close(&stream) : NULL;
    if (text)
        answer(guest->socket, 0, text, strlen(text));
    else
        refuse(guest->socket, "memory", "out of memory");
    free(text);
    free(rows);
    hs_select__free(select);
}

// ---- requests ------------------------------------------------------------------------------------------------------

// Those whose answers are a text.
static bool is_allowed(const char *request)
{
    static const char *const words[] = {"status", "start", "stop", "stop-all", "mark",
                                        "flush",  "dump",  "rate", "reset"};
    const size_t length = strcspn(request, " ");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strlen(words[i]) == length && !strncmp(words[i], request, length))
            return true;
    return false;
}

static const char *reason(int problem)
{
    switch (problem) {
    case -EBUSY:
        return "another request is being carried out; try again";
    case -ENOTCONN:
        return "the process is not connected now";
    default:
        return "out of memory";
    }
}

static void wait_for_reply(struct guest *guest, struct hs_gather_request *request, bool is_dump)
{
    struct hs_gather_reply reply = {.problem = -ETIMEDOUT};
    const uint64_t until = hs_clock__now() + (is_dump ? DUMP_WITHIN : ANSWER_WITHIN);
    bool done = false;
    while (!done && hs_clock__now() < until && !atomic_load(&guest->owner->ends))
        done = hs_gather_request__wait(request, LOOK_AGAIN, &reply);
    if (!done)
        refuse(guest->socket, "busy", "the process did not answer in time; it may have carried out the request");
    else if (reply.problem)
        refuse(guest->socket, "busy", reason(reply.problem));
    else
        answer(guest->socket, reply.status, reply.text, strlen(reply.text));
    free(reply.text);
}

static void ask(struct guest *guest, char *words)
{
    char *text = strchr(words, ' ');
    if (!text || !is_allowed(text + 1)) {
        refuse(guest->socket, "request", "this request cannot be made here");
        return;
    }
    *text++ = 0;
    const uint64_t claim = hs_traces__claim_of(guest->owner->traces, words);
    struct hs_gather_request *request = claim ? hs_gather_request__create(text) : NULL;
    if (!request) {
        refuse(guest->socket, claim ? "request" : "busy", claim ? "the request is too long" : reason(-ENOTCONN));
        return;
    }
    hs_workers__ask(guest->owner->workers, claim, request);
    wait_for_reply(guest, request, !strncmp(text, "dump", 4));
    hs_gather_request__release(request);
}

// ---- guests --------------------------------------------------------------------------------------------------------

static bool may_ask(int socket)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return !getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) && (peer.uid == geteuid() || peer.uid == 0);
}

// The line without its end; false: none came in time.
static bool read_line(const struct guest *guest, char *line, size_t room)
{
    const uint64_t until = hs_clock__now() + LINE_WITHIN;
    size_t length = 0;
    while (length + 1 < room && !atomic_load(&guest->owner->ends) && hs_clock__now() < until) {
        struct pollfd waits = {.fd = guest->socket, .events = POLLIN};
        if (poll(&waits, 1, (int)(LOOK_AGAIN / HS_MILLISECOND)) < 1)
            continue;
        const ssize_t got = recv(guest->socket, line + length, room - length - 1, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        length += got > 0 ? (size_t)got : 0;
        line[length] = 0;
        char *end = memchr(line, '\n', length);
        if (end)
            *end = 0;
        if (end)
            return true;
    }
    return false;
}

static void *serve(void *context)
{
    struct guest *guest = context;
    char line[MOST_LINE];
    if (!may_ask(guest->socket))
        refuse(guest->socket, "user", "the folder belongs to another user");
    else if (!read_line(guest, line, sizeof(line)))
        refuse(guest->socket, "late", "no request came in time");
    else if (!strcmp(line, "devices"))
        show_devices(guest, "");
    else if (!strncmp(line, "devices ", 8))
        show_devices(guest, line + 8);
    else if (!strncmp(line, "ask ", 4))
        ask(guest, line + 4);
    else
        refuse(guest->socket, "request", "this is not a request");
    shutdown(guest->socket, SHUT_WR);
    atomic_store(&guest->over, true);
    eventfd_write(guest->owner->wake, 1);
    return NULL;
}

static void see_off(struct guest *guest)
{
    pthread_join(guest->thread, NULL);
    close(guest->socket);
    guest->runs = false;
}

static void see_off_those_over(struct hs_folder_socket *socket)
{
    for (int i = 0; i < MOST_GUESTS; i++)
        if (socket->guest[i].runs && atomic_load(&socket->guest[i].over))
            see_off(&socket->guest[i]);
}

// One that does not read its answer is not waited for.
static void limit_sending(int fd)
{
    const struct timeval limit = {.tv_sec = 5};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

// False: there are no descriptors, so new connections have to wait.
static bool accept_guest(struct hs_folder_socket *socket)
{
    const int fd = accept4(socket->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return errno == EAGAIN || errno == ECONNABORTED || errno == EINTR;
    struct guest *guest = NULL;
    for (int i = 0; i < MOST_GUESTS && !guest; i++)
        if (!socket->guest[i].runs)
            guest = &socket->guest[i];
    limit_sending(fd);
    if (!guest) {
        refuse(fd, "busy", "there are too many connections");
        close(fd);
        return true;
    }
    *guest = (struct guest){.owner = socket, .socket = fd};
    guest->runs = !pthread_create(&guest->thread, NULL, serve, guest);
    if (!guest->runs)
        close(fd);
    return true;
}

static void *run(void *context)
{
    struct hs_folder_socket *socket = context;
    bool deaf = false;
    while (!atomic_load(&socket->ends)) {
        struct pollfd waits[] = {{.fd = socket->wake, .events = POLLIN}, {.fd = socket->listener, .events = POLLIN}};
        eventfd_t count;
        const int ready = deaf ? poll(waits, 1, LOOK_AGAIN / HS_MILLISECOND) : poll(waits, 2, -1);
        deaf = false;
        if (ready < 1)
            continue;
        if (waits[0].revents)
            eventfd_read(socket->wake, &count);
        see_off_those_over(socket);
        if (waits[1].revents)
            deaf = !accept_guest(socket);
    }
    return NULL;
}

// ---- the socket ----------------------------------------------------------------------------------------------------

// A path of any length would not fit. Nobody is let in before the mode is set, because nobody listens.
static int open_listener(struct hs_folder_socket *socket_)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", socket_->folder, HS_FOLDER_SOCKET_NAME);
    socket_->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    unlinkat(socket_->folder, HS_FOLDER_SOCKET_NAME, 0);
    if (socket_->listener < 0 || bind(socket_->listener, (struct sockaddr *)&address, sizeof(address)) ||
        fchmodat(socket_->folder, HS_FOLDER_SOCKET_NAME, 0600, 0) || listen(socket_->listener, BACKLOG))
        return -errno;
    return 0;
}

int hs_folder_socket__start(struct hs_folder_socket **result, struct hs_traces *traces, struct hs_workers *workers,
                            struct hs_error *error)
{
    struct hs_folder_socket *socket = calloc(1, sizeof(*socket));
    if (!socket)
        return hs_error__set(error, ENOMEM, "out of memory");
    *socket = (struct hs_folder_socket){
        .folder = hs_traces__directory(traces), .listener = -1, .traces = traces, .workers = workers};
    socket->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    int problem = socket->wake < 0 ? -errno : open_listener(socket);
    if (!problem)
        problem = -pthread_create(&socket->thread, NULL, run, socket);
    socket->runs = !problem;
    if (!problem) {
        *result = socket;
        return 0;
    }
    hs_folder_socket__stop(socket);
    return hs_error__set(error, -problem, "there is no socket in the folder for commands to devices: %s",
                         strerror(-problem));
}

void hs_folder_socket__stop(struct hs_folder_socket *socket)
{
    if (!socket)
        return;
    atomic_store(&socket->ends, true);
    if (socket->runs) {
        unlinkat(socket->folder, HS_FOLDER_SOCKET_NAME, 0);
        eventfd_write(socket->wake, 1);
        pthread_join(socket->thread, NULL);
    }
    for (int i = 0; i < MOST_GUESTS; i++)
        if (socket->guest[i].runs)
            see_off(&socket->guest[i]);
    if (socket->listener >= 0)
        close(socket->listener);
    if (socket->wake >= 0)
        close(socket->wake);
    free(socket);
}
