// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which user of this machine is at the other end of a TCP connection over loopback.
#ifndef HEAPSONDE_HOST_SERVER_PEER_H
#define HEAPSONDE_HOST_SERVER_PEER_H

#include <stdbool.h>

// Whether it is the user that this process runs as, or root. False also where that cannot be told: the kernel does not
// know the owner of a socket that is closed already.
bool hs_peer__is_own(int fd);

#endif
