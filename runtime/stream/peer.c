// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Source: the columns of /proc/net/tcp, Documentation/networking/proc_net_tcp.rst of Linux. A line is a socket; the
// other end's has our address as the remote one. Words of addresses are printed as this machine reads them.
#include "runtime/stream/peer.h"

#include "arch/system.h"
#include "runtime/text.h"

#include <netinet/in.h>
#include <sys/socket.h>

enum { BUFFER = 2048, ENDS = 128, COLUMNS_BEFORE_USER = 4 };

// The word that stands before an IPv4 address in IPv6, as this machine reads it.
static const union {
    uint8_t bytes[4];
    uint32_t word;
} mapped = {{0, 0, 0xff, 0xff}};

struct end {
    bool is_ipv4;
    uint16_t port;
    uint32_t words[4];
};

static bool find_end(long call, int socket, struct end *end)
{
    struct sockaddr_in6 address = {0};
    uint32_t length = sizeof address;
    const uint8_t *port = (const uint8_t *)&address.sin6_port; // the same place in both families
    if (HS_SYSTEM3(call, socket, &address, &length) != 0)
        return false;
    *end = (struct end){.port = (uint16_t)(port[0] << 8 | port[1])};
    if (address.sin6_family == AF_INET) {
        end->words[2] = mapped.word;
        __builtin_memcpy(&end->words[3], &((const struct sockaddr_in *)&address)->sin_addr, 4);
    } else {
        __builtin_memcpy(end->words, &address.sin6_addr, sizeof end->words);
    }
    end->is_ipv4 = !end->words[0] && !end->words[1] && end->words[2] == mapped.word;
    return true;
}

static void add_hex(struct hs_text *text, uint32_t number, int digits)
{
    while (digits-- > 0)
        hs_text__add_character(text, "0123456789ABCDEF"[number >> (4 * digits) & 15]);
}

static void add_end(struct hs_text *text, const struct end *end, bool in_ipv6)
{
    for (int i = in_ipv6 ? 0 : 3; i < 4; i++)
        add_hex(text, end->words[i], 8);
    hs_text__add_character(text, ':');
    add_hex(text, end->port, 4);
}

static const char *next_column(const char *at)
{
    while (*at && *at != ' ')
        at++;
    while (*at == ' ')
        at++;
    return at;
}

// A socket that is not accepted yet, or is closed, belongs to no process: it has no inode.
static bool owner_of(const char *line, const char *ends, uint64_t *user)
{
    while (*line == ' ')
        line++;
    line = next_column(line); // behind its number
    if (!hs_text__starts_with(line, ends))
        return false;
    for (int i = 0; i < 2 + COLUMNS_BEFORE_USER; i++)
        line = next_column(line);
    *user = hs_text__parse(&line, 10);
    line = next_column(next_column(line));
    return hs_text__parse(&line, 10) != 0;
}

static bool find_in_table(const char *path, const char *ends, uint64_t *user)
{
    char buffer[BUFFER];
    size_t length = 0;
    bool found = false;
    long fd = hs_system_open(path, O_RDONLY | O_CLOEXEC, 0), got;
    while (fd >= 0 && !found && (got = hs_system_read((int)fd, buffer + length, sizeof buffer - length)) > 0) {
        char *line = buffer, *end = buffer + length + got;
        for (char *at = buffer + length; at < end && !found; at++) {
            if (*at != '\n')
                continue;
            *at = 0;
            found = owner_of(line, ends, user);
            line = at + 1;
        }
        length = (size_t)(end - line) < sizeof buffer ? (size_t)(end - line) : 0;
        __builtin_memmove(buffer, line, length);
    }
    if (fd >= 0)
        hs_system_close((int)fd);
    return found;
}

static bool find_owner(const struct end *peer, const struct end *own, bool in_ipv6, uint64_t *user)
{
    char ends[ENDS];
    struct hs_text text;
    hs_text__start(&text, ends, sizeof ends);
    add_end(&text, peer, in_ipv6);
    hs_text__add_character(&text, ' ');
    add_end(&text, own, in_ipv6);
    hs_text__add_character(&text, ' ');
    return find_in_table(in_ipv6 ? "/proc/self/net/tcp6" : "/proc/self/net/tcp", ends, user);
}

bool hs_peer__is_trusted(int socket)
{
    struct end peer, own;
    uint64_t user;
    if (!find_end(SYS_getpeername, socket, &peer) || !find_end(SYS_getsockname, socket, &own))
        return false;
    if (!(peer.is_ipv4 && find_owner(&peer, &own, false, &user)) && !find_owner(&peer, &own, true, &user))
        return false;
    return user == 0 || user == (uint64_t)HS_SYSTEM0(HS_KERNEL_GETEUID);
}
