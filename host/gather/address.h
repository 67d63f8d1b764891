// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Addresses of devices and of this host: what users write, what sockets take.
#ifndef HEAPSONDE_HOST_GATHER_ADDRESS_H
#define HEAPSONDE_HOST_GATHER_ADDRESS_H

#include "host/store/error.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_address {
    socklen_t length; // of what a socket takes
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
};

enum { HS_ADDRESS_TEXT = 80 };

// Whether a text has the form HOST:PORT or [IPV6]:PORT.
bool hs_address__has_port(const char *text);

// Looks up HOST:PORT. A name may have several addresses: at most `most` of them are written. Returns how many, or a
// negative errno with the reason in `error`.
int hs_address__resolve(const char *text, struct hs_address *addresses, int most, struct hs_error *error);

// 127.0.0.0/8, ::1, and the first as IPv6 writes it.
bool hs_address__is_loopback(const struct hs_address *address);

uint16_t hs_address__port(const struct hs_address *address);
void hs_address__set_port(struct hs_address *address, uint16_t port);

// Equal but for the port; of IPv6 the first 64 bits, which is what one customer is given.
bool hs_address__same_neighbour(const struct hs_address *a, const struct hs_address *b);
bool hs_address__equal(const struct hs_address *a, const struct hs_address *b);

// "192.0.2.1:8100", "[2001:db8::1]:8100"; without the port "192.0.2.1", "2001:db8::1". IPv4 in IPv6 is shown as IPv4.
const char *hs_address__text(const struct hs_address *address, char text[HS_ADDRESS_TEXT]);
const char *hs_address__host(const struct hs_address *address, char text[HS_ADDRESS_TEXT]);

#endif
