// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Finds the user of the process at the other end of a local connection.
#ifndef HEAPSONDE_RUNTIME_STREAM_PEER_H
#define HEAPSONDE_RUNTIME_STREAM_PEER_H

#include <stdbool.h>

// Whether it is this user or root. False also if this is unknown: without /proc, or if the other end is already closed.
bool hs_peer__is_trusted(int socket);

#endif
