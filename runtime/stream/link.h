// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The device's side of one connection: hello, keys, frames (docs/protocol.md, section 2). Never blocks. Used only by
// the sender.
#ifndef HEAPSONDE_RUNTIME_STREAM_LINK_H
#define HEAPSONDE_RUNTIME_STREAM_LINK_H

#include "runtime/stream/link_state.h"

// Takes a socket that is connecting or connected.
bool hs_link__open(struct hs_link *link, int socket, bool connected);
void hs_link__close(struct hs_link *link);

// Closes this side of the connection when everything was sent. Still reads what the host sends.
void hs_link__shut(struct hs_link *link);

// Reads, processes and writes as much as possible without waiting. False: the connection has to be closed.
bool hs_link__turn(struct hs_link *link, uint64_t now_ns);

// Whether there is data to send for which the socket had no room.
bool hs_link__is_full(const struct hs_link *link);

// Carries out the request `text`, of at most HS_REQUEST_MAX - 1 bytes. Each shim has its own.
void hs_requests__carry_out(const char *text, struct hs_answer *answer);

#endif
