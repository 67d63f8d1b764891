// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Addresses of devices and of this host, as text and for sockets.
#ifndef HEAPSONDE_HOST_GATHER_ADDRESS_H
#define HEAPSONDE_HOST_GATHER_ADDRESS_H

#include "host/base/error.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_address {
    socklen_t length; // for socket functions
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
};

enum { HS_ADDRESS_TEXT = 80 };

// Whether a text has the form HOST:PORT or [IPV6]:PORT.
bool hs_address__has_port(const char *text);

// Resolves HOST:PORT. A name may have several addresses; at most `most` are written. Returns their number, or a
// negative errno with the reason in `error`.
int hs_address__resolve(const char *text, struct hs_address *addresses, int most, struct hs_error *error);

// 127.0.0.0/8, also mapped to IPv6, and ::1.
bool hs_address__is_loopback(const struct hs_address *address);

void hs_address__set_port(struct hs_address *address, uint16_t port);

// Equal except for the port. For IPv6, the first 64 bits are compared, which is the usual size of a customer's network.
bool hs_address__same_neighbour(const struct hs_address *a, const struct hs_address *b);
bool hs_address__equal(const struct hs_address *a, const struct hs_address *b);

// "192.0.2.1:8100", "[2001:db8::1]:8100"; without the port "192.0.2.1", "2001:db8::1". IPv4 addresses that are mapped
// to IPv6 are shown as IPv4.
const char *hs_address__text(const struct hs_address *address, char text[HS_ADDRESS_TEXT]);
const char *hs_address__host(const struct hs_address *address, char text[HS_ADDRESS_TEXT]);

#endif
