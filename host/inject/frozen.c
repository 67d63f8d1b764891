// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/frozen.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The line of /proc/PID/cgroup: "0::PATH" for version 2, "N:freezer:PATH" for version 1. The caller frees it; NULL:
// there is none.
static char *path_in(pid_t pid, bool is_second)
{
    char name[64], *line = NULL, *found = NULL;
    size_t room = 0;
    snprintf(name, sizeof name, "/proc/%d/cgroup", (int)pid);
    FILE *file = fopen(name, "re");
    while (file && !found && getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = 0;
        if (is_second ? !strcmp(line, "0:") : !strcmp(controllers, ":freezer"))
            found = strdup(path);
    }
    if (file)
        fclose(file);
    free(line);
    return found;
}

// A line of /proc/self/mountinfo: whether it is the hierarchy; then `root` is what of it is mounted, and `at` where.
static bool is_hierarchy(const char *line, bool is_second, char *root, char *at)
{
    char kind[16], options[256];
    const char *rest = strstr(line, " - ");
    return rest && sscanf(rest, " - %15s %*s %255s", kind, options) == 2 &&
           (is_second ? !strcmp(kind, "cgroup2") : !strcmp(kind, "cgroup") && strstr(options, "freezer")) &&
           sscanf(line, "%*s %*s %*s %255s %255s", root, at) == 2;
}

static bool says(const char *folder, const char *path, const char *file, const char *word)
{
    char name[PATH_MAX], line[64];
    bool found = false;
    snprintf(name, sizeof name, "%s%s/%s", folder, path, file);
    FILE *stream = fopen(name, "re");
    while (stream && !found && fgets(line, sizeof line, stream))
        found = !strncmp(line, word, strlen(word));
    if (stream)
        fclose(stream);
    return found;
}

static bool is_frozen_in(const char *path, bool is_second)
{
    char *line = NULL, root[256], at[256];
    size_t room = 0;
    bool found = false;
    FILE *file = fopen("/proc/self/mountinfo", "re");
    while (file && !found && getline(&line, &room, file) > 0) {
        if (!is_hierarchy(line, is_second, root, at))
            continue;
        const size_t length = strcmp(root, "/") ? strlen(root) : 0;
        if (strncmp(path, root, length) || strstr(path, "/.."))
            continue;
        found = is_second ? says(at, path + length, "cgroup.events", "frozen 1")
                          : says(at, path + length, "freezer.state", "FR");
    }
    if (file)
        fclose(file);
    free(line);
    return found;
}

bool hs_frozen__is(pid_t pid)
{
    bool found = false;
    for (int version = 1; version <= 2 && !found; version++) {
        char *path = path_in(pid, version == 2);
        found = path && is_frozen_in(path, version == 2);
        free(path);
    }
    return found;
}
