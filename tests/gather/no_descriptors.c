// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Preloaded: the first FAILURES connections to a socket in a folder find no descriptor. The file TEST_SHORTAGE then
// says how many milliseconds there were between the first and the last.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FAILURES = 20 };

static long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

static void say(long long milliseconds)
{
    const char *path = getenv("TEST_SHORTAGE");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fprintf(file, "%lld\n", milliseconds);
    fclose(file);
}

int accept4(int fd, struct sockaddr *restrict address, socklen_t *restrict length, int flags)
{
    static int failures;
    static long long first;
    int domain = 0;
    socklen_t size = sizeof(domain);
    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
    if (domain != AF_UNIX || failures == FAILURES)
        return (int)syscall(SYS_accept4, fd, address, length, flags);
    if (!failures++)
        first = now();
    if (failures == FAILURES)
        say(now() - first);
    errno = EMFILE;
    return -1;
}
