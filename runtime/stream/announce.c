// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/stream/announce.h"

#include "arch/system.h"
#include "runtime/clock.h"
#include "runtime/config.h"
#include "runtime/stream/address.h"
#include "runtime/stream/link_state.h"
#include "runtime/stream/offer.h"
#include "runtime/text.h"

#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum { INTERFACES = 64, IPV6_DIGITS = 32, IPV6_LINE = 64 };

static void send_to(int socket, const uint8_t *datagram, size_t size, const struct hs_address *address)
{
    HS_SYSTEM6(SYS_sendto, socket, datagram, size, MSG_DONTWAIT | MSG_NOSIGNAL, address->bytes, address->length);
}

static void send_to_ipv4(int socket, const uint8_t *datagram, size_t size, uint32_t host_order)
{
    struct hs_address address;
    hs_address__ipv4(&address, host_order, HS_ANNOUNCE_PORT);
    send_to(socket, datagram, size, &address);
}

// An address that the kernel put into a struct ifreq.
static uint32_t address_of(const struct ifreq *request)
{
    const uint8_t *bytes = (const uint8_t *)&request->ifr_addr + 4;
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

// To the group through each interface, whether or not a route leads to it, and to the interface's broadcast address.
static void send_to_networks(int socket, const uint8_t *datagram, size_t size)
{
    struct ifreq requests[INTERFACES];
    struct ifconf list = {.ifc_len = sizeof requests};
    list.ifc_req = requests;
    if (HS_SYSTEM3(SYS_ioctl, socket, SIOCGIFCONF, &list) != 0)
        return;
    for (unsigned i = 0; i < (unsigned)list.ifc_len / sizeof *requests; i++) {
        struct ifreq *request = &requests[i];
        HS_SYSTEM5(SYS_setsockopt, socket, IPPROTO_IP, IP_MULTICAST_IF, (const uint8_t *)&request->ifr_addr + 4, 4);
        send_to_ipv4(socket, datagram, size, 0xefff4853); // 239.255.72.83
        if (HS_SYSTEM3(SYS_ioctl, socket, SIOCGIFBRDADDR, request) == 0 && address_of(request))
            send_to_ipv4(socket, datagram, size, address_of(request));
    }
}

// A line of /proc/net/if_inet6 for each address: its 32 digits, then the interface's number, both hexadecimal.
static void send_to_ipv6(const uint8_t *datagram, size_t size)
{
    static const uint8_t group[16] = {0xff, 0x02, [14] = 0x48, 0x53};
    char lines[INTERFACES * IPV6_LINE];
    uint32_t last = 0;
    struct hs_address address;
    long socket = HS_SYSTEM3(SYS_socket, AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0)
        return;
    const char *end = lines + HS_TEXT_READ_OWN("net/if_inet6", lines, sizeof lines);
    for (const char *at = lines; end - at > IPV6_DIGITS;) {
        at += IPV6_DIGITS + 1;
        uint32_t interface = (uint32_t)hs_text__parse(&at, 16);
        hs_address__ipv6(&address, group, interface, HS_ANNOUNCE_PORT);
        if (interface != last)
            send_to((int)socket, datagram, size, &address);
        last = interface;
        while (at < end && *at++ != '\n')
            ;
    }
    hs_system_close((int)socket);
}

static size_t build(uint8_t *datagram, uint16_t port)
{
    uint8_t nonce[12] = {0}, *body = datagram + HS_ANNOUNCE_HEADER_SIZE, *at = body + HS_ANNOUNCE_BODY_MIN;
    __builtin_memcpy(body, hs_offer__trace_id(), 16);
    hs_wire__put(body + 16, port, 2);
    hs_wire__put(body + 18, hs_clock__realtime_ns(), 8);
    hs_offer__describe_process(&at, datagram + HS_ANNOUNCE_MAX - HS_WIRE_TAG_SIZE);
    const uint8_t *key = hs_link_security.encrypted ? hs_link_security.announce_key : NULL;
    if (key && HS_SYSTEM3(HS_KERNEL_GETRANDOM, nonce, sizeof nonce, 0) != sizeof nonce)
        return 0;
    return hs_announce__seal(datagram, (size_t)(at - body), key, nonce);
}

void hs_announce__send(uint16_t port)
{
    uint8_t datagram[HS_ANNOUNCE_MAX];
    int one = 1;
    size_t size = build(datagram, port);
    long socket = size ? HS_SYSTEM3(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (socket < 0)
        return;
    send_to_ipv4((int)socket, datagram, size, 0x7f000001);
    if (hs_link_security.encrypted || hs_config.insecure) {
        HS_SYSTEM5(SYS_setsockopt, socket, SOL_SOCKET, SO_BROADCAST, &one, sizeof one);
        send_to_networks((int)socket, datagram, size);
        send_to_ipv6(datagram, size);
    }
    hs_system_close((int)socket);
}
