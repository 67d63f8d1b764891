// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /proc/PID/net/tcp has the inodes of sockets that listen. The sender is a child that shares the program's memory, or a
// thread with descriptors of its own.
#include "host/ctl/listening.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_SOCKETS = 256, STATE_LISTENS = 0x0a, COMPARE_MEMORY = 1, COMPARE_DESCRIPTORS = 2 };

struct sockets {
    uint64_t inode[MOST_SOCKETS];
    uint16_t port[MOST_SOCKETS];
    unsigned count;
};

bool hs_listening__is_recorded(pid_t pid)
{
    char path[64], line[4096 + 128];
    bool found = false;
    snprintf(path, sizeof(path), "/proc/%ld/maps", (long)pid);
    FILE *maps = fopen(path, "re");
    while (maps && !found && fgets(line, sizeof(line), maps))
        found = strstr(line, "libheapsonde-trace") != NULL;
    if (maps)
        fclose(maps);
    return found;
}

static void read_sockets(struct sockets *sockets, pid_t pid, const char *protocol)
{
    char path[64], line[512];
    snprintf(path, sizeof(path), "/proc/%ld/net/%s", (long)pid, protocol);
    FILE *file = fopen(path, "re");
    while (file && sockets->count < MOST_SOCKETS && fgets(line, sizeof(line), file)) {
        unsigned port, state;
        unsigned long inode;
        if (sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*s %x %*s %*s %*s %*u %*u %lu", &port, &state, &inode) != 3 ||
            state != STATE_LISTENS)
            continue;
        sockets->port[sockets->count] = (uint16_t)port;
        sockets->inode[sockets->count++] = inode;
    }
    if (file)
        fclose(file);
}

static uint16_t port_of(const struct sockets *sockets, uint64_t inode)
{
    for (unsigned i = 0; i < sockets->count; i++)
        if (sockets->inode[i] == inode)
            return sockets->port[i];
    return 0;
}

// `folder` holds descriptors.
static uint16_t find_in_descriptors(const struct sockets *sockets, const char *folder)
{
    uint16_t port = 0;
    DIR *descriptors = opendir(folder);
    for (struct dirent *entry; descriptors && !port && (entry = readdir(descriptors));) {
        char link[64];
        unsigned long inode;
        ssize_t length = readlinkat(dirfd(descriptors), entry->d_name, link, sizeof(link) - 1);
        link[length > 0 ? length : 0] = 0;
        if (sscanf(link, "socket:[%lu]", &inode) == 1)
            port = port_of(sockets, inode);
    }
    if (descriptors)
        closedir(descriptors);
    return port;
}

static uint16_t find_in_children(const struct sockets *sockets, pid_t pid, const char *task)
{
    char path[64];
    long child;
    uint16_t port = 0;
    snprintf(path, sizeof(path), "/proc/%ld/task/%.16s/children", (long)pid, task);
    FILE *children = fopen(path, "re");
    while (children && !port && fscanf(children, "%ld", &child) == 1) {
        if (syscall(SYS_kcmp, pid, child, COMPARE_MEMORY, 0, 0))
            continue;
        snprintf(path, sizeof(path), "/proc/%ld/fd", child);
        port = find_in_descriptors(sockets, path);
    }
    if (children)
        fclose(children);
    return port;
}

// The others are the program's, with sockets that it listens at itself.
static bool has_own_descriptors(pid_t pid, long thread)
{
    return syscall(SYS_kcmp, pid, thread, COMPARE_DESCRIPTORS, 0, 0) > 0;
}

uint16_t hs_listening__port(pid_t pid)
{
    struct sockets *sockets = calloc(1, sizeof(*sockets));
    char path[64];
    uint16_t port = 0;
    if (!sockets)
        return 0;
    read_sockets(sockets, pid, "tcp");
    read_sockets(sockets, pid, "tcp6");
    snprintf(path, sizeof(path), "/proc/%ld/task", (long)pid);
    DIR *tasks = opendir(path);
    for (struct dirent *entry; tasks && !port && (entry = readdir(tasks));) {
        if (entry->d_name[0] == '.')
            continue;
        port = find_in_children(sockets, pid, entry->d_name);
        if (!port && has_own_descriptors(pid, strtol(entry->d_name, NULL, 10))) {
            snprintf(path, sizeof(path), "/proc/%ld/task/%.16s/fd", (long)pid, entry->d_name);
            port = find_in_descriptors(sockets, path);
        }
    }
    if (tasks)
        closedir(tasks);
    free(sockets);
    return port;
}
