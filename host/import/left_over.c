// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/left_over.h"

#include "host/store/attach.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

void hs_left_over__hold(int directory_fd)
{
    // On file systems without locks, no process gets one, and unfinished stores are not removed.
    flock(directory_fd, LOCK_EX | LOCK_NB);
}

static bool is_named_so(const char *name, const char *final)
{
    size_t length = strlen(final);
    return !strncmp(name, final, length) && name[length] == '.' && strlen(name + length) == strlen(HS_MAKING_SUFFIX) &&
           strspn(name + length + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") ==
               strlen(HS_MAKING_SUFFIX) - 1;
}

// A directory without files may belong to a process that is about to lock it.
static int lock_left_over(int parent_fd, const char *name)
{
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    struct stat status;
    if (!fstat(fd, &status) && status.st_uid == geteuid() && !faccessat(fd, "nodes", F_OK, AT_SYMLINK_NOFOLLOW) &&
        !flock(fd, LOCK_EX | LOCK_NB))
        return fd;
    close(fd);
    return -1;
}

void hs_left_over__free(struct hs_left_over *left, bool removed)
{
    hs_resume__close(left->resume);
    if (left->resume && removed)
        hs_store__remove(left->path);
    if (left->resume)
        close(left->fd);
    left->resume = NULL;
}

static void consider(struct hs_left_over *left, const struct hs_left_over *other)
{
    bool better = other->resume && (!left->resume || hs_resume__time(other->resume) > hs_resume__time(left->resume));
    if (!better) {
        hs_resume__close(other->resume);
        hs_store__remove(other->path);
        close(other->fd);
        return;
    }
    hs_left_over__free(left, true);
    *left = *other;
}

void hs_left_over__take(struct hs_left_over *left, const char *final, const struct hs_trace *trace)
{
    struct hs_left_over other;
    char parent[PATH_MAX];
    left->resume = NULL;
    const char *slash = strrchr(final, '/'), *name = slash ? slash + 1 : final;
    if (snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - final + 1) : 1, slash ? final : ".") >=
        (int)sizeof parent)
        return;
    DIR *directory = opendir(parent);
    for (const struct dirent *entry; directory && (entry = readdir(directory));) {
        if (!is_named_so(entry->d_name, name) || snprintf(other.path, sizeof other.path, "%.*s%s", (int)(name - final),
                                                          final, entry->d_name) >= (int)sizeof other.path)
            continue;
        other.fd = lock_left_over(dirfd(directory), entry->d_name);
        if (other.fd < 0)
            continue;
        other.resume = trace ? hs_resume__open_partial(other.path, trace) : NULL;
        consider(left, &other);
    }
    if (directory)
        closedir(directory);
}
