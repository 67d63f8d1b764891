// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/store/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool hs_user__is_trusted(uid_t user)
{
    return !user || user == geteuid();
}

// Nobody else can exchange a link of ours where folders are not theirs.
static int open_unless_planted(const char *name, int flags)
{
    char path[PATH_MAX];
    struct stat link;
    size_t length = strlen(name);
    while (length > 1 && name[length - 1] == '/') // it would have the link followed
        length--;
    if (length >= sizeof(path))
        return -ENAMETOOLONG;
    memcpy(path, name, length);
    path[length] = 0;
    int fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        return fd;
    int problem = errno;
    if (lstat(path, &link) || !S_ISLNK(link.st_mode))
        return -problem;
    if (!hs_user__is_trusted(link.st_uid))
        return -ELOOP;
    fd = open(path, flags | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int hs_folder__open(const char *path, mode_t mode)
{
    if (mkdir(path, mode) && errno != EEXIST)
        return -errno;
    return open_unless_planted(path, O_RDONLY | O_DIRECTORY);
}

const char *hs_folder__problem(int failed)
{
    return failed == -ELOOP ? "a link of another user, which is not followed" : strerror(-failed);
}

int hs_special_file__open(const char *path)
{
    return open_unless_planted(path, O_WRONLY | O_NOCTTY);
}
