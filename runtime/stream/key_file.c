// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/stream/key_file.h"

#include "arch/system.h"
#include "format/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

static bool is_white(uint8_t byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static long check_file(int fd)
{
    struct hs_file_status status;
    long result = hs_system_status(fd, &status);
    if (result != 0)
        return result;
    if (!S_ISREG(status.mode))
        return -EINVAL;
    if (status.user != 0 && status.user != (uint32_t)HS_SYSTEM0(HS_KERNEL_GETEUID))
        return -EPERM;
    return status.mode & (S_IRWXG | S_IRWXO) ? -EACCES : 0;
}

// Until `size` bytes are there or the file ends.
static long read_bytes(int fd, uint8_t *to, uint32_t size)
{
    uint32_t length = 0;
    while (length < size) {
        long got = hs_system_read(fd, to + length, size - length);
        if (got < 0 && got != -EINTR)
            return got;
        if (got == 0)
            break;
        length += got < 0 ? 0 : (uint32_t)got;
    }
    return length;
}

// Behind the longest key there may be white space.
static long check_rest(int fd)
{
    uint8_t rest[64];
    long length = read_bytes(fd, rest, sizeof rest);
    long result = length == (long)sizeof rest ? -EMSGSIZE : length < 0 ? length : 0;
    for (long i = 0; i < length; i++)
        if (!is_white(rest[i]))
            result = -EMSGSIZE;
    hs_wire__wipe(rest, sizeof rest);
    return result;
}

static long without_white_end(const uint8_t *key, long length)
{
    while (length > 0 && is_white(key[length - 1]))
        length--;
    return length < HS_WIRE_SHARED_KEY_MIN ? -EMSGSIZE : length;
}

static long read_key(int fd, uint8_t *key, uint32_t size)
{
    long result = check_file(fd);
    if (result == 0)
        result = read_bytes(fd, key, size);
    long rest = result == (long)size ? check_rest(fd) : 0;
    if (result < 0 || rest < 0)
        return result < 0 ? result : rest;
    return without_white_end(key, result);
}

long hs_key_file__read(const char *path, uint8_t *key, uint32_t size)
{
    long fd = hs_system_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    long length = fd < 0 ? fd : read_key((int)fd, key, size);
    uint32_t kept = length < 0 ? 0 : (uint32_t)length;
    hs_wire__wipe(key + kept, size - kept);
    if (fd >= 0)
        hs_system_close((int)fd);
    return length;
}
