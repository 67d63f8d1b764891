// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/trace_files.h"
#include "host/store/folder.h"

#include "format/chunk.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_NAMES = 10, NAME_LENGTH = 40 };

// ---- the folder -----------------------------------------------------------------------------------------------------

int hs_trace_files__open_directory(struct hs_traces *traces, struct hs_error *error)
{
    const char *path = traces->options.directory;
    traces->directory = hs_folder__open(path, 0700);
    if (traces->directory < 0)
        return hs_error__set(error, -traces->directory, "the folder %s cannot be made or opened: %s", path,
                             hs_folder__problem(traces->directory));
    // File systems without locks go without.
    if (flock(traces->directory, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        return hs_error__set(error, EBUSY, "another heapsonde gather writes to %s; choose another folder with --dir",
                             path);
    if (faccessat(traces->directory, ".", W_OK | X_OK, 0))
        return hs_error__set(error, errno, "the folder %s cannot be written to: %s", path, strerror(errno));
    return 0;
}

// ---- names ----------------------------------------------------------------------------------------------------------

static bool is_digits(const char *text, size_t count)
{
    return strspn(text, "0123456789") >= count;
}

// Whether a name is one of ours, for a trace with this id. Other files are not touched.
static bool is_ours(const char *name, const char *suffix, const uint8_t id[HS_TRACE_ID_SIZE])
{
    char begin[12];
    size_t length = strlen(name);
    snprintf(begin, sizeof(begin), "_%02x%02x%02x%02x", id[0], id[1], id[2], id[3]);
    if (length < 32 || !is_digits(name, 8) || name[8] != '_' || !is_digits(name + 9, 6) || name[15] != '_')
        return false;
    const char *end = name + length - strlen(suffix);
    if (isdigit((unsigned char)end[-1]) && end[-2] == '-')
        end -= 2;
    return end - name > 9 && !memcmp(end - 9, begin, 9);
}

static const char *suffix_of(const struct hs_file_header *header)
{
    return header->content == HS_CONTENT_DUMPS ? HS_TRACES_STREAM_SUFFIX : HS_TRACES_SUFFIX;
}

static void make_name(const struct hs_gathered *trace, const struct hs_file_header *header, unsigned attempt,
                      char name[HS_TRACES_FILE_NAME])
{
    char program[NAME_LENGTH + 1];
    char when[32];
    char suffix[8] = "";
    struct tm parts;
    time_t seconds = (time_t)(header->start_realtime_ns / 1000000000u);
    if (seconds <= 0 || seconds > 253402300799)
        seconds = time(NULL);
    gmtime_r(&seconds, &parts);
    strftime(when, sizeof(when), "%Y%m%d_%H%M%S", &parts);
    hs_device__safe_name(program, sizeof(program), trace->details->device.name);
    if (attempt)
        snprintf(suffix, sizeof(suffix), "-%u", attempt % 10);
    snprintf(name, HS_TRACES_FILE_NAME, "%s_%u_%s_%02x%02x%02x%02x%s%s", when, header->pid, program, trace->id[0],
             trace->id[1], trace->id[2], trace->id[3], suffix, suffix_of(header));
}

// ---- what is there already ------------------------------------------------------------------------------------------

static int open_regular(struct hs_traces *traces, const char *name, int flags, struct stat *status)
{
    int fd = openat(traces->directory, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (!fstat(fd, status) && S_ISREG(status->st_mode) && status->st_nlink == 1)
        return fd;
    close(fd);
    return -1;
}

static bool read_header(int fd, struct hs_file_header *header, uint8_t id[HS_TRACE_ID_SIZE])
{
    uint8_t bytes[HS_FILE_HEADER_SIZE];
    if (pread(fd, bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return false;
    memcpy(id, bytes + offsetof(struct hs_file_header, trace_id), HS_TRACE_ID_SIZE);
    return hs_file_header_read(bytes, header) == HS_HEADER_GOOD;
}

static void add_found(struct hs_traces *traces, const char *name, const struct stat *status,
                      const struct hs_file_header *header, const uint8_t id[HS_TRACE_ID_SIZE])
{
    uint64_t size = (uint64_t)status->st_size;
    atomic_fetch_add(&traces->bytes, size);
    struct hs_gathered *trace = hs_trace_registry__find(traces, id);
    if (trace && trace->size >= size)
        return;
    if (!trace)
        trace = hs_trace_registry__make(traces, id);
    if (!trace)
        return;
    snprintf(trace->file, sizeof(trace->file), "%s", name);
    trace->size = size;
    trace->ended_ns = (uint64_t)status->st_mtim.tv_sec * 1000000000u + (uint64_t)status->st_mtim.tv_nsec;
    trace->big_endian = header->byte_order == HS_BYTE_ORDER_BIG;
    trace->samples = header->content == HS_CONTENT_DUMPS;
    trace->walked = HS_FILE_HEADER_SIZE;
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t length = strlen(name), end = strlen(suffix);
    return length > end && !strcmp(name + length - end, suffix);
}

static void look_at(struct hs_traces *traces, const char *name)
{
    struct stat status;
    struct hs_file_header header;
    uint8_t id[HS_TRACE_ID_SIZE];
    if (strlen(name) >= HS_TRACES_FILE_NAME ||
        (!ends_with(name, HS_TRACES_SUFFIX) && !ends_with(name, HS_TRACES_STREAM_SUFFIX)))
        return;
    int fd = open_regular(traces, name, O_RDONLY, &status);
    if (fd < 0)
        return;
    if (read_header(fd, &header, id) && ends_with(name, suffix_of(&header)) && is_ours(name, suffix_of(&header), id))
        add_found(traces, name, &status, &header, id);
    close(fd);
}

// Incomplete files without a final name, from a gatherer that was killed.
static bool is_left_over(const char *name)
{
    return !strncmp(name, ".heapsonde-new-", 15) && strlen(name) == 15 + 2 * HS_TRACE_ID_SIZE;
}

void hs_trace_files__index(struct hs_traces *traces)
{
    int fd = openat(traces->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        if (is_left_over(entry->d_name))
            unlinkat(traces->directory, entry->d_name, 0);
        else
            look_at(traces, entry->d_name);
    }
    closedir(directory);
}

// ---- writing --------------------------------------------------------------------------------------------------------

static bool write_header(int fd, const uint8_t *bytes)
{
    size_t done = 0;
    while (done < HS_FILE_HEADER_SIZE) {
        ssize_t part = pwrite(fd, bytes + done, HS_FILE_HEADER_SIZE - done, (off_t)done);
        if (part <= 0 && errno != EINTR)
            return false;
        done += part > 0 ? (size_t)part : 0;
    }
    return true;
}

bool hs_trace_files__rename(int directory, const char *from, const char *to)
{
    if (!renameat2(directory, from, directory, to, RENAME_NOREPLACE))
        return true;
    if (errno != EINVAL && errno != ENOSYS)
        return false;
    // A file system without that; the folder is locked against other gatherers.
    struct stat status;
    if (!fstatat(directory, to, &status, AT_SYMLINK_NOFOLLOW)) {
        errno = EEXIST;
        return false;
    }
    return !renameat(directory, from, directory, to);
}

static bool give_name(struct hs_traces *traces, struct hs_gathered *trace, const char *temporary)
{
    struct hs_file_header header;
    hs_file_header_read(trace->header, &header);
    for (unsigned attempt = 0; attempt < MOST_NAMES; attempt++) {
        make_name(trace, &header, attempt, trace->file);
        if (hs_trace_files__rename(traces->directory, temporary, trace->file))
            return true;
        if (errno != EEXIST)
            break;
    }
    trace->file[0] = 0;
    return false;
}

enum hs_refusal hs_trace_files__create(struct hs_traces *traces, struct hs_gathered *trace)
{
    char temporary[64] = ".heapsonde-new-";
    for (unsigned i = 0; i < HS_TRACE_ID_SIZE; i++)
        snprintf(temporary + 15 + 2 * i, 3, "%02x", trace->id[i]);
    int fd = openat(traces->directory, temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return HS_REFUSAL_FILE;
    if (write_header(fd, trace->header) && give_name(traces, trace, temporary)) {
        trace->fd = fd;
        return HS_REFUSAL_NONE;
    }
    unlinkat(traces->directory, temporary, 0);
    close(fd);
    return HS_REFUSAL_FILE;
}

// The file may have been changed or taken away since it was seen.
bool hs_trace_files__reopen(struct hs_traces *traces, struct hs_gathered *trace)
{
    struct stat status;
    struct hs_file_header header;
    uint8_t id[HS_TRACE_ID_SIZE];
    int fd = open_regular(traces, trace->file, O_RDWR, &status);
    if (fd < 0)
        return false;
    if ((uint64_t)status.st_size == trace->size && read_header(fd, &header, id) &&
        !memcmp(id, trace->id, HS_TRACE_ID_SIZE)) {
        trace->fd = fd;
        return true;
    }
    close(fd);
    return false;
}

uint64_t hs_trace_files__append(struct hs_gathered *trace, const struct iovec *given, int count)
{
    struct iovec pieces[count];
    struct iovec *piece = pieces;
    uint64_t done = 0;
    memcpy(pieces, given, sizeof(pieces));
    while (count) {
        ssize_t part = pwritev(trace->fd, piece, count, (off_t)(trace->size + done));
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return done;
        done += (uint64_t)part;
        while (count && (size_t)part >= piece->iov_len) {
            part -= (ssize_t)piece->iov_len;
            piece++;
            count--;
        }
        if (count) {
            piece->iov_base = (uint8_t *)piece->iov_base + part;
            piece->iov_len -= (size_t)part;
        }
    }
    return done;
}
