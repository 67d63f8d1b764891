// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/secret_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check(const struct stat *status, const char *path, const char *what, struct hs_error *error)
{
    if (!S_ISREG(status->st_mode))
        return hs_error__set(error, EINVAL, "the %s %s is not a regular file", what, path);
    if (status->st_uid != geteuid() && status->st_uid != 0)
        return hs_error__set(error, EPERM, "the %s %s belongs to another user", what, path);
    if (status->st_mode & (S_IRWXG | S_IRWXO))
        return hs_error__set(error, EPERM, "other users have access to the %s %s; run 'chmod 600 %s'", what, path,
                             path);
    return 0;
}

static bool is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static ssize_t read_all(int fd, char *bytes, size_t size)
{
    size_t length = 0;
    while (length < size) {
        ssize_t part = read(fd, bytes + length, size - length);
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return -1;
        if (part == 0)
            break;
        length += (size_t)part;
    }
    return (ssize_t)length;
}

ssize_t hs_secret_file__read(const char *path, const char *what, char *bytes, size_t size, struct hs_error *error)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return hs_error__set(error, errno, "the %s %s cannot be read: %s", what, path, strerror(errno));
    int result = fstat(fd, &status) ? hs_error__set(error, errno, "the %s %s: %s", what, path, strerror(errno))
                                    : check(&status, path, what, error);
    ssize_t length = result ? -1 : read_all(fd, bytes, size);
    int problem = errno;
    close(fd);
    if (result)
        return result;
    if (length < 0)
        return hs_error__set(error, problem, "the %s %s cannot be read: %s", what, path, strerror(problem));
    // Bytes after this much white space are not read: it is for the caller to refuse longer files.
    while (length && length < (ssize_t)size && is_space(bytes[length - 1]))
        length--;
    return length;
}
