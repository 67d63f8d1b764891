// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/file_stamp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static bool is_store(const char *folder)
{
    char *head = NULL;
    const bool is = asprintf(&head, "%s/head", folder) > 0 && !access(head, F_OK);
    free(head);
    return is;
}

int hs_file_stamp__take(struct hs_file_stamp *stamp, const char *path)
{
    struct stat status;
    *stamp = (struct hs_file_stamp){0};
    if (stat(path, &status))
        return -errno;
    *stamp = (struct hs_file_stamp){status.st_dev, status.st_ino, status.st_size, status.st_mtim};
    if (S_ISDIR(status.st_mode) && is_store(path)) // its folder may be touched
        *stamp = (struct hs_file_stamp){.device = status.st_dev, .number = status.st_ino};
    return 0;
}

bool hs_file_stamp__is_same(const struct hs_file_stamp *one, const struct hs_file_stamp *other)
{
    return one->device == other->device && one->number == other->number && one->size == other->size &&
           one->modified.tv_sec == other->modified.tv_sec && one->modified.tv_nsec == other->modified.tv_nsec;
}

// The recorder's lock lasts as long as its process, and that of `gather` on its folder as well.
static bool is_locked(const char *path, int kind)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | kind);
    bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
    if (fd >= 0)
        close(fd);
    return locked;
}

bool hs_file_stamp__is_locked(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    const bool locked = is_locked(path, 0) || (folder && is_locked(folder, O_DIRECTORY));
    free(folder);
    return locked;
}
