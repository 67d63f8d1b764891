// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/sent_trace.h"

#include "format/chunk.h"
#include "format/meta.h"
#include "format/meta_codec.h"
#include "host/base/clock.h"
#include "host/base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUIET_TIME       (1 * HS_SECOND)
#define MOST_CHUNKS_READ (1u << 24)

// The name of the program is in one of the first.
enum { MOST_CHUNKS_FOR_NAME = 64, LONGEST_META = 1 << 18, MOST_NAME = 1024 };

// ---- what a trace tells the gatherer -------------------------------------------------------------------------------

static bool find_executable(const uint8_t *bytes, size_t length, char name[MOST_NAME])
{
    struct hs_meta_reader reader;
    struct hs_meta_record record;
    hs_meta_open(&reader, bytes, length);
    while (hs_meta_next(&reader, &record) > 0) {
        if (record.tag != HS_META_INFO || record.key.length != strlen("executable") ||
            memcmp(record.key.data, "executable", record.key.length) != 0)
            continue;
        snprintf(name, MOST_NAME, "%.*s", (int)record.text.length, (const char *)record.text.data);
        return true;
    }
    return false;
}

static bool find_in_chunk(int fd, uint64_t at, const struct hs_chunk_header *chunk, char name[MOST_NAME])
{
    if (chunk->kind != HS_CHUNK_META || chunk->stored_length > LONGEST_META || chunk->plain_length > LONGEST_META)
        return false;
    bool packed = chunk->flags & HS_CHUNK_PACKED, found = false;
    uint8_t *stored = malloc(chunk->stored_length + 1), *plain = malloc(chunk->plain_length + 1);
    void *scratch = aligned_alloc(16, HS_META_SCRATCH_SIZE);
    if (stored && plain && scratch &&
        pread(fd, stored, chunk->stored_length, (off_t)(at + HS_CHUNK_HEADER_SIZE)) == (ssize_t)chunk->stored_length) {
        if (!packed)
            found = find_executable(stored, chunk->stored_length, name);
        else if (!hs_meta_unpack(stored, chunk->stored_length, scratch, plain, chunk->plain_length))
            found = find_executable(plain, chunk->plain_length, name);
    }
    free(stored);
    free(plain);
    free(scratch);
    return found;
}

// Without the record, what the file is called.
static void read_executable(const struct hs_sent_trace *trace, char name[MOST_NAME])
{
    uint8_t bytes[HS_CHUNK_HEADER_SIZE];
    struct hs_chunk_header chunk;
    uint64_t at = HS_FILE_HEADER_SIZE;
    int fd = trace->outbox.fd;
    for (int i = 0; i < MOST_CHUNKS_FOR_NAME; i++) {
        if (pread(fd, bytes, sizeof(bytes), (off_t)at) != (ssize_t)sizeof(bytes) || hs_chunk_read(bytes, &chunk))
            break;
        if (find_in_chunk(fd, at, &chunk, name))
            return;
        at += hs_chunk_size(chunk.stored_length);
    }
    snprintf(name, MOST_NAME, "%s", hs_path__name(trace->path));
    char *end = strrchr(name, '.');
    if (end && end > name)
        *end = 0;
}

static int write_pairs(struct hs_sent_trace *trace, const struct hs_file_header *header, const char *device,
                       const char *labels)
{
    char name[MOST_NAME], pid[16], machine[16], since[24];
    const uint8_t *end;
    read_executable(trace, name);
    snprintf(pid, sizeof(pid), "%u", (unsigned)header->pid);
    snprintf(machine, sizeof(machine), "%u", (unsigned)header->machine);
    snprintf(since, sizeof(since), "%llu", (unsigned long long)header->start_realtime_ns);
    const char *const pairs[][2] = {
        {"executable", name}, {"pid", pid},     {"device", device},
        {"labels", labels},   {"since", since}, {"shim", header->content == HS_CONTENT_DUMPS ? "sampler" : "recorder"},
        {"machine", machine},
    };
    uint8_t *at = trace->outbox.pairs = malloc(HS_PARCEL_PAIRS_MAX);
    if (!at)
        return -ENOMEM;
    end = at + HS_PARCEL_PAIRS_MAX;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
        if (!hs_wire_pair__write(&at, end, pairs[i][0], pairs[i][1], strlen(pairs[i][1])))
            return -E2BIG;
    trace->outbox.pairs_length = (size_t)(at - trace->outbox.pairs);
    return 0;
}

// ---- opening -------------------------------------------------------------------------------------------------------

static int open_file(struct hs_sent_trace *trace, const char *path, struct hs_file_header *header,
                     struct hs_error *error)
{
    struct stat status;
    uint8_t bytes[sizeof(struct hs_file_header)];
    trace->path = strdup(path);
    trace->outbox.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (!trace->path)
        return hs_error__set(error, ENOMEM, "out of memory");
    if (trace->outbox.fd < 0)
        return hs_error__set(error, errno, "%s: %s", path, strerror(errno));
    if (fstat(trace->outbox.fd, &status) || !S_ISREG(status.st_mode))
        return hs_error__set(error, EBADMSG, "%s is not a trace", path);
    if (status.st_size < HS_FILE_HEADER_SIZE)
        return hs_error__set(error, ENODATA, "%s is not a trace yet: it has no complete header", path);
    if (pread(trace->outbox.fd, bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes) ||
        hs_file_header_read(bytes, header) != HS_HEADER_GOOD)
        return hs_error__set(error, EBADMSG, "%s is not a trace", path);
    memcpy(trace->outbox.trace_id, bytes + offsetof(struct hs_file_header, trace_id), HS_TRACE_ID_SIZE);
    return 0;
}

// Of a stream, the header stays as it was when it began, and no chunk changes.
static bool is_stream(int fd)
{
    struct hs_file_header header;
    uint8_t first[sizeof(struct hs_file_header)], bytes[HS_CHUNK_HEADER_SIZE];
    struct hs_chunk_header chunk;
    if (pread(fd, first, sizeof(first), 0) != (ssize_t)sizeof(first) ||
        hs_file_header_read(first, &header) != HS_HEADER_GOOD || header.live.state != HS_STATE_RECORDING)
        return false;
    bool there = pread(fd, bytes, sizeof(bytes), HS_FILE_HEADER_SIZE) == (ssize_t)sizeof(bytes);
    return !there || hs_chunk_read(bytes, &chunk) || !(chunk.flags & HS_CHUNK_LIVE);
}

int hs_sent_trace__open(struct hs_sent_trace **result, const char *path, const char *device, const char *labels,
                        struct hs_error *error)
{
    struct hs_file_header header;
    struct hs_sent_trace *trace = calloc(1, sizeof(*trace));
    if (!trace)
        return hs_error__set(error, ENOMEM, "out of memory");
    trace->outbox.fd = -1;
    int failed = open_file(trace, path, &header, error);
    if (!failed) {
        failed = write_pairs(trace, &header, device, labels);
        if (failed)
            hs_error__set(error, -failed, failed == -ENOMEM ? "out of memory" : "the labels are too long");
    }
    if (failed) {
        hs_sent_trace__close(trace);
        return failed;
    }
    hs_chunk_watch__start(&trace->watch, header.byte_order, HS_FILE_HEADER_SIZE);
    *result = trace;
    return 0;
}

void hs_sent_trace__close(struct hs_sent_trace *trace)
{
    if (trace->outbox.fd >= 0)
        close(trace->outbox.fd);
    free(trace->outbox.pairs);
    free(trace->path);
    free(trace);
}

// ---- growing -------------------------------------------------------------------------------------------------------

// The recorder's lock lasts as long as its process.
static bool is_locked(int fd)
{
    if (!flock(fd, LOCK_SH | LOCK_NB)) {
        flock(fd, LOCK_UN);
        return false;
    }
    return errno == EWOULDBLOCK;
}

static void look_at_stream(struct hs_sent_trace *trace, uint64_t size)
{
    hs_chunk_watch__read(&trace->watch, trace->outbox.fd, size, MOST_CHUNKS_READ);
    trace->outbox.size = size;
    trace->outbox.ended = !trace->watch.lost && trace->watch.state != HS_STATE_RECORDING && trace->watch.next == size &&
                          !trace->watch.have;
}

// What ran the process may add to the file right behind its end.
static void look_in_place(struct hs_sent_trace *trace, uint64_t size, uint64_t now)
{
    trace->in_place = is_locked(trace->outbox.fd);
    if (trace->in_place || size != trace->quiet_size || !trace->quiet_since) {
        trace->quiet_size = size;
        trace->quiet_since = now;
    }
    if (now - trace->quiet_since < QUIET_TIME)
        return;
    trace->outbox.size = size;
    trace->outbox.ended = true;
}

void hs_sent_trace__look(struct hs_sent_trace *trace, uint64_t now)
{
    struct stat status;
    if (fstat(trace->outbox.fd, &status))
        return;
    // A program that writes to the same file again begins another trace.
    trace->replaced |= (uint64_t)status.st_size < trace->outbox.size || !hs_outbox__is_same(&trace->outbox);
    if (trace->outbox.ended || trace->replaced)
        return;
    // Its beginning may not have been there before.
    if (!trace->outbox.size)
        trace->is_stream = is_stream(trace->outbox.fd);
    if (trace->is_stream && !is_locked(trace->outbox.fd))
        look_at_stream(trace, (uint64_t)status.st_size);
    else
        look_in_place(trace, (uint64_t)status.st_size, now);
}
