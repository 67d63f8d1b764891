// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

// Splits into host and port; false when it has not that form.
static bool split(const char *text, char *host, size_t size, const char **port)
{
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")] || strlen(colon + 1) > 5)
        return false;
    size_t length = (size_t)(colon - text);
    bool brackets = text[0] == '[' && colon[-1] == ']';
    if (!brackets && memchr(text, ':', length))
        return false;
    if (brackets) {
        text++;
        length -= 2;
    }
    if (length == 0 || length >= size)
        return false;
    memcpy(host, text, length);
    host[length] = 0;
    *port = colon + 1;
    unsigned number = 0;
    return sscanf(*port, "%u", &number) == 1 && number <= UINT16_MAX;
}

bool hs_address__has_port(const char *text)
{
    char host[256];
    const char *port;
    return split(text, host, sizeof(host), &port);
}

int hs_address__resolve(const char *text, struct hs_address *addresses, int most, struct hs_error *error)
{
    char host[256];
    const char *port;
    struct addrinfo *found = NULL;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    if (!split(text, host, sizeof(host), &port))
        return hs_error__set(error, EINVAL, "'%s' is not an address; give HOST:PORT, or [ADDRESS]:PORT for IPv6", text);
    int problem = getaddrinfo(host, port, &hints, &found);
    if (problem)
        return hs_error__set(error, EHOSTUNREACH, "%s: %s", text, gai_strerror(problem));
    int count = 0;
    for (const struct addrinfo *at = found; at && count < most; at = at->ai_next) {
        struct hs_address *to = &addresses[count];
        if (at->ai_addrlen > sizeof(to->v6))
            continue;
        memset(to, 0, sizeof(*to));
        to->length = at->ai_addrlen;
        memcpy(&to->v6, at->ai_addr, at->ai_addrlen);
        count++;
    }
    freeaddrinfo(found);
    return count ? count : hs_error__set(error, EHOSTUNREACH, "%s: this name has no address", text);
}

static bool is_v4(const struct hs_address *address, uint32_t *number)
{
    if (address->any.sa_family == AF_INET) {
        *number = ntohl(address->v4.sin_addr.s_addr);
        return true;
    }
    if (address->any.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&address->v6.sin6_addr))
        return false;
    const uint8_t *bytes = address->v6.sin6_addr.s6_addr + 12;
    *number = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
    return true;
}

bool hs_address__is_loopback(const struct hs_address *address)
{
    uint32_t number;
    if (is_v4(address, &number))
        return number >> 24 == 127;
    return address->any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

static uint16_t port_of(const struct hs_address *address)
{
    return ntohs(address->any.sa_family == AF_INET6 ? address->v6.sin6_port : address->v4.sin_port);
}

void hs_address__set_port(struct hs_address *address, uint16_t port)
{
    if (address->any.sa_family == AF_INET6)
        address->v6.sin6_port = htons(port);
    else
        address->v4.sin_port = htons(port);
}

static bool same_host(const struct hs_address *a, const struct hs_address *b, size_t v6_bytes)
{
    uint32_t number_a = 0, number_b = 0;
    bool v4 = is_v4(a, &number_a);
    if (v4 != is_v4(b, &number_b) || a->any.sa_family == AF_UNSPEC)
        return false;
    return v4 ? number_a == number_b : !memcmp(&a->v6.sin6_addr, &b->v6.sin6_addr, v6_bytes);
}

bool hs_address__same_neighbour(const struct hs_address *a, const struct hs_address *b)
{
    return same_host(a, b, 8);
}

bool hs_address__equal(const struct hs_address *a, const struct hs_address *b)
{
    return same_host(a, b, 16) && port_of(a) == port_of(b);
}

const char *hs_address__host(const struct hs_address *address, char text[HS_ADDRESS_TEXT])
{
    uint32_t number;
    if (is_v4(address, &number)) {
        number = htonl(number);
        inet_ntop(AF_INET, &number, text, HS_ADDRESS_TEXT);
    } else if (!inet_ntop(AF_INET6, &address->v6.sin6_addr, text, HS_ADDRESS_TEXT)) {
        snprintf(text, HS_ADDRESS_TEXT, "?");
    }
    return text;
}

const char *hs_address__text(const struct hs_address *address, char text[HS_ADDRESS_TEXT])
{
    char host[HS_ADDRESS_TEXT];
    hs_address__host(address, host);
    snprintf(text, HS_ADDRESS_TEXT, strchr(host, ':') ? "[%.60s]:%u" : "%.60s:%u", host, port_of(address));
    return text;
}
