// SPDX-License-Identifier: MIT OR Apache-2.0
#include "device_trace.h"

#include "format/chunk.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define START_REALTIME ((uint64_t)1700000000 * 1000000000)

static uint8_t *common;
static size_t common_size;

static size_t add_chunk(uint8_t *to, size_t room, uint64_t (*random)(void))
{
    struct hs_chunk_header chunk = {.kind = HS_CHUNK_EVENTS, .count = (uint32_t)(random() % 100)};
    chunk.stored_length = (uint32_t)(random() % 20000);
    size_t size = hs_chunk_size(chunk.stored_length);
    if (size > room) {
        chunk.stored_length = room < HS_CHUNK_HEADER_SIZE + 8 ? 0 : (uint32_t)(room - HS_CHUNK_HEADER_SIZE - 7);
        size = hs_chunk_size(chunk.stored_length);
    }
    if (size > room)
        return 0;
    uint8_t *payload = to + HS_CHUNK_HEADER_SIZE;
    memset(payload, 0, size - HS_CHUNK_HEADER_SIZE);
    for (uint32_t i = 0; i + 8 <= chunk.stored_length; i += 8) {
        uint64_t word = random();
        memcpy(payload + i, &word, 8);
    }
    hs_chunk_seal(&chunk, payload, to);
    return size;
}

static void make_body(struct device_trace *trace, uint64_t size, uint64_t (*random)(void))
{
    trace->size = size > HS_FILE_HEADER_SIZE ? size & ~(size_t)7 : HS_FILE_HEADER_SIZE;
    trace->bytes = calloc(1, trace->size);
    size_t at = HS_FILE_HEADER_SIZE, part;
    while ((part = add_chunk(trace->bytes + at, trace->size - at, random)) > 0)
        at += part;
    trace->size = at;
}

static const char *read_body(struct device_trace *trace, const char *file)
{
    struct stat status;
    int fd = open(file, O_RDONLY);
    if (fd < 0 || fstat(fd, &status))
        return "the file cannot be opened";
    trace->size = (size_t)status.st_size;
    trace->bytes = malloc(trace->size);
    ssize_t got = read(fd, trace->bytes, trace->size);
    close(fd);
    return got == (ssize_t)trace->size ? NULL : "the file cannot be read";
}

static const char *begin_body(struct device_trace *trace, const struct device_trace_options *options,
                              uint64_t (*random)(void))
{
    if (options->file)
        return read_body(trace, options->file);
    make_body(trace, options->size, random);
    return NULL;
}

static const char *copy_body(struct device_trace *trace, const struct device_trace_options *options,
                             uint64_t (*random)(void))
{
    if (!common) {
        const char *problem = begin_body(trace, options, random);
        if (problem)
            return problem;
        common = trace->bytes;
        common_size = trace->size;
    }
    trace->size = common_size;
    trace->bytes = malloc(trace->size);
    memcpy(trace->bytes, common, trace->size);
    return NULL;
}

// With an id of its own.
static const char *make_header(struct device_trace *trace, bool read, uint32_t pid, uint64_t (*random)(void))
{
    struct hs_file_header *header = &trace->header;
    *header = (struct hs_file_header){.magic = HS_FILE_MAGIC,
                                      .version_major = HS_FILE_VERSION_MAJOR,
                                      .byte_order = HS_BYTE_ORDER_LITTLE,
                                      .pointer_size = 8,
                                      .address_shift = 4,
                                      .clock_source = HS_CLOCK_MONOTONIC,
                                      .machine = 62,
                                      .header_size = HS_FILE_HEADER_SIZE,
                                      .start_realtime_ns = START_REALTIME};
    if (read && (trace->size < HS_FILE_HEADER_SIZE || hs_file_header_read(trace->bytes, header)))
        return "the file is no trace";
    header->pid = pid;
    header->trace_id[0] = random();
    header->trace_id[1] = random();
    hs_file_header_seal(header, trace->bytes);
    return NULL;
}

const char *device_trace__make(struct device_trace *trace, const struct device_trace_options *options, uint32_t pid,
                               uint64_t (*random)(void))
{
    free(trace->bytes);
    trace->bytes = NULL;
    const char *problem = options->same ? copy_body(trace, options, random) : begin_body(trace, options, random);
    return problem ? problem : make_header(trace, options->file != NULL, pid, random);
}
