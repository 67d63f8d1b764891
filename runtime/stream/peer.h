// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Whose process is at the other end of a connection within this machine.
#ifndef HEAPSONDE_RUNTIME_STREAM_PEER_H
#define HEAPSONDE_RUNTIME_STREAM_PEER_H

#include <stdbool.h>

// Whether it is this user's or root's. False also where that cannot be found out: without /proc, or when the other end
// is closed already.
bool hs_peer__is_trusted(int socket);

#endif
