// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Announcements: a datagram with the address at which a device listens (docs/protocol.md, section 3). Used only by the
// sender.
#ifndef HEAPSONDE_RUNTIME_STREAM_ANNOUNCE_H
#define HEAPSONDE_RUNTIME_STREAM_ANNOUNCE_H

#include <stdint.h>

// Sends one to loopback. If the device can be reached from beyond loopback, also to the broadcast address of every IPv4
// network and to the multicast groups.
void hs_announce__send(uint16_t port);

#endif
