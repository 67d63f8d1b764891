// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The stream of a sampled process whose chunks are all well-formed, and say what they like: eight bytes of input are a
// chunk. What becomes of it must be files with safe names, as many bytes as were sent at most.
#include "format/chunk.h"
#include "host/gather/traces.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CHUNK_INPUT = 8, MOST_PAYLOAD = 512 };

static char folder[] = "/tmp/heapsonde-fuzz-dumps-XXXXXX";
static struct hs_traces *traces;
static uint64_t claims;

// A dump has its name when it is on the disk, which another thread sees to.
static bool has_unsettled(int parent, const char *name)
{
    bool found = false;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *entry = directory ? readdir(directory) : NULL; entry && !found; entry = readdir(directory))
        found = !strncmp(entry->d_name, ".heapsonde-new", 14);
    if (directory)
        closedir(directory);
    return found;
}

// Everything in a folder of the folder; returns the bytes that were there.
static uint64_t empty(int parent, const char *name)
{
    uint64_t bytes = 0;
    struct stat status;
    while (has_unsettled(parent, name))
        usleep(100);
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *entry = directory ? readdir(directory) : NULL; entry; entry = readdir(directory)) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        size_t digits = strspn(entry->d_name, "0123456789");
        if (!digits || strlen(entry->d_name) != digits + 7 || strcmp(entry->d_name + digits + 2, ".heap") ||
            fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISREG(status.st_mode))
            abort();
        bytes += (uint64_t)status.st_size;
        unlinkat(fd, entry->d_name, 0);
    }
    if (directory)
        closedir(directory);
    unlinkat(parent, name, AT_REMOVEDIR);
    return bytes;
}

static void remove_folder(void)
{
    DIR *directory = opendir(folder);
    for (struct dirent *entry = directory ? readdir(directory) : NULL; entry; entry = readdir(directory))
        if (unlinkat(dirfd(directory), entry->d_name, 0))
            unlinkat(dirfd(directory), entry->d_name, AT_REMOVEDIR);
    if (directory)
        closedir(directory);
    rmdir(folder);
}

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    struct hs_error error;
    if (!mkdtemp(folder))
        abort();
    struct hs_traces_options options = {
        .directory = folder, .quota = 1 << 20, .quota_per_device = UINT64_MAX, .remove_oldest = true};
    if (hs_traces__open(&traces, &options, &error))
        abort();
    atexit(remove_folder);
    return 0;
}

static size_t make_header(uint8_t *to, const uint8_t id[HS_TRACE_ID_SIZE])
{
    struct hs_file_header header = {.version_major = HS_FILE_VERSION_MAJOR,
                                    .byte_order = HS_BYTE_ORDER_LITTLE,
                                    .pointer_size = 8,
                                    .content = HS_CONTENT_DUMPS,
                                    .header_size = HS_FILE_HEADER_SIZE,
                                    .start_realtime_ns = 1};
    memset(to, 0, HS_FILE_HEADER_SIZE);
    memcpy(header.magic, HS_FILE_MAGIC, HS_FILE_MAGIC_LENGTH);
    memcpy(header.trace_id, id, HS_TRACE_ID_SIZE);
    hs_file_header_seal(&header, to);
    return HS_FILE_HEADER_SIZE;
}

// `offset`: where the dump is if the pieces so far fit together.
static size_t make_chunk(uint8_t *to, const uint8_t *input, uint64_t *offset)
{
    uint8_t payload[MOST_PAYLOAD];
    uint32_t length = input[1] * 2u;
    struct hs_chunk_header chunk = {.kind = input[0] % 8 ? HS_CHUNK_DUMP : input[0] / 8,
                                    .flags = input[2] & HS_CHUNK_LAST,
                                    .stored_length = length,
                                    .plain_length = length,
                                    .stream = input[3] % 4 ? 1 : (uint32_t)input[3] << 24,
                                    .count = input[4] % 8 ? 'm' : input[4]};
    if (input[5] % 8 == 0)
        *offset = input[6];
    chunk.sequence = *offset;
    *offset = chunk.flags ? 0 : *offset + length;
    memset(payload, input[7], sizeof(payload));
    hs_chunk_seal(&chunk, payload, to);
    memcpy(to + HS_CHUNK_HEADER_SIZE, payload, length);
    if (input[5] == 255)
        to[HS_CHUNK_HEADER_SIZE / 2] ^= input[6];
    size_t total = (size_t)hs_chunk_size(length);
    memset(to + HS_CHUNK_HEADER_SIZE + length, 0, total - HS_CHUNK_HEADER_SIZE - length);
    return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t content[HS_FILE_HEADER_SIZE + 256 * (HS_CHUNK_HEADER_SIZE + MOST_PAYLOAD + 8)];
    struct hs_device device = {.name = "fuzz", .device = "fuzz"};
    enum hs_refusal refusal = HS_REFUSAL_NONE;
    uint64_t claim = ++claims, have = 0, stored = 0, offset = 0;
    if (size < 1 || size > 1 + 256 * CHUNK_INPUT)
        return 0;
    memcpy(device.trace_id, &claim, sizeof(claim));
    size_t length = make_header(content, device.trace_id), step = 1 + data[0] * 37u;
    for (size_t at = 1; at + CHUNK_INPUT <= size; at += CHUNK_INPUT)
        length += make_chunk(content + length, data + at, &offset);
    struct hs_gathered *trace = hs_traces__claim(traces, &device, UINT64_MAX, claim, &have, &refusal);
    if (!trace)
        abort();
    for (size_t at = 0; at < length && !refusal; at += step) {
        struct iovec piece = {content + at, length - at < step ? length - at : step};
        refusal = hs_gathered__write(traces, trace, claim, &piece, 1, &stored);
    }
    struct hs_gathered_row row;
    hs_gathered__row(trace, &row);
    int parent = open(folder, O_RDONLY | O_DIRECTORY);
    if (row.file[0] && empty(parent, row.file) > length)
        abort();
    close(parent);
    hs_gathered__end(traces, trace, claim, length);
    hs_gathered__release(traces, trace, claim, refusal);
    return 0;
}
