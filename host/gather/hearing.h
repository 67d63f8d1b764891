// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Receives the announcements of devices (docs/protocol.md, 3).
#ifndef HEAPSONDE_HOST_GATHER_HEARING_H
#define HEAPSONDE_HOST_GATHER_HEARING_H

#include "host/gather/device.h"
#include "host/gather/shared_key.h"

enum { HS_HEARING_SOCKETS = 2 };

struct hs_hearing {
    int sockets[HS_HEARING_SOCKETS]; // IPv4, IPv6; -1: none
};

// `anywhere` false: only over loopback. `port` 0: the default. 0, or a negative errno if it can listen neither on IPv4
// nor on IPv6.
int hs_hearing__open(struct hs_hearing *hearing, bool anywhere, uint16_t port, struct hs_error *error);
void hs_hearing__close(struct hs_hearing *hearing);

// HEAPSONDE_ANNOUNCE_PORT, for several groups on one network; 0: not set.
uint16_t hs_hearing__port(void);

struct hs_heard {
    struct hs_device device;
    struct hs_address address; // the address to dial
};

enum hs_hearing_result { HS_HEARING_NOTHING, HS_HEARING_HEARD, HS_HEARING_BAD };

// Reads the next datagram of a socket. HS_HEARING_BAD: it is not from a device with this key; `heard->address` is the
// sender.
enum hs_hearing_result hs_hearing__next(int socket, const struct hs_shared_key *key, struct hs_heard *heard);

#endif
