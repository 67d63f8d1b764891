// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Whose socket the other end of a connection is, as the kernel says it and as /proc/net does.
#include "host/server/peer.h"
#include "tests/suite.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

// The kernel's answer is lost: the table has to do.
static bool is_deaf;
ssize_t __real_recv(int fd, void *to, size_t size, int flags);
ssize_t __wrap_recv(int fd, void *to, size_t size, int flags);

ssize_t __wrap_recv(int fd, void *to, size_t size, int flags)
{
    return is_deaf ? -1 : __real_recv(fd, to, size, flags);
}

static struct sockaddr_storage address;
static socklen_t length;

static int listening(int family)
{
    memset(&address, 0, sizeof(address));
    address.ss_family = (sa_family_t)family;
    length = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    if (family == AF_INET)
        ((struct sockaddr_in *)&address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else
        ((struct sockaddr_in6 *)&address)->sin6_addr = in6addr_loopback;
    int fd = socket(family, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) || listen(fd, 4) ||
        getsockname(fd, (struct sockaddr *)&address, &length)) {
        close(fd);
        return -1; // a machine without IPv6
    }
    return fd;
}

static int connected(void)
{
    int fd = socket(address.ss_family, SOCK_STREAM, 0);
    ck_assert(fd >= 0 && !connect(fd, (struct sockaddr *)&address, length));
    return fd;
}

static void check_family(int family)
{
    char byte;
    int door = listening(family);
    if (door < 0)
        return;
    int client = connected(), server = accept(door, NULL, NULL);
    ck_assert(hs_peer__is_own(server) && hs_peer__is_own(client));
    // A socket that nobody has any more is nobody's, although the kernel then says 0.
    ck_assert_int_eq(write(client, "x", 1), 1);
    close(client);
    ck_assert(read(server, &byte, 1) == 1 && read(server, &byte, 1) == 0);
    ck_assert(!hs_peer__is_own(server));
    close(server);
    close(door);
}

START_TEST(own_sockets)
{
    is_deaf = _i;
    check_family(AF_INET);
    check_family(AF_INET6);
    ck_assert(!hs_peer__is_own(0) && !hs_peer__is_own(-1));
}
END_TEST

START_TEST(other_users)
{
    is_deaf = _i;
    int door = listening(AF_INET), ends[2];
    ck_assert_int_ge(door, 0);
    ck_assert_int_eq(pipe(ends), 0);
    pid_t other = fork();
    if (!other) {
        char byte;
        close(ends[1]);
        if (setgid(NOBODY) || setuid(NOBODY))
            _exit(2);
        int client = socket(AF_INET, SOCK_STREAM, 0);
        bool failed = connect(client, (struct sockaddr *)&address, length) != 0;
        _exit(failed || read(ends[0], &byte, 1) != 0); // until the other end is closed
    }
    int server = accept(door, NULL, NULL), status;
    ck_assert(!hs_peer__is_own(server));
    close(ends[1]);
    ck_assert(waitpid(other, &status, 0) == other && !status);
    close(server);
    close(door);
    close(ends[0]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("server_peer");
    TCase *tests = tcase_create("server_peer");
    tcase_add_loop_test(tests, own_sockets, 0, 2);
    if (!geteuid()) // nobody else can become another user
        tcase_add_loop_test(tests, other_users, 0, 2);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
