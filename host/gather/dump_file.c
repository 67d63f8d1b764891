// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/dump_file.h"

#include "format/chunk.h"
#include "format/crc32c.h"
#include "host/gather/trace_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NEW_NAME ".heapsonde-new"

enum { BUFFER = 65536 };

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

static enum hs_dump_copied copy_payload(int from, uint64_t at, const struct hs_chunk_header *chunk, int to,
                                        uint8_t *buffer)
{
    uint32_t crc = 0;
    for (uint32_t left = chunk->stored_length; left;) {
        size_t part = left < BUFFER ? left : BUFFER;
        if (pread(from, buffer, part, (off_t)at) != (ssize_t)part)
            return HS_DUMP_DAMAGED;
        if (!write_all(to, buffer, part))
            return HS_DUMP_FULL;
        crc = hs_crc32c(crc, buffer, part);
        at += part;
        left -= (uint32_t)part;
    }
    return crc == chunk->payload_crc ? HS_DUMP_COPIED : HS_DUMP_DAMAGED;
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

static enum hs_dump_copied copy_dump(int from, const struct hs_watched_dump *dump, int to)
{
    static _Thread_local uint8_t buffer[BUFFER];
    struct hs_chunk_header chunk;
    enum hs_dump_copied copied = HS_DUMP_COPIED;
    for (uint64_t at = dump->begin, begin = at; copied == HS_DUMP_COPIED && next_chunk(from, &at, dump, &chunk);
         begin = at)
        if (chunk.kind == HS_CHUNK_DUMP)
            copied = copy_payload(from, begin + HS_CHUNK_HEADER_SIZE, &chunk, to, buffer);
    return copied;
}

void hs_dump_file__give_back(int fd, const struct hs_watched_dump *dump)
{
    struct hs_chunk_header chunk;
    for (uint64_t at = dump->begin, begin = at; next_chunk(fd, &at, dump, &chunk); begin = at)
        if (chunk.kind == HS_CHUNK_DUMP && chunk.stored_length)
            fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(begin + HS_CHUNK_HEADER_SIZE),
                      (off_t)chunk.stored_length);
}

static char letter_of(uint32_t kind)
{
    return kind && kind < 128 && strchr("fimu", (int)kind) ? (char)kind : 'x';
}

void hs_dump_file__name(const struct hs_watched_dump *dump, char name[HS_DUMP_FILE_NAME])
{
    snprintf(name, HS_DUMP_FILE_NAME, "%u.%c.heap", dump->number, letter_of(dump->kind));
}

// From the offset at which the dump ends in its stream, which is unique.
static void name_copy(const struct hs_watched_dump *dump, char name[HS_DUMP_FILE_NAME])
{
    snprintf(name, HS_DUMP_FILE_NAME, NEW_NAME "-%" PRIx64, dump->end);
}

enum hs_dump_copied hs_dump_file__copy(int folder, int from, const struct hs_watched_dump *dump)
{
    char name[HS_DUMP_FILE_NAME], copy[HS_DUMP_FILE_NAME];
    hs_dump_file__name(dump, name);
    name_copy(dump, copy);
    unlinkat(folder, copy, 0);
    int fd = openat(folder, copy, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return HS_DUMP_FULL;
    enum hs_dump_copied copied = copy_dump(from, dump, fd);
    close(fd);
    if (copied != HS_DUMP_COPIED)
        unlinkat(folder, copy, 0);
    // Its place is already a hole; only the journal does not say so yet.
    if (copied == HS_DUMP_DAMAGED && !faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW))
        return HS_DUMP_COPIED;
    return copied;
}

bool hs_dump_file__settle(int folder, const struct hs_watched_dump *dump)
{
    char name[HS_DUMP_FILE_NAME], copy[HS_DUMP_FILE_NAME];
    hs_dump_file__name(dump, name);
    name_copy(dump, copy);
    int fd = openat(folder, copy, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT; // the file existed before, or was removed
    bool settled = !fdatasync(fd) && (hs_trace_files__rename(folder, copy, name) || errno == EEXIST);
    close(fd);
    if (settled)
        unlinkat(folder, copy, 0);
    return settled;
}

enum hs_dump_copied hs_dump_file__write(int folder, int from, const struct hs_watched_dump *dump)
{
    char copy[HS_DUMP_FILE_NAME];
    enum hs_dump_copied copied = hs_dump_file__copy(folder, from, dump);
    if (copied != HS_DUMP_COPIED || hs_dump_file__settle(folder, dump))
        return copied;
    name_copy(dump, copy);
    unlinkat(folder, copy, 0);
    return HS_DUMP_FULL;
}

bool hs_dump_file__is_one(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    return (digits && name[digits] == '.' && name[digits + 1] && !strcmp(name + digits + 2, ".heap")) ||
           !strncmp(name, NEW_NAME, strlen(NEW_NAME));
}
