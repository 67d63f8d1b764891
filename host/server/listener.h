// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The socket on which a server listens, and the thread that accepts its connections. It accepts no more than the memory
// of the process allows: others wait until one has ended. Waiting clients are in the kernel's queue.
#ifndef HEAPSONDE_HOST_SERVER_LISTENER_H
#define HEAPSONDE_HOST_SERVER_LISTENER_H

#include "host/base/error.h"

#include <stdbool.h>
#include <sys/socket.h>

struct hs_listener;

// `text`: ADDRESS:PORT, [ADDRESS]:PORT; port 0: the kernel chooses one. 0, or a negative errno with the reason.
// `guarded`: clients need a token; without it, addresses that other machines can reach are refused.
int hs_listener__open(struct hs_listener **listener, const char *text, bool guarded, struct hs_error *error);

// "http://127.0.0.1:4711"
const char *hs_listener__address(const struct hs_listener *listener);
unsigned hs_listener__port(const struct hs_listener *listener);

// Who serves the connections.
struct hs_listener_server {
    unsigned most; // connections at a time
    void *context;
    // Takes a connection over, or closes it and returns false if there is no memory for it. After true,
    // hs_listener__began() is called soon, unless the connection is lost.
    bool (*take)(void *context, int fd, const struct sockaddr *client, socklen_t length);
    // Called from time to time while clients wait because there are too many connections: closes what nobody uses.
    void (*make_room)(void *context);
};

// Accepts connections from now on. 0, or a negative errno.
int hs_listener__start(struct hs_listener *listener, const struct hs_listener_server *server);

// A connection is served; it has ended. From any thread, once each.
void hs_listener__began(struct hs_listener *listener);
void hs_listener__ended(struct hs_listener *listener);

// Answers whatever a client has asked, or asks next, with 503 and this sentence.
void hs_listener__turn_away(int fd, const char *reason);

// No connection is accepted any more.
void hs_listener__stop(struct hs_listener *listener);
void hs_listener__close(struct hs_listener *listener);

#endif
