// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Finds which local user has the other end of a TCP connection over loopback.
#ifndef HEAPSONDE_HOST_SERVER_PEER_H
#define HEAPSONDE_HOST_SERVER_PEER_H

#include <stdbool.h>

// Whether it is the user of this process, or root. False also if this is unknown: the kernel does not know the owner of
// a closed socket.
bool hs_peer__is_own(int fd);

#endif
