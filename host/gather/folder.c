// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/folder.h"

#include "format/chunk.h"
#include "host/base/array.h"
#include "host/base/search.h"
#include "host/gather/trace_journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".dat"

// ---- files ---------------------------------------------------------------------------------------------------------

static bool read_header(struct hs_folder_trace *trace, int directory, const char *name)
{
    struct hs_file_header header;
    uint8_t bytes[sizeof(struct hs_file_header)];
    struct stat status;
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    bool good = fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode) &&
                pread(fd, bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes) &&
                hs_file_header_read(bytes, &header) == HS_HEADER_GOOD;
    if (fd >= 0)
        close(fd);
    if (!good)
        return false;
    trace->pid = header.pid;
    trace->began = header.start_realtime_ns;
    trace->ended = header.live.state != HS_STATE_RECORDING;
    memcpy(trace->id, bytes + offsetof(struct hs_file_header, trace_id), sizeof(trace->id));
    return true;
}

// Of DATE_TIME_PID_NAME_ID.dat; the name may hold underscores.
static char *program_in(const char *name)
{
    const char *at = name;
    for (int i = 0; i < 3 && at; i++)
        at = strchr(at + (i > 0), '_');
    const char *end = strrchr(name, '_');
    return at && end > at ? strndup(at + 1, (size_t)(end - at) - 1) : strdup("");
}

static void free_trace(struct hs_folder_trace *trace)
{
    free(trace->path);
    free(trace->program);
    free(trace->device);
}

static int add(struct hs_folder *folder, size_t *room, struct hs_folder_trace trace)
{
    if (!trace.path || !trace.program || !trace.device || !HS_ARRAY_HAS_ROOM(folder->trace, folder->count, *room)) {
        free_trace(&trace);
        return -ENOMEM;
    }
    folder->trace[folder->count++] = trace;
    return 0;
}

static int read_files(struct hs_folder *folder, DIR *directory, const char *path)
{
    size_t room = 0;
    int result = 0;
    for (const struct dirent *entry = readdir(directory); entry && !result; entry = readdir(directory)) {
        struct hs_folder_trace trace = {.ended = false};
        const size_t length = strlen(entry->d_name);
        if (length < strlen(SUFFIX) || strcmp(entry->d_name + length - strlen(SUFFIX), SUFFIX) != 0 ||
            !read_header(&trace, dirfd(directory), entry->d_name))
            continue;
        if (asprintf(&trace.path, "%s/%s", path, entry->d_name) < 0)
            trace.path = NULL;
        trace.program = program_in(entry->d_name);
        trace.device = strdup("");
        result = add(folder, &room, trace);
    }
    return result;
}

// ---- the journal ---------------------------------------------------------------------------------------------------

static int compare_ids(const void *left, const void *right)
{
    const struct hs_folder_trace *a = left, *b = right;
    return memcmp(a->id, b->id, HS_TRACE_ID_SIZE);
}

// The place of the first trace with this id, or with one behind it, of those sorted by it.
static size_t find(const struct hs_folder *folder, const uint8_t id[HS_TRACE_ID_SIZE])
{
    return HS_SEARCH(folder->count, i, memcmp(folder->trace[i].id, id, HS_TRACE_ID_SIZE) < 0);
}

static void take_line(void *context, enum hs_trace_journal_kind kind, const uint8_t id[HS_TRACE_ID_SIZE], char *text)
{
    const struct hs_folder *folder = context;
    for (size_t i = find(folder, id); i < folder->count; i++) {
        struct hs_folder_trace *trace = &folder->trace[i];
        if (memcmp(trace->id, id, HS_TRACE_ID_SIZE) != 0)
            return;
        trace->ended = trace->ended || kind == HS_TRACE_ENDED;
        char *device = kind == HS_TRACE_BEGAN ? strdup(text) : NULL;
        if (!device)
            continue;
        free(trace->device);
        trace->device = device;
    }
}

static int compare(const void *left, const void *right)
{
    const struct hs_folder_trace *a = left, *b = right;
    if (a->ended != b->ended)
        return a->ended ? 1 : -1;
    if (a->began != b->began)
        return a->began > b->began ? -1 : 1;
    return strcmp(a->path, b->path);
}

// ---- all -----------------------------------------------------------------------------------------------------------

int hs_folder__read(struct hs_folder *folder, const char *path, struct hs_error *error)
{
    *folder = (struct hs_folder){0};
    DIR *directory = opendir(path);
    if (!directory)
        return hs_error__set(error, errno, "%s: %s", path, strerror(errno));
    int result = read_files(folder, directory, path);
    if (folder->count)
        qsort(folder->trace, folder->count, sizeof(*folder->trace), compare_ids);
    if (!result)
        hs_trace_journal__read(dirfd(directory), take_line, folder);
    closedir(directory);
    if (result) {
        hs_folder__free(folder);
        return hs_error__set(error, ENOMEM, "%s: out of memory", path);
    }
    if (folder->count)
        qsort(folder->trace, folder->count, sizeof(*folder->trace), compare);
    return 0;
}

void hs_folder__free(struct hs_folder *folder)
{
    for (size_t i = 0; i < folder->count; i++)
        free_trace(&folder->trace[i]);
    free(folder->trace);
    *folder = (struct hs_folder){0};
}

bool hs_folder_trace__is(const struct hs_folder_trace *trace, const char *text)
{
    char pid[16];
    snprintf(pid, sizeof(pid), "%u", (unsigned)trace->pid);
    return !strcmp(trace->device, text) || !strcmp(trace->program, text) || !strcmp(pid, text);
}
