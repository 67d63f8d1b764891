// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/door.h"

#include "host/base/clock.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    MOST_STRANGERS = 1024,
    MOST_OF_NEIGHBOUR = 512,
    MOST_EVENTS = 64,
    MOST_DATAGRAMS = 256,    // at a time, then others have their turn
    DIALS_IN_TICK = 50,      // ten ticks a second
    TICK_MILLISECONDS = 100, //
    BACKLOG = 1024
};

#define PROVEN_WITHIN (5 * HS_SECOND)
#define DIALED_WITHIN (1 * HS_SECOND)

enum stage { DIALING, HELLO, AUTH };

// Somebody at the door.
struct stranger {
    struct stranger *next, **link; // oldest first
    int socket;
    enum stage stage;
    struct hs_gather_link link_state;
    struct hs_address peer;
    struct hs_target *target; // NULL: accepted
    uint64_t began;
    uint8_t bytes[HS_WIRE_HELLO_SIZE];
    size_t have;
};

struct closing {
    struct closing *next;
    struct hs_target *target;
    enum hs_outcome outcome;
};

struct hs_door {
    struct hs_door_options options;
    struct hs_workers *workers;
    struct hs_targets targets;
    struct hs_hearing hearing;
    int epoll, wake, listener;
    pthread_t thread;
    bool runs;
    bool deaf; // no descriptors are left for new connections
    _Atomic bool ends, all_over;
    struct stranger *strangers, **last_stranger;
    unsigned accepted;     // of the strangers; the others were dialled
    pthread_mutex_t mutex; // of the closings
    struct closing *closings;
};

// Marks in epoll's events; any other pointer is a stranger.
static char mark_wake, mark_listener, mark_hearing;

static bool mark(struct hs_door *door, int fd, void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};
    return fd < 0 || !epoll_ctl(door->epoll, EPOLL_CTL_ADD, fd, &event);
}

// ---- strangers ------------------------------------------------------------------------------------------------------

static void forget(struct hs_door *door, struct stranger *stranger)
{
    *stranger->link = stranger->next;
    if (stranger->next)
        stranger->next->link = stranger->link;
    else
        door->last_stranger = stranger->link;
    door->accepted -= !stranger->target;
    hs_wire__wipe(&stranger->link_state, sizeof(stranger->link_state));
    free(stranger);
}

static void send_away(struct hs_door *door, struct stranger *stranger, enum hs_refusal why)
{
    if (why)
        hs_notices__refused(door->options.notices, why, &stranger->peer, NULL, NULL);
    close(stranger->socket);
    if (stranger->target)
        stranger->target->state = HS_TARGET_WAITS;
    forget(door, stranger);
}

static bool watch(struct hs_door *door, struct stranger *stranger, int operation, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = stranger};
    return !epoll_ctl(door->epoll, operation, stranger->socket, &event);
}

static struct stranger *add(struct hs_door *door, int socket, const struct hs_address *peer, struct hs_target *target)
{
    struct stranger *stranger = calloc(1, sizeof(*stranger));
    if (!stranger)
        return NULL;
    stranger->socket = socket;
    stranger->peer = *peer;
    stranger->target = target;
    stranger->began = hs_clock__now();
    stranger->link = door->last_stranger;
    *door->last_stranger = stranger;
    door->last_stranger = &stranger->next;
    door->accepted += !target;
    return stranger;
}

// 48 bytes fit into the buffer of a new socket.
static bool say_hello(struct hs_door *door, struct stranger *stranger)
{
    int on = 1;
    setsockopt(stranger->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    hs_gather_link__begin(&stranger->link_state, door->options.key);
    stranger->stage = HELLO;
    return send(stranger->socket, stranger->link_state.hello, HS_WIRE_HELLO_SIZE, MSG_NOSIGNAL | MSG_DONTWAIT) ==
           HS_WIRE_HELLO_SIZE;
}

static enum hs_refusal take_hello(struct hs_door *door, struct stranger *stranger)
{
    uint8_t frame[HS_GATHER_LINK_SMALL];
    enum hs_refusal refusal = hs_gather_link__take_hello(&stranger->link_state, door->options.key, stranger->bytes);
    if (refusal)
        return refusal;
    size_t size = hs_gather_link__empty(&stranger->link_state, HS_WIRE_AUTH, frame);
    stranger->stage = AUTH;
    stranger->have = 0;
    if (send(stranger->socket, frame, size, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)size)
        return HS_REFUSAL_LEFT;
    return HS_REFUSAL_NONE;
}

static void let_in(struct hs_door *door, struct stranger *stranger)
{
    epoll_ctl(door->epoll, EPOLL_CTL_DEL, stranger->socket, NULL);
    if (!hs_workers__take(door->workers, stranger->socket, &stranger->link_state, &stranger->peer, stranger->target))
        send_away(door, stranger, HS_REFUSAL_CROWDED);
    else
        forget(door, stranger);
}

// Reads no more than the hello and AUTH have: what is behind them is the worker's.
static void listen_to(struct hs_door *door, struct stranger *stranger)
{
    for (;;) {
        size_t wanted =
            stranger->stage == HELLO ? HS_WIRE_HELLO_SIZE : hs_gather_link__auth_size(&stranger->link_state);
        ssize_t got = recv(stranger->socket, stranger->bytes + stranger->have, wanted - stranger->have, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0) {
            // A client that only checks whether we listen is not counted.
            bool looked = !stranger->target && stranger->stage == HELLO && !stranger->have;
            send_away(door, stranger, looked ? HS_REFUSAL_NONE : HS_REFUSAL_LEFT);
            return;
        }
        stranger->have += (size_t)got;
        if (stranger->have < wanted)
            continue;
        bool is_hello = stranger->stage == HELLO;
        enum hs_refusal refusal =
            is_hello ? take_hello(door, stranger) : hs_gather_link__take_auth(&stranger->link_state, stranger->bytes);
        if (refusal) {
            send_away(door, stranger, refusal);
            return;
        }
        if (!is_hello) {
            let_in(door, stranger);
            return;
        }
    }
}

static void handle(struct hs_door *door, struct stranger *stranger)
{
    if (stranger->stage != DIALING) {
        listen_to(door, stranger);
        return;
    }
    int problem = 0;
    socklen_t length = sizeof(problem);
    getsockopt(stranger->socket, SOL_SOCKET, SO_ERROR, &problem, &length);
    if (problem || !say_hello(door, stranger))
        send_away(door, stranger, HS_REFUSAL_NONE);
    else
        watch(door, stranger, EPOLL_CTL_MOD, EPOLLIN | EPOLLRDHUP);
}

// ---- new connections ------------------------------------------------------------------------------------------------

static unsigned count_neighbours(const struct hs_door *door, const struct hs_address *peer, struct stranger **oldest)
{
    unsigned count = 0;
    *oldest = NULL;
    for (struct stranger *at = door->strangers; at; at = at->next) {
        if (at->target || !hs_address__same_neighbour(&at->peer, peer))
            continue;
        if (!count++)
            *oldest = at;
    }
    return count;
}

// The oldest of the neighbour that takes most places, among the oldest few: an attacker's are.
static struct stranger *worst(const struct hs_door *door)
{
    struct stranger *found = NULL, *oldest;
    unsigned most = 0, looked = 0;
    for (struct stranger *at = door->strangers; at && looked < 8; at = at->next) {
        if (at->target)
            continue;
        looked++;
        unsigned count = count_neighbours(door, &at->peer, &oldest);
        if (count > most) {
            most = count;
            found = oldest;
        }
    }
    return found;
}

static void make_room(struct hs_door *door, const struct hs_address *peer)
{
    struct stranger *oldest;
    if (count_neighbours(door, peer, &oldest) >= MOST_OF_NEIGHBOUR)
        send_away(door, oldest, HS_REFUSAL_CROWDED);
    else if (door->accepted >= MOST_STRANGERS && (oldest = worst(door)))
        send_away(door, oldest, HS_REFUSAL_CROWDED);
}

// No connection can be accepted, because there are no descriptors. Evicts a waiting one; otherwise accepts none for a
// tick.
static void turn_away(struct hs_door *door)
{
    struct stranger *stranger = worst(door);
    if (stranger) {
        send_away(door, stranger, HS_REFUSAL_CROWDED);
        return;
    }
    door->deaf = true;
    epoll_ctl(door->epoll, EPOLL_CTL_DEL, door->listener, NULL);
}

static void accept_all(struct hs_door *door)
{
    for (int i = 0; i < MOST_EVENTS; i++) {
        struct hs_address peer = {.length = sizeof(peer.v6)};
        int socket = accept4(door->listener, &peer.any, &peer.length, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket < 0) {
            if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
                turn_away(door);
            return;
        }
        make_room(door, &peer);
        struct stranger *stranger = add(door, socket, &peer, NULL);
        if (!stranger)
            close(socket);
        else if (!watch(door, stranger, EPOLL_CTL_ADD, EPOLLIN | EPOLLRDHUP) || !say_hello(door, stranger))
            send_away(door, stranger, HS_REFUSAL_LEFT);
    }
}

// ---- dialling -------------------------------------------------------------------------------------------------------

static void dial(struct hs_door *door, struct hs_target *target, uint64_t now)
{
    const struct hs_address *address = hs_targets__dial(target, now);
    int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct stranger *stranger = fd < 0 ? NULL : add(door, fd, address, target);
    if (!stranger) {
        if (fd >= 0)
            close(fd);
        target->state = HS_TARGET_WAITS;
        return;
    }
    stranger->stage = DIALING;
    bool failed = connect(fd, &address->any, address->length) && errno != EINPROGRESS;
    if (failed || !watch(door, stranger, EPOLL_CTL_ADD, EPOLLOUT))
        send_away(door, stranger, HS_REFUSAL_NONE);
}

static void take_heard(struct hs_door *door, const struct hs_heard *heard, uint64_t now)
{
    // The source address of a datagram may be forged; it must not make us dial beyond loopback.
    if (!door->options.anywhere && !hs_address__is_loopback(&heard->address))
        return;
    struct hs_target *target = hs_targets__hear(&door->targets, heard, now);
    if (!target)
        return;
    bool selected = hs_device__is_selected(&heard->device, door->options.select);
    if (!selected)
        target->state = HS_TARGET_REFUSED;
    hs_notices__heard(door->options.notices, &heard->device, &heard->address, selected);
}

static void hear(struct hs_door *door)
{
    struct hs_heard heard;
    uint64_t now = hs_clock__now();
    for (int i = 0; i < HS_HEARING_SOCKETS; i++) {
        for (int k = 0; k < MOST_DATAGRAMS; k++) {
            enum hs_hearing_result result = hs_hearing__next(door->hearing.sockets[i], door->options.key, &heard);
            if (result == HS_HEARING_NOTHING)
                break;
            if (result == HS_HEARING_HEARD)
                take_heard(door, &heard, now);
            else
                hs_notices__refused(door->options.notices, HS_REFUSAL_ANNOUNCEMENT, &heard.address, NULL, NULL);
        }
    }
}

// ---- time -----------------------------------------------------------------------------------------------------------

static void take_closings(struct hs_door *door)
{
    eventfd_t count;
    eventfd_read(door->wake, &count);
    pthread_mutex_lock(&door->mutex);
    struct closing *closing = door->closings;
    door->closings = NULL;
    pthread_mutex_unlock(&door->mutex);
    while (closing) {
        struct closing *next = closing->next;
        hs_targets__closed(closing->target, closing->outcome, hs_clock__now());
        free(closing);
        closing = next;
    }
    atomic_store(&door->all_over, hs_targets__all_over(&door->targets));
}

static void tick(struct hs_door *door, uint64_t now)
{
    for (struct stranger *at = door->strangers, *next; at; at = next) {
        next = at->next;
        uint64_t age = now - at->began;
        if (at->stage == DIALING && age > DIALED_WITHIN)
            send_away(door, at, HS_REFUSAL_NONE);
        else if (age > PROVEN_WITHIN)
            send_away(door, at, HS_REFUSAL_SLOW);
    }
    if (door->deaf)
        door->deaf = !mark(door, door->listener, &mark_listener);
    hs_targets__expire(&door->targets, now);
    for (unsigned i = 0; i < DIALS_IN_TICK; i++) {
        struct hs_target *target = hs_targets__due(&door->targets, now);
        if (!target)
            break;
        dial(door, target, now);
    }
}

static void *run(void *data)
{
    struct hs_door *door = data;
    struct epoll_event events[MOST_EVENTS];
    uint64_t last_tick = 0;
    while (!atomic_load(&door->ends)) {
        uint64_t now = hs_clock__now();
        if (now - last_tick >= TICK_MILLISECONDS * HS_MILLISECOND) {
            tick(door, now);
            last_tick = now;
        }
        int count = epoll_wait(door->epoll, events, MOST_EVENTS, TICK_MILLISECONDS);
        bool comes = false;
        for (int i = 0; i < count; i++) {
            void *what = events[i].data.ptr;
            if (what == &mark_wake)
                take_closings(door);
            else if (what == &mark_hearing)
                hear(door);
            else if (what == &mark_listener)
                comes = true;
            else
                handle(door, what);
        }
        // Last: it may send strangers away that still have an event.
        if (comes)
            accept_all(door);
    }
    return NULL;
}

// ---- all of it ------------------------------------------------------------------------------------------------------

static int open_listener(struct hs_door *door, struct hs_error *error)
{
    const struct hs_address *address = door->options.listen;
    char text[HS_ADDRESS_TEXT];
    int on = 1;
    if (!address)
        return 0;
    door->listener = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(door->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    struct hs_address bound = {.length = sizeof(bound.v6)};
    if (door->listener < 0 || bind(door->listener, &address->any, address->length) || listen(door->listener, BACKLOG) ||
        getsockname(door->listener, &bound.any, &bound.length))
        return hs_error__set(error, errno, "cannot listen on %s: %s", hs_address__text(address, text), strerror(errno));
    hs_notices__listening(door->options.notices, &bound);
    return 0;
}

// A thousand streams are two thousand descriptors.
static void raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int hs_door__create(struct hs_door **result, const struct hs_door_options *options, struct hs_error *error)
{
    struct hs_door *door = calloc(1, sizeof(*door));
    if (!door)
        return hs_error__set(error, ENOMEM, "out of memory");
    raise_limit();
    door->options = *options;
    door->targets = options->targets;
    door->all_over = hs_targets__all_over(&door->targets);
    door->last_stranger = &door->strangers;
    door->listener = door->hearing.sockets[0] = door->hearing.sockets[1] = -1;
    pthread_mutex_init(&door->mutex, NULL);
    door->epoll = epoll_create1(EPOLL_CLOEXEC);
    door->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    int failed = open_listener(door, error);
    if (!failed && options->discover)
        failed = hs_hearing__open(&door->hearing, options->anywhere, hs_hearing__port(), error);
    if (!failed &&
        (door->epoll < 0 || door->wake < 0 || !mark(door, door->wake, &mark_wake) ||
         !mark(door, door->listener, &mark_listener) || !mark(door, door->hearing.sockets[0], &mark_hearing) ||
         !mark(door, door->hearing.sockets[1], &mark_hearing)))
        failed = hs_error__set(error, errno, "connections cannot be watched: %s", strerror(errno));
    if (failed) {
        hs_door__free(door);
        return failed;
    }
    *result = door;
    return 0;
}

int hs_door__start(struct hs_door *door, struct hs_workers *workers, struct hs_error *error)
{
    door->workers = workers;
    int problem = pthread_create(&door->thread, NULL, run, door);
    door->runs = !problem;
    return problem ? hs_error__set(error, problem, "a thread cannot be started: %s", strerror(problem)) : 0;
}

void hs_door__stop(struct hs_door *door)
{
    if (!door->runs)
        return;
    atomic_store(&door->ends, true);
    eventfd_write(door->wake, 1);
    pthread_join(door->thread, NULL);
    door->runs = false;
}

void hs_door__free(struct hs_door *door)
{
    while (door->strangers)
        send_away(door, door->strangers, HS_REFUSAL_NONE);
    while (door->closings) {
        struct closing *closing = door->closings;
        door->closings = closing->next;
        free(closing);
    }
    hs_targets__free(&door->targets);
    hs_hearing__close(&door->hearing);
    if (door->listener >= 0)
        close(door->listener);
    if (door->epoll >= 0)
        close(door->epoll);
    if (door->wake >= 0)
        close(door->wake);
    pthread_mutex_destroy(&door->mutex);
    free(door);
}

void hs_door__closed(void *data, void *target, enum hs_outcome outcome)
{
    struct hs_door *door = data;
    struct closing *closing = calloc(1, sizeof(*closing));
    if (!closing)
        return;
    closing->target = target;
    closing->outcome = outcome;
    pthread_mutex_lock(&door->mutex);
    closing->next = door->closings;
    door->closings = closing;
    pthread_mutex_unlock(&door->mutex);
    eventfd_write(door->wake, 1);
}

bool hs_door__all_over(struct hs_door *door)
{
    return atomic_load(&door->all_over);
}
