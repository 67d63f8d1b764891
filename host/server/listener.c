// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/server/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { QUEUE = 512, TRIES = 100, PAUSE_MS = 50, PATIENCE_MS = 1000, PIECES = 16 };

union socket_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct hs_listener {
    int fd;
    char address[128];
    unsigned port;
    struct hs_listener_server server;
    pthread_t thread;
    bool runs;
    pthread_mutex_t lock; // of all that follows
    pthread_cond_t changed;
    unsigned open;  // connections
    unsigned begun; // ever
    bool stopped;
};

static bool parse_address(const char *text, union socket_address *address)
{
    char host[64];
    const char *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;
    char *end;
    if (!colon || !length || length >= sizeof(host) || colon[1] < '0' || colon[1] > '9')
        return false;
    unsigned long port = strtoul(colon + 1, &end, 10);
    if (*end || port > 65535)
        return false;
    memcpy(host, text, length);
    host[length] = 0;
    memset(address, 0, sizeof(*address));
    if (!strcmp(host, "localhost"))
        strcpy(host, "127.0.0.1");
    if (host[0] == '[' && host[length - 1] == ']') {
        host[length - 1] = 0;
        address->v6.sin6_family = AF_INET6;
        address->v6.sin6_port = htons((uint16_t)port);
        return inet_pton(AF_INET6, host + 1, &address->v6.sin6_addr) == 1;
    }
    address->v4.sin_family = AF_INET;
    address->v4.sin_port = htons((uint16_t)port);
    return inet_pton(AF_INET, host, &address->v4.sin_addr) == 1;
}

static bool is_loopback(const union socket_address *address)
{
    if (address->any.sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
    return ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
}

static void write_address(struct hs_listener *listener, const union socket_address *address)
{
    char host[64] = "";
    const bool v6 = address->any.sa_family == AF_INET6;
    inet_ntop(address->any.sa_family, v6 ? (const void *)&address->v6.sin6_addr : &address->v4.sin_addr, host,
              sizeof(host));
    listener->port = ntohs(v6 ? address->v6.sin6_port : address->v4.sin_port);
    snprintf(listener->address, sizeof(listener->address), v6 ? "http://[%s]:%u" : "http://%s:%u", host,
             listener->port);
}

// Returns a negative errno.
static int listen_at(struct hs_listener *listener, union socket_address *address)
{
    const bool v6 = address->any.sa_family == AF_INET6;
    const int on = 1;
    socklen_t length = v6 ? sizeof(address->v6) : sizeof(address->v4);
    listener->fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener->fd < 0)
        return -errno;
    setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (v6)
        setsockopt(listener->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    if (bind(listener->fd, &address->any, length) || listen(listener->fd, QUEUE) ||
        getsockname(listener->fd, &address->any, &length))
        return -errno;
    write_address(listener, address);
    return 0;
}

// Its waits end by the monotonic clock.
static void init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

int hs_listener__open(struct hs_listener **listener, const char *text, bool guarded, struct hs_error *error)
{
    union socket_address address;
    if (!parse_address(text, &address))
        return hs_error__set(error, EINVAL,
                             "%s is not an address; give one such as 127.0.0.1:8080, [::1]:8080 or 127.0.0.1:0", text);
    if (!is_loopback(&address) && !guarded)
        return hs_error__set(error, EACCES,
                             "%s can be reached from other machines; it needs a --token, or listen on 127.0.0.1", text);
    struct hs_listener *self = calloc(1, sizeof(*self));
    if (!self)
        return hs_error__set(error, ENOMEM, "out of memory");
    pthread_mutex_init(&self->lock, NULL);
    init_condition(&self->changed);
    const int problem = listen_at(self, &address);
    if (problem) {
        hs_listener__close(self);
        return hs_error__set(error, -problem, "%s: %s", text, strerror(-problem));
    }
    *listener = self;
    return 0;
}

const char *hs_listener__address(const struct hs_listener *listener)
{
    return listener->address;
}

unsigned hs_listener__port(const struct hs_listener *listener)
{
    return listener->port;
}

// ---- connections ----------------------------------------------------------------------------------------------------

void hs_listener__began(struct hs_listener *listener)
{
    pthread_mutex_lock(&listener->lock);
    listener->open++;
    listener->begun++;
    pthread_cond_signal(&listener->changed);
    pthread_mutex_unlock(&listener->lock);
}

void hs_listener__ended(struct hs_listener *listener)
{
    pthread_mutex_lock(&listener->lock);
    listener->open--;
    pthread_cond_signal(&listener->changed);
    pthread_mutex_unlock(&listener->lock);
}

static struct timespec milliseconds_from_now(unsigned milliseconds)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_nsec += milliseconds * 1000000L;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static bool is_full(const struct hs_listener *listener)
{
    return !listener->stopped && listener->open >= listener->server.most;
}

static bool someone_waits(const struct hs_listener *listener)
{
    struct pollfd socket = {.fd = listener->fd, .events = POLLIN};
    return poll(&socket, 1, 0) > 0;
}

// False: the listener stops.
static bool wait_for_room(struct hs_listener *listener)
{
    pthread_mutex_lock(&listener->lock);
    while (is_full(listener)) {
        pthread_mutex_unlock(&listener->lock);
        if (someone_waits(listener))
            listener->server.make_room(listener->server.context);
        const struct timespec until = milliseconds_from_now(PAUSE_MS);
        pthread_mutex_lock(&listener->lock);
        if (is_full(listener))
            pthread_cond_timedwait(&listener->changed, &listener->lock, &until);
    }
    const bool goes_on = !listener->stopped;
    pthread_mutex_unlock(&listener->lock);
    return goes_on;
}

static unsigned count_begun(struct hs_listener *listener)
{
    pthread_mutex_lock(&listener->lock);
    const unsigned begun = listener->begun;
    pthread_mutex_unlock(&listener->lock);
    return begun;
}

// Until the connection counts, or is lost: libmicrohttpd tells nobody if it has no memory for one.
static void wait_for_begin(struct hs_listener *listener, unsigned before)
{
    const struct timespec until = milliseconds_from_now(PATIENCE_MS);
    pthread_mutex_lock(&listener->lock);
    while (!listener->stopped && listener->begun == before &&
           !pthread_cond_timedwait(&listener->changed, &listener->lock, &until))
        ;
    pthread_mutex_unlock(&listener->lock);
}

// The same after some time, in which memory may be freed.
static bool wait_for_memory(struct hs_listener *listener)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    nanosleep(&pause, NULL);
    return wait_for_room(listener);
}

void hs_listener__turn_away(int fd, const char *reason)
{
    char answer[512];
    const int length = snprintf(answer, sizeof(answer),
                                "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n"
                                "Content-Length: %zu\r\nConnection: close\r\nRetry-After: 1\r\n\r\n%s\n",
                                strlen(reason) + 1, reason);
    send(fd, answer, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL);
}

// The request is read first: the kernel throws away an answer if the connection is closed with unread bytes. The end of
// the listener ends the wait.
static void read_request(const struct hs_listener *listener, int fd)
{
    char request[4096];
    struct pollfd sockets[] = {{.fd = fd, .events = POLLIN}, {.fd = listener->fd}};
    for (unsigned i = 0; i < PIECES && poll(sockets, 2, PATIENCE_MS) > 0; i++)
        if (recv(fd, request, sizeof(request), MSG_DONTWAIT) != sizeof(request))
            return;
}

static void take(struct hs_listener *listener, int fd, const union socket_address *client, socklen_t length)
{
    for (unsigned tries = 0; tries < TRIES; tries++) {
        // One that cannot be taken over is closed, and has to be there for the next attempt.
        const int spare = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        const unsigned begun = count_begun(listener);
        const bool taken = listener->server.take(listener->server.context, fd, &client->any, length);
        if (taken)
            wait_for_begin(listener, begun);
        if (taken || spare < 0) {
            if (spare >= 0)
                close(spare);
            return;
        }
        fd = spare;
        if (!wait_for_memory(listener))
            break;
    }
    read_request(listener, fd);
    hs_listener__turn_away(fd, "there is no memory for another connection; --memory SIZE allows more");
    close(fd);
}

static void *accept_all(void *context)
{
    struct hs_listener *listener = context;
    while (wait_for_room(listener)) {
        union socket_address client;
        socklen_t length = sizeof(client);
        const int fd = accept4(listener->fd, &client.any, &length, SOCK_CLOEXEC);
        if (fd >= 0)
            take(listener, fd, &client, length);
        else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            wait_for_memory(listener);
    }
    return NULL;
}

int hs_listener__start(struct hs_listener *listener, const struct hs_listener_server *server)
{
    listener->server = *server;
    const int problem = pthread_create(&listener->thread, NULL, accept_all, listener);
    listener->runs = !problem;
    return -problem;
}

void hs_listener__stop(struct hs_listener *listener)
{
    pthread_mutex_lock(&listener->lock);
    listener->stopped = true;
    pthread_cond_signal(&listener->changed);
    pthread_mutex_unlock(&listener->lock);
    shutdown(listener->fd, SHUT_RDWR); // ends accept4
    if (listener->runs)
        pthread_join(listener->thread, NULL);
    listener->runs = false;
}

void hs_listener__close(struct hs_listener *listener)
{
    if (listener->fd >= 0)
        close(listener->fd);
    pthread_cond_destroy(&listener->changed);
    pthread_mutex_destroy(&listener->lock);
    free(listener);
}
