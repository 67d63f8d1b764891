// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/stream/address.h"

#include "runtime/text.h"

#include <netinet/in.h>

_Static_assert(sizeof(struct sockaddr_in6) == sizeof((struct hs_address *)0)->bytes, "the larger of the two");

static uint16_t swapped(uint16_t port)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap16(port) : port;
}

static uint32_t swapped_long(uint32_t word)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap32(word) : word;
}

void hs_address__ipv4(struct hs_address *address, uint32_t host_order, uint16_t port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = swapped(port)};
    in.sin_addr.s_addr = swapped_long(host_order);
    *address = (struct hs_address){.length = sizeof in};
    __builtin_memcpy(address->bytes, &in, sizeof in);
}

void hs_address__ipv6(struct hs_address *address, const uint8_t bytes[16], uint32_t interface, uint16_t port)
{
    struct sockaddr_in6 in = {.sin6_family = AF_INET6, .sin6_port = swapped(port), .sin6_scope_id = interface};
    __builtin_memcpy(&in.sin6_addr, bytes, 16);
    *address = (struct hs_address){.length = sizeof in};
    __builtin_memcpy(address->bytes, &in, sizeof in);
}

// A number below `limit` in `base`, of at most `digits` digits.
static bool parse_part(const char **text, unsigned base, unsigned digits, uint32_t limit, uint32_t *number)
{
    const char *begin = *text;
    uint64_t value = hs_text__parse(text, base);
    *number = (uint32_t)value;
    return *text > begin && *text - begin <= (long)digits && value < limit;
}

static bool parse_port(const char *text, uint16_t *port)
{
    uint32_t number;
    if (*text++ != ':' || !parse_part(&text, 10, 5, 65536, &number) || *text || number == 0)
        return false;
    *port = (uint16_t)number;
    return true;
}

static bool parse_ipv4(const char *text, struct hs_address *address)
{
    uint32_t host = 0, part;
    uint16_t port;
    for (unsigned i = 0; i < 4; i++) {
        if (i && *text++ != '.')
            return false;
        if (!parse_part(&text, 10, 3, 256, &part))
            return false;
        host = host << 8 | part;
    }
    if (!parse_port(text, &port))
        return false;
    hs_address__ipv4(address, host, port);
    return true;
}

// Groups of four digits; `::` stands for as many zero groups as are missing, once.
static bool parse_groups(const char **text, uint8_t bytes[16])
{
    unsigned count = 0, gap = 9;
    if ((*text)[0] == ':' && (*text)[1] == ':')
        gap = 0, *text += 2;
    while (**text != ']') {
        uint32_t group;
        if (count == 8 || !parse_part(text, 16, 4, 65536, &group))
            return false;
        bytes[2 * count] = (uint8_t)(group >> 8);
        bytes[2 * count++ + 1] = (uint8_t)group;
        if (**text == ']')
            break;
        if (*(*text)++ != ':' || (**text == ':' && gap != 9))
            return false;
        if (**text == ':')
            gap = count, ++*text;
        else if (**text == ']')
            return false;
    }
    if (gap == 9)
        return count == 8;
    if (count == 8)
        return false;
    unsigned behind = 2 * (count - gap);
    __builtin_memmove(bytes + 16 - behind, bytes + 2 * gap, behind);
    __builtin_memset(bytes + 2 * gap, 0, 16 - behind - 2 * gap);
    return true;
}

bool hs_address__parse(const char *text, struct hs_address *address)
{
    uint8_t bytes[16] = {0};
    uint16_t port;
    if (*text != '[')
        return parse_ipv4(text, address);
    text++;
    if (!parse_groups(&text, bytes) || *text++ != ']' || !parse_port(text, &port))
        return false;
    hs_address__ipv6(address, bytes, 0, port);
    return true;
}

bool hs_address__is_loopback(const struct hs_address *address)
{
    static const uint8_t loopback[16] = {[15] = 1}, mapped[13] = {[10] = 0xff, 0xff, 127};
    if (address->family == AF_INET)
        return address->bytes[4] == 127;
    return __builtin_memcmp(address->bytes + 8, loopback, 16) == 0 ||
           __builtin_memcmp(address->bytes + 8, mapped, 13) == 0;
}
