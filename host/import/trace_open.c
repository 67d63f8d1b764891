// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/trace.h"

#include "format/chunk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_packed(const uint8_t *bytes)
{
    return !memcmp(bytes, "\x1f\x8b", 2) || !memcmp(bytes, "\x28\xb5\x2f\xfd", 4);
}

static int check_header(struct hs_trace *trace, struct hs_error *error)
{
    const char *path = trace->path;
    uint8_t bytes[sizeof(struct hs_file_header)];
    uint64_t size = trace->info.file_size;
    if (size == 0)
        return hs_error__set(error, EBADMSG, "%s: empty file", path);
    memset(bytes, 0, sizeof bytes);
    int failed = hs_trace__read(trace, 0, bytes, size < sizeof bytes ? (size_t)size : sizeof bytes);
    if (failed)
        return hs_error__set(error, -failed, "%s: cannot be read: %s", path, strerror(-failed));
    struct hs_file_header *header = &trace->info.header;
    int result = hs_file_header_read(bytes, header);
    if (result == HS_HEADER_NO_MAGIC && is_packed(bytes))
        return hs_error__set(error, EBADMSG, "%s: compressed with gzip or zstd; unpack it first", path);
    if (result == HS_HEADER_NO_MAGIC && !memcmp(bytes,
                                                "\x7f"
                                                "ELF",
                                                4))
        return hs_error__set(error, EBADMSG, "%s: a program, not a trace; 'heapsonde run' records a program", path);
    if (result == HS_HEADER_NO_MAGIC)
        return hs_error__set(error, EBADMSG, "%s: neither a heapsonde trace nor anything else that this command reads",
                             path);
    if (size < sizeof bytes)
        return hs_error__set(error, EBADMSG, "%s: truncated at %llu bytes, within the file header", path,
                             (unsigned long long)size);
    if (result == HS_HEADER_NEWER)
        return hs_error__set(error, ENOTSUP, "%s: written by a newer heapsonde (format %u.%u, this reads %u.x)", path,
                             header->version_major, header->version_minor, HS_FILE_VERSION_MAJOR);
    if (result == HS_HEADER_BAD_CRC)
        return hs_error__set(error, EBADMSG, "%s: the file header is damaged (wrong checksum)", path);
    if (result != HS_HEADER_GOOD)
        return hs_error__set(error, EBADMSG, "%s: the file header has invalid values", path);
    if (header->content == HS_CONTENT_DUMPS)
        return hs_error__set(
            error, ENOTSUP,
            "%s: the stream of a sampled process, not a trace; its dumps are in the folder beside it if 'heapsonde "
            "gather' received it, else 'heapsonde extract -o DIR FILE' writes them",
            path);
    return 0;
}

static int open_file(struct hs_trace *trace, struct hs_error *error)
{
    struct stat status;
    trace->fd = open(trace->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (trace->fd < 0 || fstat(trace->fd, &status))
        return hs_error__set(error, errno, "%s: %s", trace->path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return hs_error__set(error, EISDIR, "%s: is a directory; give a file, or use 'heapsonde server' for a folder",
                             trace->path);
    if (!S_ISREG(status.st_mode))
        return hs_error__set(error, EINVAL, "%s: not a regular file", trace->path);
    trace->info.file_size = (uint64_t)status.st_size;
    trace->info.modified_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
    return check_header(trace, error);
}

int hs_trace__open(const char *path, struct hs_trace **result, struct hs_error *error)
{
    struct hs_trace *trace = calloc(1, sizeof *trace);
    *result = NULL;
    if (!trace || !(trace->path = strdup(path))) {
        free(trace);
        return hs_error__set(error, ENOMEM, "%s: out of memory", path);
    }
    trace->fd = -1;
    trace->info.path = trace->path;
    int failed = open_file(trace, error);
    if (!failed) {
        const struct hs_file_header *header = &trace->info.header;
        trace->target = (struct hs_codec_target){header->byte_order, header->pointer_size, header->address_shift};
        failed = hs_trace__index(trace, error);
    }
    if (failed) {
        hs_trace__close(trace);
        return failed;
    }
    *result = trace;
    return 0;
}

void hs_trace__close(struct hs_trace *trace)
{
    if (!trace)
        return;
    if (trace->fd >= 0)
        close(trace->fd);
    free(trace->chunk);
    free(trace->path);
    free(trace);
}
