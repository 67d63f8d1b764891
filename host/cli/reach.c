// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/reach.h"

#include "host/gather/address.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TIMEOUT_MS = 2000 };

static int connection_error(int fd)
{
    int error = 0;
    socklen_t length = sizeof(error);
    struct pollfd file = {.fd = fd, .events = POLLOUT};
    int ready = poll(&file, 1, TIMEOUT_MS);
    if (ready <= 0)
        return ready ? errno : ETIMEDOUT;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) ? errno : error;
}

int hs_reach(const char *address)
{
    struct hs_address found;
    struct hs_error error = {.message = ""};
    int count = hs_address__resolve(address, &found, 1, &error);
    if (count <= 0)
        return count ? -count : EADDRNOTAVAIL;
    int fd = socket(found.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    int problem = connect(fd, &found.any, found.length) ? errno : 0;
    if (problem == EINPROGRESS)
        problem = connection_error(fd);
    close(fd);
    return problem;
}
