// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The kernel is asked for the other socket by its two addresses, and where it does not answer that (containers without
// sock_diag), looked for in /proc/net.
#include "host/server/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union peer_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

// From the view of the other end.
struct pair {
    union peer_address source, target;
};

struct owner {
    uint32_t user;
    uint64_t inode; // 0: it is closed
};

static bool take_pair(int fd, struct pair *pair)
{
    socklen_t source = sizeof(pair->source), target = sizeof(pair->target);
    memset(pair, 0, sizeof(*pair));
    return !getpeername(fd, &pair->source.any, &source) && !getsockname(fd, &pair->target.any, &target) &&
           pair->source.any.sa_family == pair->target.any.sa_family &&
           (pair->source.any.sa_family == AF_INET || pair->source.any.sa_family == AF_INET6);
}

// ---- sock_diag -----------------------------------------------------------------------------------------------------

static void put_address(const union peer_address *address, uint16_t *port, uint32_t words[4])
{
    bool v6 = address->any.sa_family == AF_INET6;
    *port = v6 ? address->v6.sin6_port : address->v4.sin_port;
    if (v6)
        memcpy(words, &address->v6.sin6_addr, 16);
    else
        memcpy(words, &address->v4.sin_addr, 4);
}

static bool receive_owner(int netlink, struct owner *owner)
{
    union {
        struct nlmsghdr header;
        char bytes[4096];
    } answer;
    ssize_t got = recv(netlink, &answer, sizeof(answer), 0);
    if (got < (ssize_t)NLMSG_LENGTH(sizeof(struct inet_diag_msg)) || answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return false;
    struct inet_diag_msg message;
    memcpy(&message, NLMSG_DATA(&answer.header), sizeof(message));
    *owner = (struct owner){message.idiag_uid, message.idiag_inode};
    return true;
}

static bool ask_kernel(const struct pair *pair, struct owner *owner)
{
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 request;
    } question = {
        .header = {.nlmsg_len = sizeof(question), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .request = {.sdiag_family = (uint8_t)pair->source.any.sa_family,
                    .sdiag_protocol = IPPROTO_TCP,
                    .idiag_states = UINT32_MAX,
                    .id.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}};
    const struct timeval timeout = {.tv_sec = 2};
    put_address(&pair->source, &question.request.id.idiag_sport, question.request.id.idiag_src);
    put_address(&pair->target, &question.request.id.idiag_dport, question.request.id.idiag_dst);
    int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (netlink < 0)
        return false;
    setsockopt(netlink, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    bool answered =
        send(netlink, &question, sizeof(question), 0) == (ssize_t)sizeof(question) && receive_owner(netlink, owner);
    close(netlink);
    return answered;
}

// ---- /proc/net -----------------------------------------------------------------------------------------------------

// "0100007F:1F90": the words of the address as this machine holds them.
static void write_address(const union peer_address *address, char *text, size_t size)
{
    uint16_t port;
    uint32_t words[4];
    put_address(address, &port, words);
    if (address->any.sa_family == AF_INET)
        snprintf(text, size, "%08X:%04X", words[0], ntohs(port));
    else
        snprintf(text, size, "%08X%08X%08X%08X:%04X", words[0], words[1], words[2], words[3], ntohs(port));
}

static bool look_in_table(const struct pair *pair, struct owner *owner)
{
    char source[48], target[48], line[512], local[48], remote[48];
    bool found = false;
    FILE *table = fopen(pair->source.any.sa_family == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6", "re");
    write_address(&pair->source, source, sizeof(source));
    write_address(&pair->target, target, sizeof(target));
    while (table && !found && fgets(line, sizeof(line), table)) {
        unsigned user;
        unsigned long long inode;
        found = sscanf(line, "%*s %47s %47s %*s %*s %*s %*s %u %*s %llu", local, remote, &user, &inode) == 4 &&
                !strcmp(local, source) && !strcmp(remote, target);
        if (found)
            *owner = (struct owner){user, inode};
    }
    if (table)
        fclose(table);
    return found;
}

bool hs_peer__is_own(int fd)
{
    struct pair pair;
    struct owner owner;
    if (!take_pair(fd, &pair) || (!ask_kernel(&pair, &owner) && !look_in_table(&pair, &owner)))
        return false;
    return owner.inode && (!owner.user || owner.user == geteuid());
}
