// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/hearing.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

uint16_t hs_hearing__port(void)
{
    const char *text = getenv("HEAPSONDE_ANNOUNCE_PORT");
    return text ? (uint16_t)strtoul(text, NULL, 10) : 0;
}

// Groups are joined on every interface there is now.
static void join(int socket4, int socket6, const struct ifaddrs *interface)
{
    struct ip_mreqn group4 = {.imr_ifindex = (int)if_nametoindex(interface->ifa_name)};
    struct ipv6_mreq group6 = {.ipv6mr_interface = if_nametoindex(interface->ifa_name)};
    inet_pton(AF_INET, HS_ANNOUNCE_GROUP4, &group4.imr_multiaddr);
    inet_pton(AF_INET6, HS_ANNOUNCE_GROUP6, &group6.ipv6mr_multiaddr);
    if (interface->ifa_addr->sa_family == AF_INET && socket4 >= 0)
        setsockopt(socket4, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group4, sizeof(group4));
    if (interface->ifa_addr->sa_family == AF_INET6 && socket6 >= 0)
        setsockopt(socket6, IPPROTO_IPV6, IPV6_JOIN_GROUP, &group6, sizeof(group6));
}

static void join_all(const struct hs_hearing *hearing, bool anywhere)
{
    struct ifaddrs *interfaces = NULL;
    if (getifaddrs(&interfaces))
        return;
    for (const struct ifaddrs *at = interfaces; at; at = at->ifa_next)
        if (at->ifa_addr && at->ifa_flags & IFF_UP && (anywhere || at->ifa_flags & IFF_LOOPBACK))
            join(hearing->sockets[0], hearing->sockets[1], at);
    freeifaddrs(interfaces);
}

static int open_one(int family, bool anywhere, uint16_t port)
{
    struct hs_address address = {.length = family == AF_INET ? sizeof(address.v4) : sizeof(address.v6)};
    int on = 1;
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    address.any.sa_family = (sa_family_t)family;
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    // If that is not allowed, only datagrams to the one loopback address are received.
    if (!anywhere && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 2)) {
        address.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (family == AF_INET6) {
            memset(&address.v6, 0, sizeof(address.v6));
            address.any.sa_family = AF_INET6;
            address.v6.sin6_addr = in6addr_loopback;
        }
    }
    hs_address__set_port(&address, port ? port : HS_ANNOUNCE_PORT);
    if (!bind(fd, &address.any, address.length))
        return fd;
    int problem = errno;
    close(fd);
    errno = problem;
    return -1;
}

int hs_hearing__open(struct hs_hearing *hearing, bool anywhere, uint16_t port, struct hs_error *error)
{
    hearing->sockets[1] = open_one(AF_INET6, anywhere, port);
    hearing->sockets[0] = open_one(AF_INET, anywhere, port);
    if (hearing->sockets[0] < 0 && hearing->sockets[1] < 0)
        return hs_error__set(error, errno, "announcements cannot be heard: UDP port %u: %s",
                             port ? port : HS_ANNOUNCE_PORT, strerror(errno));
    join_all(hearing, anywhere);
    return 0;
}

void hs_hearing__close(struct hs_hearing *hearing)
{
    for (int i = 0; i < HS_HEARING_SOCKETS; i++)
        if (hearing->sockets[i] >= 0)
            close(hearing->sockets[i]);
}

static bool read_body(struct hs_heard *heard, const uint8_t *body, size_t length)
{
    if (length < HS_ANNOUNCE_BODY_MIN)
        return false;
    memset(&heard->device, 0, sizeof(heard->device));
    memcpy(heard->device.trace_id, body, HS_TRACE_ID_SIZE);
    hs_address__host(&heard->address, heard->device.address);
    uint16_t port = (uint16_t)hs_wire__get(body + HS_TRACE_ID_SIZE, 2);
    hs_address__set_port(&heard->address, port);
    return port && hs_device__read(&heard->device, body + HS_ANNOUNCE_BODY_MIN, body + length);
}

enum hs_hearing_result hs_hearing__next(int socket, const struct hs_shared_key *key, struct hs_heard *heard)
{
    uint8_t datagram[HS_ANNOUNCE_MAX + 1];
    struct iovec piece = {datagram, sizeof(datagram)};
    memset(&heard->address, 0, sizeof(heard->address));
    struct msghdr message = {
        .msg_name = &heard->address.v6, .msg_namelen = sizeof(heard->address.v6), .msg_iov = &piece, .msg_iovlen = 1};
    if (socket < 0)
        return HS_HEARING_NOTHING;
    ssize_t size = recvmsg(socket, &message, MSG_DONTWAIT);
    if (size < 0)
        return HS_HEARING_NOTHING;
    heard->address.length = message.msg_namelen;
    if (size > HS_ANNOUNCE_MAX)
        return HS_HEARING_BAD;
    long length = hs_announce__open(datagram, (size_t)size, key->length ? key->announcements : NULL);
    if (length < 0 || !read_body(heard, datagram + HS_ANNOUNCE_HEADER_SIZE, (size_t)length))
        return HS_HEARING_BAD;
    return HS_HEARING_HEARD;
}
