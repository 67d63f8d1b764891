// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Everything that reads a trace, given anything. The first byte chooses the part. Checksums of whole files are put
// right first: with them wrong only the checksum would be tested.
#include "format/aggregate.h"
#include "format/chunk.h"
#include "format/crc32c.h"
#include "format/event_codec.h"
#include "format/meta.h"
#include "format/meta_codec.h"
#include "host/import/run.h"
#include "host/store/attach.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct hs_event events[HS_CODEC_MAX_EVENTS], wide[HS_CODEC_MAX_EVENTS + 1];
static struct hs_brief_event briefs[HS_CODEC_MAX_EVENTS];
static _Alignas(64) uint8_t scratch[HS_CODEC_SCRATCH_SIZE];
static uint8_t plain[1 << 16];

static void put_crc(uint8_t *to, uint32_t crc)
{
    for (unsigned i = 0; i < 4; i++)
        to[i] = (uint8_t)(crc >> 8 * i);
}

static uint8_t *repaired(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + 1);
    memcpy(copy, data, size);
    if (size >= 256)
        put_crc(copy + 252, hs_crc32c(0, copy, 252));
    for (size_t at = HS_FILE_HEADER_SIZE; at + HS_CHUNK_HEADER_SIZE <= size; at += 8) {
        uint8_t *header = copy + at;
        if (memcmp(header, "SHCK", 4))
            continue;
        uint32_t length = header[8] | header[9] << 8 | header[10] << 16 | (uint32_t)header[11] << 24;
        if (length <= size - at - HS_CHUNK_HEADER_SIZE)
            put_crc(header + 48, hs_crc32c(0, header + HS_CHUNK_HEADER_SIZE, length));
        put_crc(header + 52, hs_crc32c(0, header, 52));
    }
    return copy;
}

static int ignore(void *context, uint32_t stream, const struct hs_event *event, int phase, uint64_t time)
{
    (void)context, (void)stream, (void)event, (void)phase, (void)time;
    return 0;
}

static void import(const struct hs_trace *trace)
{
    char directory[] = "/dev/shm/heapsonde-fuzz-XXXXXX";
    if (!mkdtemp(directory))
        abort();
    int fd = open(directory, O_RDONLY | O_DIRECTORY);
    struct hs_store *store;
    if (!hs_import__run(trace, NULL, NULL, fd)) {
        if (hs_store__open_unsealed(directory, &store, NULL))
            abort();
        uint64_t pcs[8] = {0};
        hs_store__frames(store, 5, pcs, 8, NULL);
        hs_store__module_at(store, 0x400100, 1000);
        struct hs_interpreted function;
        uint32_t number;
        if (hs_store__function(store, pcs[0], &function, &number) && function.lines_length)
            hs_crc32c(0, function.lines, function.lines_length);
        hs_store__close(store);
    }
    close(fd);
    hs_store__remove(directory);
}

static void read_file(const uint8_t *data, size_t size, int full)
{
    uint8_t *copy = repaired(data, size);
    int fd = memfd_create("trace", 0);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (write(fd, copy, size) != (ssize_t)size)
        abort();
    struct hs_trace *trace;
    struct hs_error error;
    if (!hs_trace__open(path, &trace, &error)) {
        struct hs_replay_counts counts;
        if (full)
            import(trace);
        else
            hs_trace__replay(trace, ignore, NULL, &counts);
        hs_trace__close(trace);
    } else if (!error.message[0]) {
        abort();
    }
    close(fd);
    free(copy);
}

static bool is_same(const struct hs_brief_event *brief, const struct hs_event *event)
{
    return brief->time == event->time && brief->address == event->address && brief->size == event->size &&
           brief->usable == event->usable && brief->stack == event->stack && brief->kind == event->kind;
}

// Both ways of decoding find the same.
static void decode(const struct hs_codec_target *target, const uint8_t *data, size_t size)
{
    int damaged, brief_damaged;
    size_t wides, used = 0;
    size_t count = hs_events_decode(target, data, size, scratch, events, HS_CODEC_MAX_EVENTS, &damaged);
    if (hs_events_decode_brief(target, data, size, scratch, briefs, HS_CODEC_MAX_EVENTS, wide, &wides,
                               &brief_damaged) != count ||
        damaged != brief_damaged)
        abort();
    for (size_t i = 0; i < count; i++) {
        bool is_wide = briefs[i].kind == HS_BRIEF_WIDE;
        if (is_wide != hs_event_is_wide(&events[i]))
            abort();
        if (is_wide ? briefs[i].size != used || memcmp(&wide[used++], &events[i], sizeof *events) != 0
                    : !is_same(&briefs[i], &events[i]))
            abort();
    }
    if (used != wides)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > (1 << 18))
        return 0;
    uint8_t mode = data[0], variant = data[1];
    const struct hs_codec_target target = {variant & 1 ? HS_BYTE_ORDER_BIG : HS_BYTE_ORDER_LITTLE, variant & 2 ? 4 : 8,
                                           variant >> 2 & 7};
    int damaged;
    data += 2, size -= 2;
    switch (mode % 7) {
    case 0:
        decode(&target, data, size);
        break;
    case 1:
        hs_records_decode(&target, data, size / 8, 0, events, HS_CODEC_MAX_EVENTS, &damaged);
        break;
    case 2: {
        struct hs_meta_reader reader;
        struct hs_meta_record record;
        hs_meta_open(&reader, data, size);
        while (hs_meta_next(&reader, &record) > 0)
            continue;
        break;
    }
    case 3:
        hs_meta_unpack(data, size, scratch, plain, variant << 8);
        break;
    case 4:
        read_file(data, size, 0);
        break;
    case 5:
        read_file(data, size, 1);
        break;
    default: {
        struct hs_aggregate_reader reader;
        struct hs_aggregate_head head;
        struct hs_aggregate_record record;
        for (int more = hs_aggregate_open(&reader, data, size, &head); more > 0;)
            more = hs_aggregate_next(&reader, &record);
    }
    }
    return 0;
}
