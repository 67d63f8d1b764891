// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/sysroot.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_LINKS 40 // what Linux follows

struct sysroot_walk {
    char *to; // resolved so far: the root, then components that are no links
    size_t size;
    size_t length;
    size_t root_length;
    char rest[2 * PATH_MAX]; // what is still to be resolved
    unsigned links;
};

static int start(struct sysroot_walk *walk, const char *root, const char *path)
{
    walk->length = strlen(root);
    while (walk->length && root[walk->length - 1] == '/')
        walk->length--;
    walk->root_length = walk->length;
    if (walk->length >= walk->size || strlen(path) >= PATH_MAX)
        return -ENAMETOOLONG;
    memcpy(walk->to, root, walk->length);
    walk->to[walk->length] = 0;
    strcpy(walk->rest, path);
    return 0;
}

static void drop_component(struct sysroot_walk *walk)
{
    while (walk->length > walk->root_length && walk->to[--walk->length] != '/')
        continue;
    walk->to[walk->length] = 0;
}

// Puts the target of the link that was just appended before what is still to be resolved.
static int follow(struct sysroot_walk *walk)
{
    char target[PATH_MAX];
    char rest[PATH_MAX];
    ssize_t length = readlink(walk->to, target, sizeof(target) - 1);
    if (length < 0)
        return -errno;
    target[length] = 0;
    if (++walk->links > MOST_LINKS)
        return -ELOOP;
    if (strlen(walk->rest) >= sizeof(rest))
        return -ENAMETOOLONG;
    strcpy(rest, walk->rest);
    snprintf(walk->rest, sizeof(walk->rest), "%s/%s", target, rest);
    if (target[0] == '/')
        walk->length = walk->root_length;
    else
        drop_component(walk);
    walk->to[walk->length] = 0;
    return 0;
}

static int append(struct sysroot_walk *walk, const char *component, size_t length)
{
    struct stat status;
    if (walk->length + 1 + length >= walk->size)
        return -ENAMETOOLONG;
    walk->to[walk->length] = '/';
    memcpy(walk->to + walk->length + 1, component, length);
    walk->length += 1 + length;
    walk->to[walk->length] = 0;
    return lstat(walk->to, &status) ? -errno : S_ISLNK(status.st_mode);
}

// Resolves the first component of the rest; 1 when there is none.
static int step(struct sysroot_walk *walk)
{
    char component[NAME_MAX + 1];
    size_t skipped = strspn(walk->rest, "/");
    size_t length = strcspn(walk->rest + skipped, "/");
    if (!length)
        return 1;
    if (length > NAME_MAX)
        return -ENAMETOOLONG;
    memcpy(component, walk->rest + skipped, length);
    component[length] = 0;
    const char *rest = walk->rest + skipped + length;
    memmove(walk->rest, rest, strlen(rest) + 1);
    if (!strcmp(component, "."))
        return 0;
    if (!strcmp(component, "..")) {
        drop_component(walk);
        return 0;
    }
    int is_link = append(walk, component, length);
    return is_link > 0 ? follow(walk) : is_link;
}

int hs_sysroot__resolve(const char *root, const char *path, char *to, size_t size)
{
    struct sysroot_walk walk = {.to = to, .size = size};
    int result = start(&walk, root, path);
    while (!result)
        result = step(&walk);
    if (result == 1 && !walk.length)
        return size > 1 ? (strcpy(to, "/"), 0) : -ENAMETOOLONG;
    return result == 1 ? 0 : result;
}
