// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tests/filter/random_trace.h"

#include "tests/store/random_samples.h"

#include <stdlib.h>
#include <string.h>

#define THREADS     4
#define START_NS    1700000000000000000u
#define PAGE        4096
#define MAPS        8
#define MAP_LENGTH  0x1000000u
#define FIRST_BLOCK 0x1000000u

// ---- events --------------------------------------------------------------------------------------------------------

static void stretch(struct random_program *program, uint64_t factor)
{
    for (size_t i = 0; i < program->count; i++) {
        struct hs_event *event = &program->event[i];
        event->time *= factor;
        if (event->kind == HS_EVENT_REALLOC)
            event->begin_time *= factor;
    }
    program->end_time *= factor;
}

// What glibc gave a mapping of its own ends without a word of the next block.
static void give_mappings(struct random_program *program)
{
    for (size_t i = 0; i < program->count; i++) {
        struct hs_event *event = &program->event[i];
        if (event->kind < HS_EVENT_MALLOC || event->kind > HS_EVENT_REALLOC)
            continue;
        if (event->address % 256 == 16 || event->kind == HS_EVENT_ALIGNED)
            event->usable = (event->size + 15) & ~15ull;
    }
}

// Mappings and marks instead of some frees, whose blocks are then never freed.
static void add_others(struct random_program *program, struct random_state *random)
{
    static const uint32_t markers[] = {0, 1, 7, 7, 1, 4294967295u};
    for (size_t i = 0; i < program->count; i++) {
        struct hs_event *event = &program->event[i];
        uint64_t choice = random_below(random, 200);
        if (event->kind != HS_EVENT_FREE || random_below(random, 8))
            continue;
        struct hs_event other = {.time = event->time, .stack = 1 + (uint32_t)random_below(random, program->stacks)};
        if (choice < 60) {
            other.kind = HS_EVENT_MARK;
            other.value = markers[random_below(random, sizeof(markers) / sizeof(markers[0]))];
        } else if (choice < 140) {
            other.kind = HS_EVENT_MMAP;
            other.address = FIRST_BLOCK + random_below(random, MAPS) * MAP_LENGTH / 2;
            other.size = MAP_LENGTH / 2;
            other.fd = -1;
        } else {
            other.kind = HS_EVENT_MUNMAP;
            other.address = FIRST_BLOCK + random_below(random, MAPS) * MAP_LENGTH / 2;
            other.size = MAP_LENGTH / 2;
        }
        *event = other;
    }
}

// ---- the file ------------------------------------------------------------------------------------------------------

static void write_module(struct hs_meta_writer *meta, uint64_t start, const char *path)
{
    static const uint8_t build_id[20] = {9, 8, 7};
    hs_meta_module(meta, 0, start, start + 0x10000, start, build_id, sizeof(build_id), path, strlen(path));
}

static void write_meta(struct trace_writer *writer, const struct random_program *program,
                       const struct random_trace_options *options)
{
    static const char *const threads[THREADS] = {"main", "worker", "worker", "4711"};
    static const char *const libraries[] = {[RANDOM_GLIBC] = "/lib/libc.so.6",
                                            [RANDOM_JEMALLOC] = "/lib/libjemalloc.so.2",
                                            [RANDOM_MUSL] = "/lib/ld-musl-x86_64.so.1"};
    static uint8_t bytes[HS_SLOT_RECORDS_SIZE];
    struct hs_meta_writer meta;
    memset(bytes, 0, sizeof(bytes));
    hs_meta_begin(&meta, bytes, sizeof(bytes));
    hs_meta_clock(&meta, 0, 1000000000, START_NS);
    if (options->clock_is_set)
        hs_meta_clock(&meta, program->end_time / 3, 1000000000 + program->end_time / 3,
                      START_NS + program->end_time / 3 + 3600000000000u);
    write_module(&meta, 0x400000, "/usr/bin/example");
    write_module(&meta, 0x500000, "/usr/lib/libparts.so.1");
    write_module(&meta, 0x600000, "/opt/vendor/lib/libparts.so.2");
    write_module(&meta, 0x700000, libraries[options->allocator]);
    // The main heap begins behind the program, and some blocks lie half way to what comes next.
    hs_meta_info(&meta, "executable", 10, "/usr/bin/example", 16);
    write_module(&meta, 0x9f0000, "/usr/bin/example");
    write_module(&meta, 0x1900000, "/usr/lib/libfar.so");
    for (uint32_t i = 0; i < program->threads; i++)
        hs_meta_thread(&meta, i, 4711 + i, 0, threads[i], strlen(threads[i]));
    for (uint32_t id = 1; id <= program->stacks; id++)
        hs_meta_node(&meta, id, id / 3, 0x400000 + id % 4 * 0x100000 + id % 40 * 32);
    // Frames that are none: the outer ones are missing, the caller was guessed.
    hs_meta_node(&meta, program->stacks + 1, 0, 3);
    hs_meta_node(&meta, program->stacks + 2, program->stacks + 1, 0x400100);
    hs_meta_node(&meta, program->stacks + 3, program->stacks + 2, HS_NODE_GUESSED);
    hs_meta_node(&meta, program->stacks + 4, program->stacks + 3, 0x500100);
    hs_meta_culled(&meta, 3, 10, 1000, 1100, 50000);
    hs_meta_culled(&meta, 90, 1, 10, 16, 50);
    trace_writer__meta(writer, bytes, (size_t)(meta.at - bytes), false);
}

static void write_streams(struct trace_writer *writer, const struct random_program *program)
{
    struct hs_event *own = malloc((program->count + 1) * sizeof(*own));
    for (uint32_t stream = 0; stream < program->threads; stream++) {
        size_t count = 0;
        for (size_t i = 0; i < program->count; i++) {
            if (program->stream[i] == stream)
                own[count++] = program->event[i];
        }
        trace_writer__events(writer, stream, own, count, false);
    }
    free(own);
}

void random_trace__write(const struct random_trace_options *options, const char *path)
{
    struct random_program program;
    struct random_state random = {options->seed ^ 0x5eed};
    struct trace_writer writer;
    random_program__make(&program, options->seed, options->events, THREADS, true, 8);
    stretch(&program, options->time_factor);
    give_mappings(&program);
    add_others(&program, &random);
    for (size_t i = 0; i < program.count; i++)
        program.event[i].stack += program.event[i].stack && !random_below(&random, 50) ? 4 : 0;
    trace_writer__open(&writer, path, HS_BYTE_ORDER_LITTLE, 8);
    write_meta(&writer, &program, options);
    write_streams(&writer, &program);
    if (options->samples) {
        struct hs_event *samples = random_samples__make(&program, &random, options->samples);
        trace_writer__events(&writer, THREADS, samples, options->samples, false);
        free(samples);
    }
    trace_writer__close(&writer, true, program.end_time);
    random_program__free(&program);
}

// ---- names ---------------------------------------------------------------------------------------------------------

#define NODES_MAX  1024
#define FRAMES_MAX 3

static const char *const functions[] = {
    "main",        "run",          "parse_header",        "parse_body",
    "cache_add",   "cache_remove", "std::vector<int>",    "operator new(unsigned long)",
    "a_b_c(int*)", "main.cold",    "table::grow(size_t)", "f"};
static const char *const files[] = {"/src/main.c", "/src/parser/header.c", "/src/parser/body.cc", "/src/cache.c",
                                    "/usr/include/c++/12/bits/stl_vector.h"};
static const char *const modules[] = {"", "/usr/bin/example", "/usr/lib/libparts.so.1",
                                      "/opt/vendor/lib/libparts.so.2"};

static void choose_frame(struct hs_frame *frame, struct random_state *random, bool inlined)
{
    uint64_t choice = random_below(random, 10);
    *frame = (struct hs_frame){.function = functions[random_below(random, sizeof(functions) / sizeof(functions[0]))],
                               .file = files[random_below(random, sizeof(files) / sizeof(files[0]))],
                               .module = modules[random_below(random, sizeof(modules) / sizeof(modules[0]))],
                               .line = 1,
                               .inlined = inlined};
    if (choice == 0) {
        frame->kind = HS_FRAME_OFFSET;
        frame->function = "main+0x10";
        frame->file = NULL;
    }
    if (choice == 1)
        frame->file = NULL;
}

void random_trace__name(const struct hs_store *store, struct hs_trace_symbols *symbols, uint64_t seed)
{
    static struct hs_frame frame[NODES_MAX][FRAMES_MAX];
    static struct hs_frames frames[NODES_MAX];
    struct random_state random = {seed};
    size_t count;
    const struct hs_node *nodes = hs_store__nodes(store, &count);
    for (uint32_t node = 1; node < count && node < NODES_MAX; node++) {
        if (nodes[node].parent ? nodes[node].pc == HS_NODE_GUESSED : nodes[node].pc < HS_CUT_LIMIT)
            continue;
        uint32_t own = 1 + (random_below(&random, 4) ? 0 : (uint32_t)random_below(&random, FRAMES_MAX));
        for (uint32_t i = 0; i < own; i++)
            choose_frame(&frame[node][i], &random, i + 1 < own);
        // Some share their frames with a node before them.
        if (random_below(&random, 5) == 0 && node > 1 && frames[node - 1].count)
            frames[node] = frames[node - 1];
        else
            frames[node] = (struct hs_frames){frame[node], own};
        hs_trace_symbols__set(symbols, node, &frames[node]);
    }
}
