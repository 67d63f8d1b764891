// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/left_over.h"

#include "host/store/attach.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

void hs_left_over__hold(int directory_fd)
{
    // Where there are no locks nobody takes one, and what is left over stays.
    flock(directory_fd, LOCK_EX | LOCK_NB);
}

static bool is_named_so(const char *name, const char *final)
{
    size_t length = strlen(final);
    return !strncmp(name, final, length) && name[length] == '.' && strlen(name + length) == strlen(HS_MAKING_SUFFIX) &&
           strspn(name + length + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") ==
               strlen(HS_MAKING_SUFFIX) - 1;
}

// One without files may be that of somebody who is about to lock it.
static bool is_left_over(int parent_fd, const char *name)
{
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool left = !faccessat(fd, "nodes", F_OK, AT_SYMLINK_NOFOLLOW) && !flock(fd, LOCK_EX | LOCK_NB);
    close(fd);
    return left;
}

void hs_left_over__remove(const char *final)
{
    char parent[PATH_MAX], path[PATH_MAX];
    const char *slash = strrchr(final, '/'), *name = slash ? slash + 1 : final;
    if (snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - final + 1) : 1, slash ? final : ".") >=
        (int)sizeof parent)
        return;
    DIR *directory = opendir(parent);
    for (const struct dirent *entry; directory && (entry = readdir(directory));) {
        if (!is_named_so(entry->d_name, name) || !is_left_over(dirfd(directory), entry->d_name))
            continue;
        if (snprintf(path, sizeof path, "%.*s%s", (int)(name - final), final, entry->d_name) < (int)sizeof path)
            hs_store__remove(path);
    }
    if (directory)
        closedir(directory);
}
