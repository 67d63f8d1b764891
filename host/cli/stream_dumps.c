// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/stream_dumps.h"

#include "format/chunk.h"
#include "host/cli/command.h"
#include "host/cli/output.h"
#include "host/gather/dump_file.h"
#include "host/store/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct extraction {
    const struct hs_command *command;
    const char *path, *folder;
    int from, to;
    unsigned whole;
    bool failed;
};

static bool read_header(int fd, struct hs_file_header *header)
{
    uint8_t bytes[HS_FILE_HEADER_SIZE];
    return pread(fd, bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes) &&
           hs_file_header_read(bytes, header) == HS_HEADER_GOOD && header->content == HS_CONTENT_DUMPS;
}

bool hs_stream_dumps__recognise(const char *path)
{
    struct hs_file_header header;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool recognised = fd >= 0 && read_header(fd, &header);
    if (fd >= 0)
        close(fd);
    return recognised;
}

static void complain_of(struct extraction *extraction, const char *name, const char *why)
{
    hs_complain(extraction->command, "%s/%s: %s", extraction->folder, name, why);
    extraction->failed = true;
}

static void take(void *context, const struct hs_watched_dump *dump)
{
    struct extraction *extraction = context;
    char name[HS_DUMP_FILE_NAME];
    hs_dump_file__name(dump, name);
    extraction->whole++;
    if (!faccessat(extraction->to, name, F_OK, AT_SYMLINK_NOFOLLOW)) {
        complain_of(extraction, name, "exists already, and is kept");
        return;
    }
    switch (hs_dump_file__write(extraction->to, extraction->from, dump)) {
    case HS_DUMP_COPIED:
        printf("%s/%s (%" PRIu64 " bytes)\n", extraction->folder, name, dump->length);
        return;
    case HS_DUMP_DAMAGED:
        complain_of(extraction, name, "not written: the dump is damaged (wrong checksum)");
        return;
    case HS_DUMP_FULL:
        complain_of(extraction, name, strerror(errno));
    }
}

static void go_through(struct extraction *extraction, const struct hs_file_header *header, uint64_t size)
{
    struct hs_chunk_watch watch;
    hs_chunk_watch__start(&watch, header->byte_order, HS_FILE_HEADER_SIZE);
    watch.whole = take;
    watch.context = extraction;
    hs_chunk_watch__read(&watch, extraction->from, size, UINT_MAX);
    if (watch.lost) {
        hs_complain(extraction->command, "%s: damaged at %" PRIu64 " of %" PRIu64 " bytes; what came before is written",
                    extraction->path, watch.next, size);
        extraction->failed = true;
    } else if (!extraction->whole) {
        hs_complain(extraction->command, "%s contains no complete dump", extraction->path);
    }
}

static int extract_into(struct extraction *extraction)
{
    struct hs_file_header header;
    struct stat status;
    if (!read_header(extraction->from, &header) || fstat(extraction->from, &status)) {
        hs_complain(extraction->command, "%s: cannot be read", extraction->path);
        return HS_EXIT_FAILURE;
    }
    go_through(extraction, &header, (uint64_t)status.st_size);
    return extraction->failed ? HS_EXIT_FAILURE : 0;
}

int hs_stream_dumps__extract(const struct hs_command *command, const char *path, const char *folder)
{
    struct extraction extraction = {.command = command, .path = path, .folder = folder, .to = -1};
    int status = HS_EXIT_FAILURE;
    extraction.from = open(path, O_RDONLY | O_CLOEXEC);
    int problem = extraction.from < 0 ? -errno : 0;
    if (!problem)
        extraction.to = hs_folder__open(folder, 0777);
    if (problem || extraction.to < 0)
        hs_complain(command, "%s: %s", problem ? path : folder, hs_folder__problem(problem ? problem : extraction.to));
    else
        status = extract_into(&extraction);
    if (extraction.from >= 0)
        close(extraction.from);
    if (extraction.to >= 0)
        close(extraction.to);
    return status;
}
