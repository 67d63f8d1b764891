// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/jit_files.h"

#include <errno.h>
#include <fcntl.h>
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

static int take_one(void *context, const struct hs_buffer *file, bool is_cut)
{
    struct jit_trace *trace = context;
    int result = append(trace, file);
    trace->taken->files += !result;
    trace->taken->cut += !result && is_cut;
    return result;
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

// Then a write beyond the limit of a file's size is an error that can be told.
static void ignore_limit(bool on)
{
    static struct sigaction before;
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGXFSZ, on ? &ignore : &before, on ? &before : NULL);
}

static void look(struct jit_trace *trace, const struct hs_jit_process *process)
{
    struct hs_jit_source source = {.take = take_one, .context = trace};
    struct hs_jit_process parent = *process;
    parent.pid = trace->header.parent_pid;
    parent.began = trace->run_began ? trace->run_began : process->began;
    // The parent's map may be from before the fork.
    if (!hs_jit_source__map(&source, process) && trace->header.forked_at)
        hs_jit_source__map(&source, &parent);
    hs_jit_source__dump(&source, process);
    trace->taken->refused += source.refused;
    trace->taken->problem = source.problem ? source.problem : trace->taken->problem;
}

static bool open_trace(struct jit_trace *trace, const char *path)
{
    const int flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    trace->fd = open(path, O_RDWR | flags);
    if (trace->fd < 0) {
        trace->read_only = -errno;
        trace->fd = open(path, O_RDONLY | flags);
    }
    if (trace->fd >= 0 && is_usable(trace))
        return true;
    if (trace->fd >= 0)
        close(trace->fd);
    return false;
}

void hs_jit_files__take(const char *path, const struct timespec *run_began, struct hs_jit_taken *taken)
{
    struct jit_trace trace = {.taken = taken,
                              .run_began = (uint64_t)run_began->tv_sec * SECOND + (uint64_t)run_began->tv_nsec};
    const char *top = getenv("JITDUMPDIR");
    char here[PATH_MAX];
    if (!open_trace(&trace, path))
        return;
    const struct hs_jit_process process = {.pid = trace.header.pid,
                                           .root = AT_FDCWD,
                                           .mounts = -1,
                                           .folder = AT_FDCWD,
                                           .here = getcwd(here, sizeof(here)),
                                           .home = top && *top ? (char *)(uintptr_t)top : getenv("HOME"),
                                           .user = trace.status.st_uid,
                                           .began = trace.header.start_realtime_ns};
    ignore_limit(true);
    look(&trace, &process);
    ignore_limit(false);
    close(trace.fd);
}

void hs_jit_files__take_of(const char *path, const struct hs_jit_process *process, struct hs_jit_taken *taken)
{
    struct jit_trace trace = {.taken = taken};
    if (!open_trace(&trace, path))
        return;
    ignore_limit(true);
    if (trace.header.pid == process->pid)
        look(&trace, process);
    ignore_limit(false);
    close(trace.fd);
}

bool hs_jit_files__header(const char *path, struct hs_file_header *header)
{
    struct jit_trace trace = {.taken = NULL};
    if (!open_trace(&trace, path))
        return false;
    *header = trace.header;
    close(trace.fd);
    return true;
}

void hs_jit_files__add(const char *path, const struct hs_buffer *file, bool is_cut, struct hs_jit_taken *taken)
{
    struct jit_trace trace = {.taken = taken};
    if (!open_trace(&trace, path))
        return;
    ignore_limit(true);
    int result = take_one(&trace, file, is_cut);
    taken->problem = result ? result : taken->problem;
    ignore_limit(false);
    close(trace.fd);
}

void hs_jit_taken__say(const struct hs_jit_taken *taken, const struct hs_command *command, bool wanted)
{
    if (taken->problem)
        hs_complain(command, "names of run-time code could not be put into the trace: %s", strerror(-taken->problem));
    if (taken->cut == 1 && taken->files == 1)
        hs_complain(command, "the file with names of run-time code is too large or damaged; a part of the names is not "
                             "in the trace");
    else if (taken->cut)
        hs_complain(
            command,
            "%zu of %zu files with names of run-time code %s too large or damaged; a part of the names is not in "
            "the trace",
            taken->cut, taken->files, taken->cut == 1 ? "is" : "are");
    if (wanted && taken->refused)
        hs_complain(command,
                    "%zu file%s with names of run-time code %s not used; it has to be a regular file of the program's "
                    "user, and newer than the start of the program",
                    taken->refused, taken->refused == 1 ? "" : "s", taken->refused == 1 ? "was" : "were");
    else if (wanted && !taken->files && !taken->problem)
        hs_complain(command, "no program wrote names of its run-time code; docs/symbols.md says which runtimes do");
}
