// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/served_folder.h"

#include "host/base/array.h"
#include "host/base/search.h"
#include "host/dump/series.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SUFFIX ".dat"

struct hs_served_entry {
    char *name;
    unsigned tries; // HS_SERVED_FOLDER_TRIES: it is not tried again
};

// The place of this name, or of the first one behind it.
static size_t find(const struct hs_served_folder *folder, const char *name)
{
    return HS_SEARCH(folder->count, i, strcmp(folder->entry[i].name, name) < 0);
}

static struct hs_served_entry *entry_of(struct hs_served_folder *folder, const char *name)
{
    const size_t at = find(folder, name);
    if (at < folder->count && !strcmp(folder->entry[at].name, name))
        return &folder->entry[at];
    char *copy = strdup(name);
    if (!copy || !HS_ARRAY_HAS_ROOM(folder->entry, folder->count, folder->room)) {
        free(copy);
        return NULL;
    }
    memmove(&folder->entry[at + 1], &folder->entry[at], (folder->count - at) * sizeof(*folder->entry));
    folder->entry[at] = (struct hs_served_entry){.name = copy};
    folder->count++;
    return &folder->entry[at];
}

// A folder of dumps becomes one when its first dump is complete.
static bool is_trace(const char *path, const char *name)
{
    const size_t length = strlen(name);
    struct stat status;
    if (*name == '.' || lstat(path, &status))
        return false;
    if (S_ISREG(status.st_mode))
        return length > strlen(SUFFIX) && !strcmp(name + length - strlen(SUFFIX), SUFFIX);
    return S_ISDIR(status.st_mode) && hs_dump_series__recognise(path);
}

static int look_at(struct hs_served_folder *folder, const char *name,
                   int (*open)(void *context, const char *path, bool last), void *context)
{
    char *path = NULL;
    int result = 0;
    if (asprintf(&path, "%s/%s", folder->path, name) < 0)
        return -ENOMEM;
    const size_t at = find(folder, name);
    const bool is_known = at < folder->count && !strcmp(folder->entry[at].name, name);
    struct hs_served_entry *entry = NULL;
    if ((is_known && folder->entry[at].tries < HS_SERVED_FOLDER_TRIES) || (!is_known && is_trace(path, name))) {
        entry = entry_of(folder, name);
        result = entry ? open(context, path, ++entry->tries == HS_SERVED_FOLDER_TRIES) : -ENOMEM;
    }
    if (entry && !result)
        entry->tries = HS_SERVED_FOLDER_TRIES;
    free(path);
    return result == -ENOMEM || result == -ECANCELED ? result : 0;
}

int hs_served_folder__look(struct hs_served_folder *folder, int (*open)(void *context, const char *path, bool last),
                           void *context)
{
    int result = 0;
    DIR *directory = opendir(folder->path);
    for (const struct dirent *entry; directory && !result && (entry = readdir(directory));)
        result = look_at(folder, entry->d_name, open, context);
    if (directory)
        closedir(directory);
    return result;
}

void hs_served_folder__free(struct hs_served_folder *folder)
{
    for (size_t i = 0; i < folder->count; i++)
        free(folder->entry[i].name);
    free(folder->entry);
    folder->entry = NULL;
    folder->count = folder->room = 0;
}
