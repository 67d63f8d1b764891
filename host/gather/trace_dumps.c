// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The dumps of sampled processes. What comes is appended to a file of the stream, as with every trace, so that it can
// be gone on with at any byte. When a dump is whole there it is copied into a file of its own; once that is on
// the disk the file is called NUMBER.KIND.heap, in the stream's folder, and the dump gives its room in the stream's
// file back, which then has a hole there and its length still.
#include "host/gather/trace_dumps.h"
#include "host/gather/dump_file.h"

#include "host/gather/trace_journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// A file costs more than its bytes.
enum { MOST_DUMPS = 65536 };

void hs_trace_dumps__folder(const struct hs_gathered *trace, char name[HS_TRACES_FILE_NAME])
{
    size_t length = strlen(trace->file) - strlen(HS_TRACES_STREAM_SUFFIX);
    memcpy(name, trace->file, length);
    name[length] = 0;
}

static int open_folder(const struct hs_traces *traces, const struct hs_gathered *trace)
{
    char name[HS_TRACES_FILE_NAME];
    hs_trace_dumps__folder(trace, name);
    if (mkdirat(traces->directory, name, 0700) && errno != EEXIST)
        return -1;
    return openat(traces->directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static enum hs_dump_copied store(const struct hs_traces *traces, struct hs_gathered *trace,
                                 const struct hs_watched_dump *dump)
{
    int folder = open_folder(traces, trace);
    if (folder < 0)
        return HS_DUMP_FULL;
    enum hs_dump_copied copied = hs_dump_file__copy(folder, trace->fd, dump);
    close(folder);
    return copied;
}

void hs_trace_dumps__take(void *context, const struct hs_watched_dump *dump)
{
    struct hs_details *details = context;
    struct hs_gathered *trace = details->trace;
    if (details->dump_failed)
        return;
    enum hs_dump_copied copied = trace->dumps < MOST_DUMPS ? store(details->traces, trace, dump) : HS_DUMP_DAMAGED;
    details->dump_failed = copied == HS_DUMP_FULL;
    if (details->dump_failed)
        return;
    trace->dumps += copied == HS_DUMP_COPIED;
    trace->walked = dump->end;
    struct hs_unflushed_dump *added = malloc(sizeof(*added));
    details->dump_failed = !added;
    if (!added)
        return;
    *added = (struct hs_unflushed_dump){.dump = *dump, .number = trace->dumps, .is_file = copied == HS_DUMP_COPIED};
    if (trace->unflushed)
        trace->last_unflushed->next = added;
    else
        trace->unflushed = added;
    trace->last_unflushed = added;
    trace->dirty = true;
    hs_trace_registry__wake_writer(details->traces);
}

// ---- flushing -------------------------------------------------------------------------------------------------------

static bool flush_one(int folder, const struct hs_unflushed_dump *dump)
{
    return folder < 0 || !dump->is_file || hs_dump_file__settle(folder, &dump->dump);
}

static void note_flushed(struct hs_traces *traces, struct hs_gathered *trace, const struct hs_unflushed_dump *dump)
{
    pthread_mutex_lock(&trace->mutex);
    hs_trace_journal__dumped(traces, trace, dump->number, dump->dump.end);
    pthread_mutex_unlock(&trace->mutex);
    if (dump->is_file)
        hs_dump_file__give_back(trace->fd, &dump->dump);
}

static void put_back(struct hs_gathered *trace, struct hs_unflushed_dump *list)
{
    struct hs_unflushed_dump *last = list;
    while (last->next)
        last = last->next;
    pthread_mutex_lock(&trace->mutex);
    last->next = trace->unflushed;
    if (!trace->unflushed)
        trace->last_unflushed = last;
    trace->unflushed = list;
    trace->dirty = true; // it is tried again
    pthread_mutex_unlock(&trace->mutex);
}

void hs_trace_dumps__flush(struct hs_traces *traces, struct hs_gathered *trace)
{
    char name[HS_TRACES_FILE_NAME];
    pthread_mutex_lock(&trace->mutex);
    struct hs_unflushed_dump *list = trace->unflushed;
    trace->unflushed = trace->last_unflushed = NULL;
    if (list)
        hs_trace_dumps__folder(trace, name);
    pthread_mutex_unlock(&trace->mutex);
    int folder = list ? openat(traces->directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    while (list && flush_one(folder, list)) {
        struct hs_unflushed_dump *flushed = list;
        list = list->next;
        note_flushed(traces, trace, flushed);
        free(flushed);
    }
    if (folder >= 0)
        close(folder);
    if (list)
        put_back(trace, list);
}

// ---- removing -------------------------------------------------------------------------------------------------------

void hs_trace_dumps__remove(const struct hs_traces *traces, const struct hs_gathered *trace)
{
    char name[HS_TRACES_FILE_NAME];
    hs_trace_dumps__folder(trace, name);
    int fd = openat(traces->directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        if (hs_dump_file__is_one(entry->d_name))
            unlinkat(fd, entry->d_name, 0);
    closedir(folder);
    unlinkat(traces->directory, name, AT_REMOVEDIR); // unless there is something else in it
}
