// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/store/kept.h"

#include "format/crc32c.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x747065736b654848u
#define MOST  ((size_t)64 << 20)

struct start {
    uint64_t magic;
    uint32_t version; // of the store
    uint32_t crc;     // of this struct with crc 0, and of everything after it
    uint64_t count;   // bytes behind it
    uint64_t rows;
    struct hs_store_key key;
};

static uint32_t checksum(const struct start *start, const void *bytes)
{
    struct start plain = *start;
    plain.crc = 0;
    return hs_crc32c(hs_crc32c(0, &plain, sizeof plain), bytes, start->count);
}

static struct start start_for(const struct hs_store_head *head, const void *bytes, size_t count)
{
    struct start start = {
        .magic = MAGIC, .version = HS_STORE_VERSION, .count = count, .rows = head->rows, .key = head->key};
    start.crc = checksum(&start, bytes);
    return start;
}

static int read_all(int fd, void *to, size_t count)
{
    for (uint8_t *at = to; count;) {
        ssize_t got = read(fd, at, count);
        if (got <= 0)
            return got ? -errno : -EBADMSG;
        at += got;
        count -= (size_t)got;
    }
    return 0;
}

static int write_all(int fd, const void *from, size_t count)
{
    for (const uint8_t *at = from; count;) {
        ssize_t written = write(fd, at, count);
        if (written <= 0)
            return written ? -errno : -EIO;
        at += written;
        count -= (size_t)written;
    }
    return 0;
}

static int read_behind(int fd, const struct hs_store_head *head, const struct start *start, uint8_t **bytes)
{
    if (start->count > MOST)
        return -EBADMSG;
    *bytes = malloc(start->count + 1);
    if (!*bytes)
        return -ENOMEM;
    int failed = read_all(fd, *bytes, start->count);
    if (!failed) {
        const struct start expected = start_for(head, *bytes, start->count);
        failed = memcmp(&expected, start, sizeof expected) ? -EBADMSG : 0;
    }
    if (failed)
        free(*bytes);
    return failed;
}

int hs_kept__read(int directory_fd, const struct hs_store_head *head, uint8_t **bytes, size_t *count)
{
    struct start start;
    struct stat status;
    int fd = openat(directory_fd, HS_KEPT_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    int failed = fstat(fd, &status) || !S_ISREG(status.st_mode) ? -EBADMSG : read_all(fd, &start, sizeof start);
    if (!failed)
        failed = read_behind(fd, head, &start, bytes);
    close(fd);
    *count = failed ? 0 : start.count;
    return failed;
}

// If two processes write at once, one may rename the other's incomplete file; the checksum detects this. An existing
// file is not overwritten in place, because it may be a hard link to another file.
int hs_kept__write(int directory_fd, const struct hs_store_head *head, const void *bytes, size_t count)
{
    if (count > MOST)
        return -EFBIG;
    const struct start start = start_for(head, bytes, count);
    unlinkat(directory_fd, HS_KEPT_UNDER_WAY, 0);
    int fd = openat(directory_fd, HS_KEPT_UNDER_WAY, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    int failed = write_all(fd, &start, sizeof start);
    if (!failed)
        failed = write_all(fd, bytes, count);
    if (close(fd) && !failed)
        failed = -errno;
    if (!failed && renameat(directory_fd, HS_KEPT_UNDER_WAY, directory_fd, HS_KEPT_FILE))
        failed = -errno;
    if (failed)
        unlinkat(directory_fd, HS_KEPT_UNDER_WAY, 0);
    return failed;
}
