// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Writes the traces that the server is asked about.
//
//   make_trace example FILE PROGRAM                          three blocks whose answers can be worked out by hand
//   make_trace random FILE PROGRAM SEED EVENTS ID [growing|huge]  a random program; ID is one hexadecimal digit; huge:
//                                                            with blocks that are too large to add up
//   make_trace chains|clock|culled FILE PROGRAM              stacks in two deep chains by turns; blocks while the clock
//   is
//                                                            set back; culled sums of nothing
#include "tests/store/random_samples.h"
#include "tests/store/trace_writer.h"

#include "format/chunk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SECOND ((uint64_t)1000000000)

enum { SCALE = 100, MAPPINGS = 40, OPTIONS = 5, MAPPING_STREAM = 9, SAMPLES = 400 };

static void rewrite_header(struct trace_writer *writer)
{
    uint8_t page[HS_FILE_HEADER_SIZE] = {0};
    hs_file_header_seal(&writer->header, page);
    fseek(writer->file, 0, SEEK_SET);
    fwrite(page, 1, sizeof(page), writer->file);
    fseek(writer->file, 0, SEEK_END);
}

static void begin_meta(struct hs_meta_writer *meta, uint8_t *bytes, size_t size, const char *program, uint64_t start_ns)
{
    static const uint8_t id[20] = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa,
                                   0xbb, 0xcc, 0xdd, 0xee, 0xff, 0x00, 0x11, 0x22, 0x33, 0x44};
    hs_meta_begin(meta, bytes, size);
    hs_meta_clock(meta, 0, SECOND, start_ns);
    hs_meta_info(meta, "executable", 10, program, strlen(program));
    hs_meta_info(meta, "command", 7, "a.out \"two words\"", 17);
    hs_meta_module(meta, 0, 0x400000, 0x410000, 0, id, sizeof(id), program, strlen(program));
    hs_meta_module(meta, 0, 0x7f0000000000, 0x7f0000100000, 0x7f0000000000, id, 0, "/usr/lib/libc.so.6", 18);
}

// ---- the example ----------------------------------------------------------------------------------------------------

static struct hs_event allocation(double time, uint64_t address, uint64_t size, uint32_t stack)
{
    return (struct hs_event){.kind = HS_EVENT_MALLOC,
                             .time = (uint64_t)(time * 1e9),
                             .address = address,
                             .size = size,
                             .usable = size == 100 ? 104 : hs_usable_model(size, 8),
                             .stack = stack};
}

static struct hs_event release(double time, uint64_t address)
{
    return (struct hs_event){.kind = HS_EVENT_FREE, .time = (uint64_t)(time * 1e9), .address = address};
}

static void write_example(const char *path, const char *program)
{
    static uint8_t bytes[8192];
    struct trace_writer writer;
    struct hs_meta_writer meta;
    const struct hs_event events[] = {allocation(0.5, 0x1000, 100, 2), allocation(1.0, 0x2000, 50, 3),
                                      allocation(2.0, 0x3000, 70, 2), release(3.0, 0x2000), release(4.0, 0x3000)};
    trace_writer__open(&writer, path, HS_BYTE_ORDER_LITTLE, 8);
    writer.header.start_realtime_ns = 1000 * SECOND;
    writer.header.trace_id[0] = 0xabcdef0123456789;
    rewrite_header(&writer);
    begin_meta(&meta, bytes, sizeof(bytes), program, 1000 * SECOND);
    hs_meta_thread(&meta, 1, 4711, 0, "main", 4);
    hs_meta_node(&meta, 1, 0, 0x401011); // main
    hs_meta_node(&meta, 2, 1, 0x401111); // main, f
    hs_meta_node(&meta, 3, 1, 0x401211); // main, g
    trace_writer__meta(&writer, bytes, (size_t)(meta.at - bytes), false);
    trace_writer__events(&writer, 1, events, sizeof(events) / sizeof(*events), false);
    trace_writer__close(&writer, true, 10 * SECOND);
}

// ---- odd ones -------------------------------------------------------------------------------------------------------

enum { CHAINED = 400000, CULLED_STACKS = 2000 };

static void begin_odd(struct trace_writer *writer, const char *path)
{
    trace_writer__open(writer, path, HS_BYTE_ORDER_LITTLE, 8);
    writer->header.start_realtime_ns = 1000 * SECOND;
    writer->header.trace_id[0] = 0xabcdef0123456789;
    rewrite_header(writer);
}

static void write_chains(const char *path, const char *program)
{
    static uint8_t bytes[8192];
    struct trace_writer writer;
    struct hs_meta_writer meta;
    const struct hs_event events[] = {allocation(1.0, 0x1000, 100, CHAINED), allocation(2.0, 0x2000, 50, CHAINED - 1)};
    begin_odd(&writer, path);
    begin_meta(&meta, bytes, sizeof(bytes), program, 1000 * SECOND);
    for (uint32_t id = 1; id <= CHAINED; id++) {
        while (!hs_meta_node(&meta, id, id > 2 ? id - 2 : 0, 0x401000 + id % 200 * 16)) {
            trace_writer__meta(&writer, bytes, (size_t)(meta.at - bytes), false);
            hs_meta_begin(&meta, bytes, sizeof(bytes));
        }
    }
    trace_writer__meta(&writer, bytes, (size_t)(meta.at - bytes), false);
    trace_writer__events(&writer, 1, events, sizeof(events) / sizeof(*events), false);
    trace_writer__close(&writer, true, 10 * SECOND);
}

static void write_clock(const char *path, const char *program)
{
    static uint8_t bytes[8192];
    struct trace_writer writer;
    struct hs_meta_writer meta;
    const struct hs_event events[] = {allocation(3.0, 0x502000, 100, 1), release(5.0, 0x502000),
                                      allocation(7.0, 0x502100, 100, 1), release(8.5, 0x502100)};
    begin_odd(&writer, path);
    begin_meta(&meta, bytes, sizeof(bytes), program, 1000 * SECOND);
    hs_meta_clock(&meta, 2 * SECOND, 3 * SECOND, 1020 * SECOND);
    hs_meta_clock(&meta, 4 * SECOND, 5 * SECOND, 1008 * SECOND);
    hs_meta_clock(&meta, 6 * SECOND, 7 * SECOND, 1040 * SECOND);
    hs_meta_node(&meta, 1, 0, 0x401011);
    trace_writer__meta(&writer, bytes, (size_t)(meta.at - bytes), false);
    trace_writer__events(&writer, 1, events, sizeof(events) / sizeof(*events), false);
    trace_writer__close(&writer, true, 10 * SECOND);
}

// Each stack has a block but 1025 and 1500, which have sums of nothing.
static void write_culled(const char *path, const char *program)
{
    static uint8_t bytes[HS_SLOT_RECORDS_SIZE];
    static struct hs_event events[CULLED_STACKS];
    struct trace_writer writer;
    struct hs_meta_writer meta;
    size_t count = 0;
    begin_odd(&writer, path);
    begin_meta(&meta, bytes, sizeof(bytes), program, 1000 * SECOND);
    for (uint32_t id = 1; id <= CULLED_STACKS; id++) {
        hs_meta_node(&meta, id, 0, 0x401000 + id * 16);
        if (id != 1025 && id != 1500)
            events[count++] = allocation(1 + id * 0.001, 0x10000 + id * 0x100, id, id);
    }
    hs_meta_culled(&meta, 1025, 0, 0, 0, 0);
    hs_meta_culled(&meta, 1500, 0, 0, 0, 0);
    trace_writer__meta(&writer, bytes, (size_t)(meta.at - bytes), false);
    trace_writer__events(&writer, 1, events, count, false);
    trace_writer__close(&writer, true, 10 * SECOND);
}

static const struct {
    const char *name;
    void (*write)(const char *path, const char *program);
} by_name[] = {{"example", write_example}, {"chains", write_chains}, {"clock", write_clock}, {"culled", write_culled}};

// ---- random ones ----------------------------------------------------------------------------------------------------

static void write_random_meta(struct trace_writer *writer, const struct random_program *program, const char *path)
{
    static uint8_t bytes[HS_SLOT_RECORDS_SIZE];
    struct hs_meta_writer meta;
    begin_meta(&meta, bytes, sizeof(bytes), path, writer->header.start_realtime_ns);
    for (uint32_t i = 0; i < program->threads; i++)
        hs_meta_thread(&meta, i, 4711 + i, 0, i ? "worker" : "main", i ? 6 : 4);
    for (uint32_t id = 1; id <= program->stacks; id++)
        hs_meta_node(&meta, id, id / 3, id % 7 ? 0x401011 + id % 48 * 32 : 0x123456789a + id);
    for (uint64_t i = 1; i < 4; i++)
        hs_meta_mark(&meta, program->end_time * i / 4, 0, i, "mark", 4);
    trace_writer__meta(writer, bytes, (size_t)(meta.at - bytes), false);
}

static void stretch(struct random_program *program)
{
    for (size_t i = 0; i < program->count; i++) {
        program->event[i].time *= SCALE;
        if (program->event[i].kind == HS_EVENT_REALLOC)
            program->event[i].begin_time *= SCALE;
    }
    program->end_time *= SCALE;
}

static void make_huge(struct random_program *program, struct random_state *random)
{
    static const uint64_t sizes[] = {UINT64_MAX, INT64_MAX, UINT64_MAX / 2 + 1};
    for (size_t i = 0; i < program->count; i++)
        if (program->event[i].kind != HS_EVENT_FREE && !random_below(random, 4))
            program->event[i].size = sizes[random_below(random, 3)];
}

// Mappings, of which some pages are touched and some are unmapped in part, and calls of mallopt.
static void write_mappings(struct trace_writer *writer, struct random_state *random, uint64_t end_time)
{
    struct hs_event event[3 * MAPPINGS + OPTIONS];
    size_t count = 0;
    for (uint64_t i = 0; i < MAPPINGS; i++) {
        uint64_t address = 0x7e0000000000 + i * 0x1000000, pages = 1 + random_below(random, 50);
        uint64_t time = end_time * i / (MAPPINGS + 1);
        event[count++] = (struct hs_event){.kind = HS_EVENT_MMAP,
                                           .time = time,
                                           .address = address,
                                           .size = pages * 4096,
                                           .stack = 1 + (uint32_t)random_below(random, 200),
                                           .protection = (uint32_t)random_below(random, 8),
                                           .map_flags = MAP_PRIVATE | MAP_ANONYMOUS,
                                           .fd = -1};
        event[count++] = (struct hs_event){.kind = HS_EVENT_SAMPLE,
                                           .time = time + 500,
                                           .sampled = HS_SAMPLE_FAULT,
                                           .tid = 1,
                                           .address = address,
                                           .size = (1 + i % pages) * 4096};
        uint64_t first = random_below(random, pages), left = pages - first;
        if (random_below(random, 2))
            event[count++] = (struct hs_event){.kind = HS_EVENT_MUNMAP,
                                               .time = time + 1000,
                                               .address = address + first * 4096,
                                               .size = (1 + random_below(random, left)) * 4096};
        if (i < OPTIONS)
            event[count++] = (struct hs_event){.kind = HS_EVENT_MALLOPT,
                                               .time = time + 2000,
                                               .parameter = -(int32_t)i * 2,
                                               .argument = 7,
                                               .result = 1};
    }
    trace_writer__events(writer, MAPPING_STREAM, event, count, false);
}

static void write_random(char **words, bool growing, bool huge)
{
    struct random_program program;
    struct trace_writer writer;
    uint64_t seed = strtoull(words[2], NULL, 10);
    size_t events = strtoull(words[3], NULL, 10);
    struct random_state random = {seed + 1};
    struct hs_event *own = calloc(events + 1, sizeof(*own));
    random_program__make(&program, seed, events, 3, false, 8);
    stretch(&program);
    if (huge)
        make_huge(&program, &random);
    trace_writer__open(&writer, words[0], HS_BYTE_ORDER_LITTLE, 8);
    writer.header.trace_id[1] = strtoull(words[4], NULL, 16);
    rewrite_header(&writer);
    write_random_meta(&writer, &program, words[1]);
    for (uint32_t stream = 0; stream < program.threads; stream++) {
        size_t count = 0;
        for (size_t i = 0; i < program.count; i++)
            if (program.stream[i] == stream)
                own[count++] = program.event[i];
        trace_writer__events(&writer, stream, own, count, false);
    }
    write_mappings(&writer, &random, program.end_time);
    struct hs_event *samples = random_samples__make(&program, &random, SAMPLES);
    trace_writer__events(&writer, program.threads, samples, SAMPLES, false);
    free(samples);
    trace_writer__close(&writer, !growing, program.end_time);
    random_program__free(&program);
    free(own);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 4 && i < sizeof(by_name) / sizeof(*by_name); i++) {
        if (strcmp(argv[1], by_name[i].name) != 0)
            continue;
        by_name[i].write(argv[2], argv[3]);
        return 0;
    }
    if (argc >= 7 && !strcmp(argv[1], "random")) {
        const char *how = argc == 8 ? argv[7] : "";
        write_random(argv + 2, !strcmp(how, "growing"), !strcmp(how, "huge"));
        return 0;
    }
    fputs("usage: make_trace example|chains|clock|culled FILE PROGRAM | random FILE PROGRAM SEED EVENTS ID "
          "[growing|huge]\n",
          stderr);
    return 2;
}
