// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Hears the announcements of devices (docs/protocol.md, 3).
#ifndef HEAPSONDE_HOST_GATHER_HEARING_H
#define HEAPSONDE_HOST_GATHER_HEARING_H

#include "host/gather/device.h"
#include "host/gather/shared_key.h"

enum { HS_HEARING_SOCKETS = 2 };

struct hs_hearing {
    int sockets[HS_HEARING_SOCKETS]; // IPv4, IPv6; -1: none
};

// `anywhere` false: only what comes over loopback. `port` 0: the usual one. 0, or a negative errno when neither kind of
// address works.
int hs_hearing__open(struct hs_hearing *hearing, bool anywhere, uint16_t port, struct hs_error *error);
void hs_hearing__close(struct hs_hearing *hearing);

// HEAPSONDE_ANNOUNCE_PORT, for several laboratories on one network; 0: not given.
uint16_t hs_hearing__port(void);

struct hs_heard {
    struct hs_device device;
    struct hs_address address; // where to connect
};

enum hs_hearing_result { HS_HEARING_NOTHING, HS_HEARING_HEARD, HS_HEARING_BAD };

// The next datagram of a socket. HS_HEARING_BAD: it is none of somebody with this key; `heard->address` is whose.
enum hs_hearing_result hs_hearing__next(int socket, const struct hs_shared_key *key, struct hs_heard *heard);

#endif
