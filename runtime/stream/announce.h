// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Announcements: a datagram that says where a device listens (docs/protocol.md, section 3). Of the sender alone.
#ifndef HEAPSONDE_RUNTIME_STREAM_ANNOUNCE_H
#define HEAPSONDE_RUNTIME_STREAM_ANNOUNCE_H

#include <stdint.h>

// Sends one to loopback and, where the device may be reached from beyond it, to every IPv4 network's broadcast address
// and to the multicast groups.
void hs_announce__send(uint16_t port);

// Of the sender: what both STREAM and announcements say.
const uint8_t *hs_sender__trace_id(void);
void hs_sender__describe_process(uint8_t **at, const uint8_t *end);

#endif
