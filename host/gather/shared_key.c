// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/shared_key.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check(const struct stat *status, const char *path, struct hs_error *error)
{
    if (!S_ISREG(status->st_mode))
        return hs_error__set(error, EINVAL, "the key %s is not a regular file", path);
    if (status->st_uid != geteuid() && status->st_uid != 0)
        return hs_error__set(error, EPERM, "the key %s belongs to another user", path);
    if (status->st_mode & (S_IRWXG | S_IRWXO))
        return hs_error__set(error, EPERM, "the key %s can be used by others; 'chmod 600 %s' ends that", path, path);
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

int hs_shared_key__read(struct hs_shared_key *key, const char *path, struct hs_error *error)
{
    // Room to see that white space at the end is all that is too much.
    char bytes[HS_WIRE_SHARED_KEY_MAX + 64];
    struct stat status;
    key->length = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return hs_error__set(error, errno, "the key %s cannot be read: %s", path, strerror(errno));
    int result = fstat(fd, &status) ? hs_error__set(error, errno, "the key %s: %s", path, strerror(errno))
                                    : check(&status, path, error);
    ssize_t length = result ? -1 : read_all(fd, bytes, sizeof(bytes));
    int problem = errno;
    close(fd);
    if (result)
        return result;
    if (length < 0)
        return hs_error__set(error, problem, "the key %s cannot be read: %s", path, strerror(problem));
    // Bytes after this much white space are not read, so longer files are refused.
    while (length && length < (ssize_t)sizeof(bytes) && is_space(bytes[length - 1]))
        length--;
    if (length < HS_WIRE_SHARED_KEY_MIN || length > HS_WIRE_SHARED_KEY_MAX) {
        explicit_bzero(bytes, sizeof(bytes));
        return hs_error__set(error, EINVAL,
                             "the key %s has to have %d to %d bytes; 'head -c 32 /dev/urandom | base64' "
                             "makes one",
                             path, HS_WIRE_SHARED_KEY_MIN, HS_WIRE_SHARED_KEY_MAX);
    }
    memcpy(key->bytes, bytes, (size_t)length);
    key->length = (size_t)length;
    hs_announce__derive(key->announcements, key->bytes, key->length);
    explicit_bzero(bytes, sizeof(bytes));
    return 0;
}

void hs_shared_key__forget(struct hs_shared_key *key)
{
    explicit_bzero(key, sizeof(*key));
}
