// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/worker.h"

#include "host/base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_SIZE ((size_t)256 << 10)

enum { MOST_CONNECTIONS = 4096, MOST_EVENTS = 64, MOST_WORKERS = 256 };

#define PING_PERIOD   (1 * HS_SECOND)
#define SILENCE       (4 * HS_SECOND)
#define STREAM_WITHIN (5 * HS_SECOND)
#define FRAME_WITHIN  (30 * HS_SECOND)
#define GONE_WITHIN   (5 * HS_SECOND) // after the last acknowledgement

struct connection {
    struct connection *next, **link; // of its worker
    struct hs_gather_stream stream;
    int socket;
    void *target;
    uint8_t *rest; // of a frame that is not whole
    size_t rest_length;
    uint8_t out[HS_STREAM_OUT];
    size_t out_length, out_sent;
    uint64_t began, heard, pinged;
    uint64_t asked;       // by the first ping since it was heard; 0: it owes no answer
    uint64_t frame_began; // 0: no part of a frame is there
    uint64_t done_since;
    bool waits_to_write;
};

// Requests of other threads to a worker.
struct message {
    struct message *next;
    struct connection *newcomer; // or
    uint64_t stored;             // a claim, or
    uint64_t asked;              // a claim, for
    struct hs_gather_request *request;
};

struct worker_worker {
    struct hs_workers *workers;
    unsigned index;
    pthread_t thread;
    bool runs;
    int epoll, wake;
    struct connection *connections;
    pthread_mutex_t mutex; // of the messages
    struct message *messages, **last_message;
    uint8_t *buffer;
    _Atomic unsigned count;
};

struct hs_workers {
    struct hs_workers_options options;
    struct worker_worker *worker;
    _Atomic bool ends;
    uint64_t claims; // of the one thread that hands over
};

// ---- the life of a connection ---------------------------------------------------------------------------------------

// A device whose last byte is acknowledged may leave right behind its end.
static enum hs_outcome outcome_of_closed(const struct hs_gather_stream *stream)
{
    if (stream->done)
        return HS_OUTCOME_ENDED;
    return stream->ended && stream->acknowledged == stream->expected ? HS_OUTCOME_UNTOLD : HS_OUTCOME_LOST;
}

static enum hs_outcome outcome_of(const struct connection *connection, enum hs_refusal why)
{
    switch (why) {
    case HS_REFUSAL_NONE:
        return outcome_of_closed(&connection->stream);
    case HS_REFUSAL_DEVICE:
    case HS_REFUSAL_HEADER:
    case HS_REFUSAL_QUOTA:
    case HS_REFUSAL_QUOTA_DEVICE:
    case HS_REFUSAL_NOT_SELECTED:
    case HS_REFUSAL_LESS:
        return HS_OUTCOME_REFUSED;
    default:
        return HS_OUTCOME_LOST;
    }
}

static void close_connection(struct worker_worker *worker, struct connection *connection, enum hs_refusal why)
{
    const struct hs_workers_options *options = &worker->workers->options;
    enum hs_outcome outcome = outcome_of(connection, why);
    hs_gather_stream__close(&options->context, &connection->stream, why);
    close(connection->socket);
    hs_wire__wipe(&connection->stream.link, sizeof(connection->stream.link));
    if (connection->target)
        options->closed(options->data, connection->target, outcome);
    *connection->link = connection->next;
    if (connection->next)
        connection->next->link = connection->link;
    free(connection->rest);
    free(connection);
    atomic_fetch_sub(&worker->count, 1);
}

static void watch(struct worker_worker *worker, struct connection *connection, int operation)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = connection};
    if (connection->waits_to_write)
        event.events |= EPOLLOUT;
    epoll_ctl(worker->epoll, operation, connection->socket, &event);
}

// False: the connection is broken.
static bool send_out(struct worker_worker *worker, struct connection *connection)
{
    bool full = false;
    while (!full) {
        if (connection->out_sent == connection->out_length) {
            connection->out_sent = 0;
            connection->out_length = hs_gather_stream__fill(&connection->stream, connection->out);
        }
        if (!connection->out_length)
            break;
        ssize_t sent = send(connection->socket, connection->out + connection->out_sent,
                            connection->out_length - connection->out_sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        full = sent < 0 && errno == EAGAIN;
        connection->out_sent += sent > 0 ? (size_t)sent : 0;
    }
    if (full != connection->waits_to_write) {
        connection->waits_to_write = full;
        watch(worker, connection, EPOLL_CTL_MOD);
    }
    if (connection->stream.done && !connection->done_since)
        connection->done_since = hs_clock__now();
    return true;
}

// Keeps what is left of a frame for the next time.
static bool keep_rest(struct connection *connection, const uint8_t *bytes, size_t length, uint64_t now)
{
    connection->rest_length = 0;
    if (!length) {
        free(connection->rest);
        connection->rest = NULL;
        connection->frame_began = 0;
        return true;
    }
    if (!connection->rest)
        connection->rest = malloc(HS_WIRE_FRAME_MAX);
    if (!connection->rest)
        return false;
    memcpy(connection->rest, bytes, length);
    connection->rest_length = length;
    connection->frame_began = now;
    return true;
}

// Takes what has come. Returns whether the connection still is.
static bool receive(struct worker_worker *worker, struct connection *connection)
{
    uint8_t *buffer = worker->buffer;
    size_t rest = connection->rest_length;
    uint64_t frame_began = connection->frame_began;
    enum hs_refusal refusal = HS_REFUSAL_NONE;
    if (rest)
        memcpy(buffer, connection->rest, rest);
    ssize_t got = recv(connection->socket, buffer + rest, READ_SIZE, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (got <= 0) {
        close_connection(worker, connection, HS_REFUSAL_NONE);
        return false;
    }
    uint64_t now = connection->heard = hs_clock__now();
    connection->asked = 0;
    size_t length = rest + (size_t)got;
    size_t used =
        hs_gather_stream__take(&worker->workers->options.context, &connection->stream, buffer, length, &refusal);
    if (!refusal && !keep_rest(connection, buffer + used, length - used, now))
        refusal = HS_REFUSAL_TOO_MANY;
    if (!used && frame_began)
        connection->frame_began = frame_began;
    bool sent = send_out(worker, connection);
    if (refusal || !sent)
        close_connection(worker, connection, refusal);
    return !refusal && sent;
}

static void handle(struct worker_worker *worker, struct connection *connection, uint32_t events)
{
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP)) {
        if (!receive(worker, connection))
            return;
    }
    if (events & EPOLLOUT && !send_out(worker, connection))
        close_connection(worker, connection, HS_REFUSAL_NONE);
}

// ---- time -----------------------------------------------------------------------------------------------------------

// This thread may have been kept from reading what is there.
static bool has_input(const struct connection *connection)
{
    char byte;
    return recv(connection->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

// This thread, or the whole process, may have stood still: then nobody was asked either.
static bool owes_answer(const struct connection *connection, uint64_t now)
{
    return connection->asked && now - connection->asked >= SILENCE - PING_PERIOD;
}

// Whether the connection has to be closed.
static bool is_late(struct connection *connection, uint64_t now, enum hs_refusal *why)
{
    struct hs_gather_stream *stream = &connection->stream;
    *why = HS_REFUSAL_NONE;
    if (stream->trace && !hs_gathered__is_claimed(stream->trace, stream->claim)) {
        *why = HS_REFUSAL_REPLACED;
        return true;
    }
    if (connection->done_since && now - connection->done_since > GONE_WITHIN)
        return true;
    bool silent = now - connection->heard > SILENCE && owes_answer(connection, now);
    bool slow = (!stream->trace && (silent || now - connection->began > STREAM_WITHIN)) ||
                (connection->frame_began && now - connection->frame_began > FRAME_WITHIN);
    if (slow)
        *why = HS_REFUSAL_SLOW;
    return (slow || silent) && !has_input(connection);
}

static void tick(struct worker_worker *worker, uint64_t now)
{
    enum hs_refusal why;
    for (struct connection *at = worker->connections, *next; at; at = next) {
        next = at->next;
        if (is_late(at, now, &why)) {
            close_connection(worker, at, why);
            continue;
        }
        if (now - at->pinged < PING_PERIOD)
            continue;
        at->pinged = now;
        at->asked = at->asked ? at->asked : now;
        at->stream.ping_due = true;
        if (!send_out(worker, at))
            close_connection(worker, at, HS_REFUSAL_NONE);
    }
}

// ---- messages -------------------------------------------------------------------------------------------------------

static void post(struct worker_worker *worker, struct message *message)
{
    pthread_mutex_lock(&worker->mutex);
    message->next = NULL;
    *worker->last_message = message;
    worker->last_message = &message->next;
    pthread_mutex_unlock(&worker->mutex);
    eventfd_write(worker->wake, 1);
}

static struct message *take_messages(struct worker_worker *worker)
{
    eventfd_t count;
    eventfd_read(worker->wake, &count);
    pthread_mutex_lock(&worker->mutex);
    struct message *messages = worker->messages;
    worker->messages = NULL;
    worker->last_message = &worker->messages;
    pthread_mutex_unlock(&worker->mutex);
    return messages;
}

static void adopt_connection(struct worker_worker *worker, struct connection *connection)
{
    connection->began = connection->heard = connection->pinged = hs_clock__now();
    connection->next = worker->connections;
    connection->link = &worker->connections;
    if (connection->next)
        connection->next->link = &connection->next;
    worker->connections = connection;
    watch(worker, connection, EPOLL_CTL_ADD);
}

static struct connection *find(const struct worker_worker *worker, uint64_t claim)
{
    struct connection *at = worker->connections;
    while (at && at->stream.claim != claim)
        at = at->next;
    return at;
}

static void take_stored(struct worker_worker *worker, uint64_t claim)
{
    struct connection *at = find(worker, claim);
    if (!at)
        return;
    at->stream.synced = true;
    if (!send_out(worker, at))
        close_connection(worker, at, HS_REFUSAL_NONE);
}

static void take_request(struct worker_worker *worker, const struct message *message)
{
    struct connection *at = find(worker, message->asked);
    if (!at) {
        hs_gather_request__fail(message->request, -ENOTCONN);
        return;
    }
    hs_gather_stream__ask(&at->stream, message->request);
    if (!send_out(worker, at))
        close_connection(worker, at, HS_REFUSAL_NONE);
}

static void handle_messages(struct worker_worker *worker)
{
    for (struct message *message = take_messages(worker), *next; message; message = next) {
        next = message->next;
        if (message->newcomer)
            adopt_connection(worker, message->newcomer);
        else if (message->request)
            take_request(worker, message);
        else
            take_stored(worker, message->stored);
        free(message);
    }
}

static void *run(void *data)
{
    struct worker_worker *worker = data;
    struct epoll_event events[MOST_EVENTS];
    uint64_t last_tick = hs_clock__now();
    while (!atomic_load(&worker->workers->ends)) {
        int count = epoll_wait(worker->epoll, events, MOST_EVENTS, 250);
        bool messages = false;
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr)
                handle(worker, events[i].data.ptr, events[i].events);
            else
                messages = true;
        }
        // Last: they may close connections that still have an event.
        if (messages)
            handle_messages(worker);
        uint64_t now = hs_clock__now();
        if (now - last_tick >= 250 * HS_MILLISECOND) {
            tick(worker, now);
            last_tick = now;
        }
    }
    return NULL;
}

// ---- all of them ----------------------------------------------------------------------------------------------------

static int start_worker(struct hs_workers *workers, struct worker_worker *worker)
{
    struct epoll_event event = {.events = EPOLLIN};
    worker->workers = workers;
    worker->last_message = &worker->messages;
    pthread_mutex_init(&worker->mutex, NULL);
    worker->epoll = epoll_create1(EPOLL_CLOEXEC);
    worker->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    worker->buffer = malloc(READ_SIZE + HS_WIRE_FRAME_MAX);
    if (worker->epoll < 0 || worker->wake < 0 || !worker->buffer)
        return ENOMEM;
    if (epoll_ctl(worker->epoll, EPOLL_CTL_ADD, worker->wake, &event))
        return errno;
    int problem = pthread_create(&worker->thread, NULL, run, worker);
    worker->runs = !problem;
    return problem;
}

int hs_workers__start(struct hs_workers **result, const struct hs_workers_options *options, struct hs_error *error)
{
    struct hs_workers *workers = calloc(1, sizeof(*workers));
    if (workers) {
        workers->options = *options;
        if (workers->options.count > MOST_WORKERS)
            workers->options.count = MOST_WORKERS;
        workers->worker = calloc(workers->options.count, sizeof(*workers->worker));
    }
    if (!workers || !workers->worker) {
        free(workers);
        return hs_error__set(error, ENOMEM, "out of memory");
    }
    int problem = 0;
    for (unsigned i = 0; i < workers->options.count && !problem; i++) {
        workers->worker[i].index = i;
        problem = start_worker(workers, &workers->worker[i]);
    }
    if (!problem) {
        *result = workers;
        return 0;
    }
    hs_workers__stop(workers);
    hs_workers__free(workers);
    return hs_error__set(error, problem, "a thread cannot be started: %s", strerror(problem));
}

void hs_workers__stop(struct hs_workers *workers)
{
    atomic_store(&workers->ends, true);
    for (unsigned i = 0; i < workers->options.count; i++) {
        struct worker_worker *worker = &workers->worker[i];
        if (!worker->runs)
            continue;
        eventfd_write(worker->wake, 1);
        pthread_join(worker->thread, NULL);
        worker->runs = false;
        handle_messages(worker);
        while (worker->connections)
            close_connection(worker, worker->connections, HS_REFUSAL_NONE);
    }
}

void hs_workers__free(struct hs_workers *workers)
{
    for (unsigned i = 0; i < workers->options.count; i++) {
        struct worker_worker *worker = &workers->worker[i];
        for (struct message *message = worker->messages, *next; message; message = next) {
            next = message->next;
            if (message->request)
                hs_gather_request__fail(message->request, -ENOTCONN);
            free(message);
        }
        if (worker->workers && worker->epoll >= 0)
            close(worker->epoll);
        if (worker->workers && worker->wake >= 0)
            close(worker->wake);
        free(worker->buffer);
    }
    free(workers->worker);
    free(workers);
}

static unsigned connections_of(const struct hs_workers *workers)
{
    unsigned count = 0;
    for (unsigned i = 0; i < workers->options.count; i++)
        count += atomic_load(&workers->worker[i].count);
    return count;
}

static struct worker_worker *least_busy(struct hs_workers *workers)
{
    struct worker_worker *found = &workers->worker[0];
    for (unsigned i = 1; i < workers->options.count; i++)
        if (atomic_load(&workers->worker[i].count) < atomic_load(&found->count))
            found = &workers->worker[i];
    return found;
}

bool hs_workers__take(struct hs_workers *workers, int socket, const struct hs_gather_link *link,
                      const struct hs_address *peer, void *target)
{
    if (connections_of(workers) >= MOST_CONNECTIONS)
        return false;
    struct connection *connection = calloc(1, sizeof(*connection));
    struct message *message = calloc(1, sizeof(*message));
    if (!connection || !message) {
        free(connection);
        free(message);
        return false;
    }
    struct worker_worker *worker = least_busy(workers);
    connection->socket = socket;
    connection->target = target;
    connection->stream.link = *link;
    connection->stream.peer = *peer;
    // The number says whose connection it is.
    connection->stream.claim = ++workers->claims * MOST_WORKERS + worker->index;
    message->newcomer = connection;
    atomic_fetch_add(&worker->count, 1);
    post(worker, message);
    return true;
}

void hs_workers__stored(void *data, uint64_t claim)
{
    struct hs_workers *workers = data;
    struct message *message = calloc(1, sizeof(*message));
    if (!message)
        return;
    message->stored = claim;
    post(&workers->worker[claim % MOST_WORKERS], message);
}

void hs_workers__ask(struct hs_workers *workers, uint64_t claim, struct hs_gather_request *request)
{
    struct message *message = calloc(1, sizeof(*message));
    if (!message || claim % MOST_WORKERS >= workers->options.count) {
        hs_gather_request__fail(request, message ? -ENOTCONN : -ENOMEM);
        free(message);
        return;
    }
    message->asked = claim;
    message->request = request;
    post(&workers->worker[claim % MOST_WORKERS], message);
}
