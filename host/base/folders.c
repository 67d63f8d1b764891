// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/folders.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct folder {
    struct folder *next;
    char path[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct folder *left;

static bool is_in_use(const char *path)
{
    return rmdir(path) && (errno == ENOTEMPTY || errno == EEXIST || errno == EBUSY);
}

// The next three are called under the lock. Without memory the folder stays.
static void note(const char *path)
{
    struct folder *folder = malloc(sizeof(*folder) + strlen(path) + 1);
    if (!folder)
        return;
    strcpy(folder->path, path);
    folder->next = left;
    left = folder;
}

static void forget(struct folder **at)
{
    struct folder *folder = *at;
    *at = folder->next;
    free(folder);
}

// A folder that is made again later is not one of those that were left.
static void forget_path(const char *path)
{
    for (struct folder **at = &left; *at;)
        if (strcmp((*at)->path, path))
            at = &(*at)->next;
        else
            forget(at);
}

void hs_folders__remove(const char *path)
{
    pthread_mutex_lock(&lock);
    forget_path(path);
    if (is_in_use(path))
        note(path);
    pthread_mutex_unlock(&lock);
}

void hs_folders__sweep(void)
{
    pthread_mutex_lock(&lock);
    for (struct folder **at = &left; *at;)
        if (is_in_use((*at)->path))
            at = &(*at)->next;
        else
            forget(at);
    pthread_mutex_unlock(&lock);
}
