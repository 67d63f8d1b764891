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

// Takes a connection over, for which hs_listener__ended() is called at its end, or closes it and returns false if there
// is no memory for it.
typedef bool hs_listener_take(void *context, int fd, const struct sockaddr *client, socklen_t length);

// Accepts connections from now on, at most `most` at a time. 0, or a negative errno.
int hs_listener__start(struct hs_listener *listener, unsigned most, hs_listener_take *take, void *context);

// A connection has ended. From any thread.
void hs_listener__ended(struct hs_listener *listener);

// Answers whatever a client has asked, or asks next, with 503 and this sentence.
void hs_listener__turn_away(int fd, const char *reason);

// No connection is accepted any more.
void hs_listener__stop(struct hs_listener *listener);
void hs_listener__close(struct hs_listener *listener);

#endif
