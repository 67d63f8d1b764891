// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/find_trace.h"

#include "format/chunk.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct glob_text {
    char text[PATH_MAX];
    size_t length;
};

static void add(struct glob_text *to, char c)
{
    if (to->length + 1 < sizeof(to->text))
        to->text[to->length++] = c;
}

// Every placeholder becomes `*`: the header of a file says which process wrote it.
static void to_glob(struct glob_text *to, const char *pattern)
{
    *to = (struct glob_text){.length = 0};
    for (; *pattern; pattern++) {
        if (*pattern == '%' && pattern[1]) {
            pattern++;
            add(to, *pattern == '%' ? '%' : '*');
            continue;
        }
        if (strchr("*?[\\", *pattern))
            add(to, '\\');
        add(to, *pattern);
    }
}

static bool is_newer(const struct stat *status, const struct timespec *since)
{
    // File systems stamp with the coarse clock, which may lag by a tick.
    long long file = status->st_mtim.tv_sec * 1000LL + status->st_mtim.tv_nsec / 1000000;
    long long start = since->tv_sec * 1000LL + since->tv_nsec / 1000000;
    return file + 20 >= start;
}

struct find_trace_written {
    char *path;
    pid_t pid;
    uint64_t began; // CLOCK_MONOTONIC
    off_t size;
    bool runs;
};

// The recorder's lock lasts as long as its process. Its process id may be that of another namespace.
static bool is_locked(int fd)
{
    return flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
}

static bool read_written(struct find_trace_written *written, char *path, const struct timespec *since)
{
    struct stat status;
    struct hs_file_header header;
    uint8_t bytes[sizeof(struct hs_file_header)];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool readable = !fstat(fd, &status) && S_ISREG(status.st_mode) && is_newer(&status, since) &&
                    pread(fd, bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes);
    readable = readable && hs_file_header_read(bytes, &header) == HS_HEADER_GOOD;
    bool runs = readable && header.live.state == HS_STATE_RECORDING && is_locked(fd);
    close(fd);
    if (!readable)
        return false;
    *written = (struct find_trace_written){.path = path,
                                           .pid = (pid_t)header.pid,
                                           .began = header.start_monotonic_ns,
                                           .size = status.st_size,
                                           .runs = runs};
    return true;
}

static void add_other(struct hs_found_traces *found, const struct find_trace_written *other, off_t *largest)
{
    found->others++;
    found->unfinished |= other->runs;
    if (found->largest && other->size <= *largest)
        return;
    *largest = other->size;
    free(found->largest);
    found->largest = strdup(other->path);
}

// The last trace of a process. A process that executes other programs writes several.
static const struct find_trace_written *last_of(const struct find_trace_written *all, size_t count, pid_t pid)
{
    const struct find_trace_written *last = NULL;
    for (size_t i = 0; i < count; i++) {
        if (all[i].pid == pid && (!last || all[i].began > last->began))
            last = &all[i];
    }
    return last;
}

static pid_t choose_process(const struct find_trace_written *all, size_t count, pid_t started, bool largest)
{
    const struct find_trace_written *own = last_of(all, count, started), *first = NULL, *most = own;
    for (size_t i = 0; i < count; i++) {
        if (!first || all[i].began < first->began)
            first = &all[i];
        if (!most || all[i].size > most->size)
            most = &all[i];
    }
    if (largest && most)
        return most->pid;
    return own || !first ? started : first->pid;
}

static void choose(struct hs_found_traces *found, const struct find_trace_written *all, size_t count, pid_t started,
                   bool largest)
{
    const pid_t pid = choose_process(all, count, started, largest);
    const struct find_trace_written *own = last_of(all, count, pid), *first = last_of(all, count, started);
    off_t most = 0;
    for (size_t i = 0; i < count; i++) {
        if (all[i].pid != pid)
            add_other(found, &all[i], &most);
        else
            found->earlier += &all[i] != own;
    }
    found->path = own ? strdup(own->path) : NULL;
    found->is_anothers = own && pid != started;
    found->started = found->is_anothers && first ? strdup(first->path) : NULL;
}

// The paths are those of `names`, which the caller frees. NULL: out of memory.
static struct find_trace_written *read_all(const char *pattern, const struct timespec *since, glob_t *names,
                                           size_t *count)
{
    struct glob_text text;
    to_glob(&text, pattern);
    glob(text.text, GLOB_NOSORT, NULL, names);
    // If the name exists already, the recorder appends a suffix.
    size_t plain = names->gl_pathc, length = text.length;
    add(&text, '.');
    add(&text, '*');
    glob(text.text, GLOB_NOSORT | GLOB_APPEND, NULL, names);
    text.text[length] = 0;
    struct find_trace_written *all = calloc(names->gl_pathc + 1, sizeof(*all));
    *count = 0;
    for (size_t i = 0; all && i < names->gl_pathc; i++) {
        bool met = i >= plain && !fnmatch(text.text, names->gl_pathv[i], FNM_PATHNAME | FNM_PERIOD);
        *count += !met && read_written(&all[*count], names->gl_pathv[i], since);
    }
    return all;
}

void hs_find_traces(struct hs_found_traces *found, const char *pattern, pid_t pid, const struct timespec *since,
                    bool largest)
{
    glob_t names;
    size_t count;
    *found = (struct hs_found_traces){0};
    struct find_trace_written *all = read_all(pattern, since, &names, &count);
    choose(found, all, count, pid, largest);
    free(all);
    globfree(&names);
}

void hs_each_ended_trace(const char *pattern, const struct timespec *since, hs_trace_visit *visit, void *context)
{
    glob_t names;
    size_t count;
    struct find_trace_written *all = read_all(pattern, since, &names, &count);
    for (size_t i = 0; i < count; i++)
        if (!all[i].runs)
            visit(context, all[i].path);
    free(all);
    globfree(&names);
}

void hs_found_traces__free(struct hs_found_traces *found)
{
    free(found->path);
    free(found->started);
    free(found->largest);
}
