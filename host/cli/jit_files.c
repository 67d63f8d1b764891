// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/jit_files.h"

#include "format/chunk.h"
#include "host/base/buffer.h"
#include "host/base/path.h"
#include "host/symbols/jit_dump.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000u // ns
#define TICK   20000000u   // ns: file systems stamp with the coarse clock, which may lag by a tick

enum { STEP = 1 << 20 };

struct jit_trace {
    int fd;
    int read_only;      // 0, or the negative errno with which it could not be opened for writing
    uint64_t run_began; // CLOCK_REALTIME
    struct hs_file_header header;
    struct stat status;
    struct hs_jit_taken *taken;
};

// ---- the trace -----------------------------------------------------------------------------------------------------

static bool read_at(int fd, void *to, size_t length, uint64_t offset)
{
    return pread(fd, to, length, (off_t)offset) == (ssize_t)length;
}

static bool is_chunk(const struct jit_trace *trace, uint64_t offset, struct hs_chunk_header *chunk)
{
    uint8_t bytes[HS_CHUNK_HEADER_SIZE];
    return read_at(trace->fd, bytes, sizeof(bytes), offset) && !hs_chunk_read(bytes, chunk);
}

// The next chunk header after damage, or the end of the file.
static uint64_t next_chunk(const struct jit_trace *trace, uint64_t offset)
{
    uint64_t words[8192];
    struct hs_chunk_header chunk;
    for (;;) {
        ssize_t got = pread(trace->fd, words, sizeof(words), (off_t)offset);
        const size_t count = got < 0 ? 0 : (size_t)got / sizeof(words[0]);
        for (size_t i = 0; i < count; i++)
            if (words[i] && is_chunk(trace, offset + i * sizeof(words[0]), &chunk))
                return offset + i * sizeof(words[0]);
        if (!count)
            return (uint64_t)trace->status.st_size;
        offset += count * sizeof(words[0]);
    }
}

static bool is_file_of_name(const struct jit_trace *trace, uint64_t offset, const struct hs_chunk_header *chunk,
                            const char *name)
{
    char bytes[PATH_MAX];
    const size_t length = strlen(name) + 1;
    return chunk->kind == HS_CHUNK_FILE && length <= sizeof(bytes) && chunk->stored_length >= length &&
           read_at(trace->fd, bytes, length, offset + HS_CHUNK_HEADER_SIZE) && !memcmp(bytes, name, length);
}

// Where a chunk may be added: behind the last one, which may be longer than the file. 0: a file of this name is there.
static uint64_t end_of_chunks(const struct jit_trace *trace, const char *name)
{
    const uint64_t size = (uint64_t)trace->status.st_size;
    uint64_t offset = trace->header.header_size;
    struct hs_chunk_header chunk;
    while (offset < size) {
        if (!is_chunk(trace, offset, &chunk)) {
            offset = next_chunk(trace, offset + HS_CHUNK_ALIGNMENT);
            continue;
        }
        if (is_file_of_name(trace, offset, &chunk, name))
            return 0;
        offset += hs_chunk_size(chunk.stored_length);
    }
    return (offset + HS_CHUNK_ALIGNMENT - 1) / HS_CHUNK_ALIGNMENT * HS_CHUNK_ALIGNMENT;
}

// Another run whose traces have the same names may add the same file. The lock is held until the trace is closed. It is
// not that of the recorder, which lasts as long as a process sends the trace to a host.
static bool lock(const struct jit_trace *trace)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    int left = 100;
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    while (fcntl(trace->fd, F_OFD_SETLK, &whole)) {
        if (errno != EAGAIN && errno != EACCES)
            return true; // this file system has no locks
        if (!left--)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

static int write_all(int fd, const uint8_t *bytes, size_t length, uint64_t offset)
{
    while (length) {
        ssize_t written = pwrite(fd, bytes, length, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written ? -errno : -EIO;
        bytes += written;
        length -= (size_t)written;
        offset += (uint64_t)written;
    }
    return 0;
}

// A part of a file would be damage.
static int append_at(struct jit_trace *trace, const struct hs_buffer *payload, uint64_t offset)
{
    uint8_t header[HS_CHUNK_HEADER_SIZE];
    const uint32_t length = (uint32_t)payload->count;
    struct hs_chunk_header chunk = {.kind = HS_CHUNK_FILE, .stored_length = length, .plain_length = length};
    hs_chunk_seal(&chunk, payload->bytes, header);
    int result = write_all(trace->fd, payload->bytes, payload->count, offset + sizeof(header));
    if (!result)
        result = write_all(trace->fd, header, sizeof(header), offset);
    if (!result && ftruncate(trace->fd, (off_t)(offset + hs_chunk_size(length))))
        result = -errno;
    if (result && ftruncate(trace->fd, trace->status.st_size))
        result = -errno;
    return result;
}

// The payload begins with the file's name.
static int append(struct jit_trace *trace, const struct hs_buffer *payload)
{
    if (trace->read_only)
        return trace->read_only;
    if (!lock(trace))
        return -EBUSY;
    if (fstat(trace->fd, &trace->status))
        return -errno;
    const uint64_t offset = end_of_chunks(trace, (const char *)payload->bytes);
    return offset ? append_at(trace, payload, offset) : 0;
}

// ---- files ---------------------------------------------------------------------------------------------------------

static uint64_t ns_of(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * SECOND + (uint64_t)time->tv_nsec;
}

// Anybody may have put a file there.
static bool is_of_process(const struct jit_trace *trace, const struct stat *file, uint64_t began)
{
    return S_ISREG(file->st_mode) && file->st_nlink == 1 &&
           (file->st_uid == trace->status.st_uid || file->st_uid == geteuid()) && ns_of(&file->st_mtim) + TICK >= began;
}

// Up to the end of the last line that fits.
static int read_map(int fd, struct hs_buffer *to, size_t most)
{
    const size_t start = to->count;
    ssize_t got = 1;
    while (got > 0 && to->count - start < most) {
        const size_t left = most - (to->count - start), step = left < STEP ? left : STEP;
        if (!hs_buffer__reserve(to, step))
            return -ENOMEM;
        got = read(fd, to->bytes + to->count, step);
        if (got < 0)
            return -errno;
        to->count += (size_t)got;
    }
    if (!got)
        return 0;
    const uint8_t *end = memrchr(to->bytes + start, '\n', to->count - start);
    to->count = end ? (size_t)(end + 1 - to->bytes) : start;
    return -EFBIG;
}

static void take_contents(struct jit_trace *trace, const char *path, int fd)
{
    struct hs_jit_taken *taken = trace->taken;
    struct hs_buffer payload = {0};
    uint8_t start[64];
    hs_buffer__put(&payload, path, strlen(path) + 1);
    const size_t name = payload.count, most = HS_CHUNK_MAX_LENGTH - name;
    ssize_t got = pread(fd, start, sizeof(start), 0);
    int result = payload.failed                                        ? -ENOMEM
                 : got < 0                                             ? -errno
                 : hs_jit_dump__is(start, (size_t)(got < 0 ? 0 : got)) ? hs_jit_dump__condense(fd, &payload, most)
                                                                       : read_map(fd, &payload, most);
    bool is_cut = result == -EFBIG || result == -EBADMSG;
    if (is_cut)
        result = 0;
    if (!result && payload.count > name) {
        result = append(trace, &payload);
        taken->files += !result;
        taken->cut += !result && is_cut;
    }
    taken->problem = result ? result : taken->problem;
    hs_buffer__free(&payload);
}

// Of a process that began at `began`. False: there is no such file of this process.
static bool take_file(struct jit_trace *trace, const char *path, uint64_t began)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        trace->taken->refused += errno == ELOOP;
        return false;
    }
    bool is_good = !fstat(fd, &status) && is_of_process(trace, &status, began);
    if (is_good)
        take_contents(trace, path, fd);
    else
        trace->taken->refused++;
    close(fd);
    return is_good;
}

static bool take_map(struct jit_trace *trace, uint32_t pid, uint64_t began)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
    return take_file(trace, path, began);
}

// LLVM, and so Julia, makes a folder for each process.
static void take_of_llvm(struct jit_trace *trace)
{
    const char *top = getenv("JITDUMPDIR");
    char pattern[PATH_MAX];
    glob_t found = {0};
    if (!top || !*top)
        top = getenv("HOME");
    if (!top || snprintf(pattern, sizeof(pattern), "%s/.debug/jit/*/jit-%u.dump", top, trace->header.pid) >=
                    (int)sizeof(pattern))
        return;
    glob(pattern, 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc; i++)
        take_file(trace, found.gl_pathv[i], trace->header.start_realtime_ns);
    globfree(&found);
}

static void take_dumps(struct jit_trace *trace)
{
    const uint64_t began = trace->header.start_realtime_ns;
    char path[PATH_MAX + 32], here[PATH_MAX];
    snprintf(path, sizeof(path), "/tmp/jit-%u.dump", trace->header.pid);
    if (take_file(trace, path, began))
        return;
    if (!getcwd(here, sizeof(here)))
        *here = '\0';
    snprintf(path, sizeof(path), "%s/jit-%u.dump", here, trace->header.pid);
    if (!*here || !take_file(trace, path, began))
        take_of_llvm(trace);
}

// The recorder writes no index of the chunks, in which a new one would have to be. A program that executed another one
// in its place has left the files to it.
static bool is_usable(struct jit_trace *trace)
{
    uint8_t bytes[sizeof(struct hs_file_header)];
    return !fstat(trace->fd, &trace->status) && S_ISREG(trace->status.st_mode) &&
           read_at(trace->fd, bytes, sizeof(bytes), 0) &&
           hs_file_header_read(bytes, &trace->header) == HS_HEADER_GOOD && !trace->header.live.footer_offset &&
           trace->header.live.state != HS_STATE_EXEC && trace->header.start_realtime_ns >= trace->run_began;
}

static void take_files(struct jit_trace *trace)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    // Then a write beyond the limit of a file's size is an error that can be told.
    sigaction(SIGXFSZ, &ignore, &before);
    // The parent's map may be from before the fork.
    if (!take_map(trace, trace->header.pid, trace->header.start_realtime_ns) && trace->header.forked_at)
        take_map(trace, trace->header.parent_pid, trace->run_began);
    take_dumps(trace);
    sigaction(SIGXFSZ, &before, NULL);
}

void hs_jit_files__take(const char *path, const struct timespec *run_began, struct hs_jit_taken *taken)
{
    const int flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    struct jit_trace trace = {.taken = taken, .run_began = ns_of(run_began)};
    trace.fd = open(path, O_RDWR | flags);
    if (trace.fd < 0) {
        trace.read_only = -errno;
        trace.fd = open(path, O_RDONLY | flags);
    }
    if (trace.fd < 0)
        return;
    if (is_usable(&trace))
        take_files(&trace);
    close(trace.fd);
}
