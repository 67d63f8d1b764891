// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Numeric internet addresses. Names cannot be resolved without libc.
#ifndef HEAPSONDE_RUNTIME_STREAM_ADDRESS_H
#define HEAPSONDE_RUNTIME_STREAM_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

// For system calls (sockaddr_in, sockaddr_in6).
struct hs_address {
    union {
        uint16_t family;
        uint8_t bytes[28];
    };
    uint32_t length;
};

// Parses A.B.C.D:PORT or [IPV6]:PORT.
bool hs_address__parse(const char *text, struct hs_address *address);
bool hs_address__is_loopback(const struct hs_address *address);

void hs_address__ipv4(struct hs_address *address, uint32_t host_order, uint16_t port);
void hs_address__ipv6(struct hs_address *address, const uint8_t bytes[16], uint32_t interface, uint16_t port);

#endif
