// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A store's folder has the time of its last use as the time of its last change. Who has a store open holds a shared
// lock on its folder (host/store/store.c), and who makes one an exclusive lock (host/import/left_over.h).
#include "host/import/cache.h"

#include "host/base/array.h"
#include "host/base/path.h"
#include "host/import/import.h"
#include "host/store/attach.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t most_bytes = 2ull << 30;

struct cached_store {
    char name[NAME_MAX + 1];
    struct timespec used;
    uint64_t bytes;
};

bool hs_cache__folder(char *path, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (cache && *cache == '/')
        length = snprintf(path, size, "%s/heapsonde", cache);
    else if (home && *home == '/')
        length = snprintf(path, size, "%s/.cache/heapsonde", home);
    if (length < 0 || length >= (int)size)
        return false;
    char *last = strrchr(path, '/');
    *last = 0;
    mkdir(path, 0700);
    *last = '/';
    mkdir(path, 0700);
    return true;
}

void hs_cache__use(const char *directory)
{
    utimensat(AT_FDCWD, directory, NULL, 0);
}

static uint64_t bytes_in(int folder_fd, const char *name)
{
    struct stat status;
    uint64_t bytes = 0;
    int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    for (const struct dirent *entry; directory && (entry = readdir(directory));)
        if (!fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) && S_ISREG(status.st_mode))
            bytes += (uint64_t)status.st_blocks * 512;
    if (directory)
        closedir(directory);
    else if (fd >= 0)
        close(fd);
    return bytes;
}

// Also unfinished stores, and those that another process began to remove.
static bool is_store(int folder_fd, const char *name, struct cached_store *store)
{
    struct stat status;
    if (!strstr(name, ".store") || fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(status.st_mode) ||
        status.st_uid != geteuid())
        return false;
    snprintf(store->name, sizeof store->name, "%s", name);
    store->used = status.st_mtim;
    store->bytes = bytes_in(folder_fd, name);
    return true;
}

// Those without room in the list remain.
static uint64_t list(DIR *folder, struct hs_array *stores)
{
    uint64_t sum = 0;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        struct cached_store store, *added;
        if (!is_store(dirfd(folder), entry->d_name, &store))
            continue;
        sum += store.bytes;
        added = hs_array__add(stores, sizeof store);
        if (added)
            *added = store;
    }
    return sum;
}

static int compare_uses(const void *left, const void *right)
{
    const struct cached_store *a = left, *b = right;
    if (a->used.tv_sec != b->used.tv_sec)
        return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    return (a->used.tv_nsec > b->used.tv_nsec) - (a->used.tv_nsec < b->used.tv_nsec);
}

// It is renamed first, so that nobody opens a part of it.
static bool remove_unused(int folder_fd, const char *folder, const char *name)
{
    char gone[PATH_MAX];
    int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool removed = fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB) &&
                   snprintf(gone, sizeof gone, "%s/%.100s.gone-%d", folder, name, (int)getpid()) < (int)sizeof gone &&
                   !renameat(folder_fd, name, folder_fd, hs_path__name(gone));
    if (removed)
        hs_store__remove(gone);
    if (fd >= 0)
        close(fd);
    return removed;
}

void hs_cache__limit(uint64_t bytes)
{
    most_bytes = bytes;
}

void hs_cache__prune(void)
{
    char path[PATH_MAX];
    struct hs_array stores = {0};
    DIR *folder = hs_cache__folder(path, sizeof path) ? opendir(path) : NULL;
    if (!folder)
        return;
    uint64_t sum = list(folder, &stores);
    const struct cached_store *store = stores.data;
    if (stores.count)
        qsort(stores.data, stores.count, sizeof *store, compare_uses);
    for (size_t i = 0; i < stores.count && sum > most_bytes; i++)
        if (remove_unused(dirfd(folder), path, store[i].name))
            sum -= store[i].bytes;
    free(stores.data);
    closedir(folder);
}
