// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The dumps of sampled processes. What comes is appended to a file of the stream, as with every trace, so that it can
// be gone on with at any byte. When a dump is whole there it becomes a file of its own, NUMBER.KIND.heap in the
// stream's folder, and gives its room in the stream's file back, which then has a hole there and its length still.
#include "host/gather/traces_private.h"

#include "format/chunk.h"
#include "format/crc32c.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEW_NAME ".heapsonde-new"

// A file costs more than its bytes.
enum { MOST_DUMPS = 65536, BUFFER = 65536 };

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

// ---- copying --------------------------------------------------------------------------------------------------------

static bool write_all(int fd, const uint8_t *bytes, size_t length)
{
    while (length) {
        ssize_t part = write(fd, bytes, length);
        if (part < 0 && errno == EINTR)
            continue;
        if (part <= 0)
            return false;
        bytes += part;
        length -= (size_t)part;
    }
    return true;
}

enum copied { COPIED, DAMAGED, FULL };

static enum copied copy_payload(int from, uint64_t at, const struct hs_chunk_header *chunk, int to, uint8_t *buffer)
{
    uint32_t crc = 0;
    for (uint32_t left = chunk->stored_length; left;) {
        size_t part = left < BUFFER ? left : BUFFER;
        if (pread(from, buffer, part, (off_t)at) != (ssize_t)part)
            return DAMAGED;
        if (!write_all(to, buffer, part))
            return FULL;
        crc = hs_crc32c(crc, buffer, part);
        at += part;
        left -= (uint32_t)part;
    }
    return crc == chunk->payload_crc ? COPIED : DAMAGED;
}

// The chunk at *at, which ends at or before the dump's end; *at is behind it then.
static bool next_chunk(int from, uint64_t *at, const struct hs_watched_dump *dump, struct hs_chunk_header *chunk)
{
    uint8_t bytes[HS_CHUNK_HEADER_SIZE];
    if (*at >= dump->end || pread(from, bytes, sizeof(bytes), (off_t)*at) != (ssize_t)sizeof(bytes) ||
        hs_chunk_read(bytes, chunk) || hs_chunk_size(chunk->stored_length) > dump->end - *at)
        return false;
    *at += hs_chunk_size(chunk->stored_length);
    return true;
}

static enum copied copy_dump(int from, const struct hs_watched_dump *dump, int to)
{
    static _Thread_local uint8_t buffer[BUFFER];
    struct hs_chunk_header chunk;
    enum copied copied = COPIED;
    for (uint64_t at = dump->begin, begin = at; copied == COPIED && next_chunk(from, &at, dump, &chunk); begin = at)
        if (chunk.kind == HS_CHUNK_DUMP)
            copied = copy_payload(from, begin + HS_CHUNK_HEADER_SIZE, &chunk, to, buffer);
    return copied;
}

// File systems without holes keep both.
static void give_back(int fd, const struct hs_watched_dump *dump)
{
    struct hs_chunk_header chunk;
    for (uint64_t at = dump->begin, begin = at; next_chunk(fd, &at, dump, &chunk); begin = at)
        if (chunk.kind == HS_CHUNK_DUMP && chunk.stored_length)
            fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(begin + HS_CHUNK_HEADER_SIZE),
                      (off_t)chunk.stored_length);
}

// ---- storing --------------------------------------------------------------------------------------------------------

static char letter_of(uint32_t kind)
{
    return kind && kind < 128 && strchr("fimu", (int)kind) ? (char)kind : 'x';
}

// On the disk before it has its name: from then on there is no other copy.
static enum copied write_file(int folder, int from, const struct hs_watched_dump *dump)
{
    char name[32];
    snprintf(name, sizeof(name), "%u.%c.heap", dump->number, letter_of(dump->kind));
    unlinkat(folder, NEW_NAME, 0);
    int fd = openat(folder, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return FULL;
    enum copied copied = copy_dump(from, dump, fd);
    if (copied == COPIED && fdatasync(fd))
        copied = FULL;
    close(fd);
    // A hole already, of which only the journal did not get to know.
    if (copied == DAMAGED && !faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW)) {
        unlinkat(folder, NEW_NAME, 0);
        return COPIED;
    }
    if (copied != COPIED || (!hs_trace_files__rename(folder, NEW_NAME, name) && errno != EEXIST)) {
        unlinkat(folder, NEW_NAME, 0);
        return copied == COPIED ? FULL : copied;
    }
    unlinkat(folder, NEW_NAME, 0);
    return COPIED;
}

static enum copied store(const struct hs_traces *traces, struct hs_gathered *trace, const struct hs_watched_dump *dump)
{
    int folder = open_folder(traces, trace);
    if (folder < 0)
        return FULL;
    enum copied copied = write_file(folder, trace->fd, dump);
    close(folder);
    return copied;
}

void hs_trace_dumps__take(void *context, const struct hs_watched_dump *dump)
{
    struct hs_details *details = context;
    struct hs_gathered *trace = details->trace;
    if (details->dump_failed)
        return;
    enum copied copied = trace->dumps < MOST_DUMPS ? store(details->traces, trace, dump) : DAMAGED;
    details->dump_failed = copied == FULL;
    if (details->dump_failed)
        return;
    trace->dumps += copied == COPIED;
    trace->walked = dump->end;
    hs_trace_journal__dumped(details->traces, trace);
    if (copied == COPIED)
        give_back(trace->fd, dump);
}

// ---- removing -------------------------------------------------------------------------------------------------------

static bool is_dump(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    return digits && name[digits] == '.' && name[digits + 1] && !strcmp(name + digits + 2, ".heap");
}

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
        if (is_dump(entry->d_name) || !strcmp(entry->d_name, NEW_NAME))
            unlinkat(fd, entry->d_name, 0);
    closedir(folder);
    unlinkat(traces->directory, name, AT_REMOVEDIR); // unless somebody has put something else there
}
