// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/sent_dumps.h"

#include "host/gather/dump_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Changes of a folder within this time may have the same time.
enum { QUIET_SECONDS = 2 };

bool hs_sent_dumps__is_trace(const char *name)
{
    const char *suffix = strrchr(name, '.');
    return suffix && !strcmp(suffix, ".dat");
}

static uint64_t packed(uint64_t count, uint32_t highest)
{
    return count << 32 | highest;
}

// What is in the folder: all, and up to the number `until`.
struct counted {
    uint64_t all, lower;
    uint32_t highest;
    bool is_unsettled;
};

static bool is_settled(const char *name)
{
    return hs_dump_file__is_one(name) && *name != '.';
}

static uint32_t number_of(const char *name)
{
    return (uint32_t)strtoul(name, NULL, 10);
}

static struct counted count(DIR *folder, uint32_t until)
{
    struct counted counted = {0};
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        const char *name = entry->d_name;
        if (is_settled(name)) {
            const uint32_t number = number_of(name);
            counted.all++;
            counted.lower += number <= until;
            counted.highest = number > counted.highest ? number : counted.highest;
        } else if (hs_dump_file__is_one(name)) {
            counted.is_unsettled = true;
        }
    }
    return counted;
}

// Files that come between both readings are not counted, and taken again.
static int take_new(DIR *folder, uint64_t offset, int (*take)(void *context, const char *name), void *context,
                    struct hs_sent_dumps_state *state)
{
    const struct counted counted = count(folder, (uint32_t)offset);
    const bool all = !offset || packed(counted.lower, (uint32_t)offset) != offset;
    int failed = 0;
    rewinddir(folder);
    for (const struct dirent *entry = readdir(folder); entry && !failed; entry = readdir(folder))
        if (is_settled(entry->d_name) && (all || number_of(entry->d_name) > (uint32_t)offset))
            failed = take(context, entry->d_name);
    if (failed)
        return failed;
    state->offset = packed(counted.all, counted.highest);
    state->is_moving = counted.is_unsettled;
    return 0;
}

static bool is_unchanged(const struct timespec *before, const struct stat *status)
{
    return before->tv_sec && before->tv_sec == status->st_mtim.tv_sec && before->tv_nsec == status->st_mtim.tv_nsec;
}

int hs_sent_dumps__list(int directory, const char *folder, struct hs_sent_dumps_state *state,
                        int (*take)(void *context, const char *name), void *context)
{
    struct stat status;
    struct timespec now;
    int fd = openat(directory, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status)) {
        int failed = -errno;
        if (fd >= 0)
            close(fd);
        return failed;
    }
    DIR *entries = is_unchanged(&state->changed, &status) ? NULL : fdopendir(fd);
    if (!entries) {
        int failed = is_unchanged(&state->changed, &status) ? 0 : -errno;
        close(fd);
        return failed;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    int failed = take_new(entries, state->offset, take, context, state);
    closedir(entries);
    if (failed)
        return failed;
    // A time that is still to come says nothing.
    const bool quiet = now.tv_sec < status.st_mtim.tv_sec || now.tv_sec > status.st_mtim.tv_sec + QUIET_SECONDS;
    state->changed = quiet ? status.st_mtim : (struct timespec){0};
    state->is_moving |= !quiet;
    return 0;
}
