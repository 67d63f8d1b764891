// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tests/store/growing_trace.h"

#include "format/chunk.h"

#include <string.h>

void begin_recording(struct recorder *recorder, const char *path, uint64_t seed, size_t events, uint8_t clock)
{
    *recorder = (struct recorder){.random = {seed}};
    random_program__make(&recorder->program, seed, events, RECORDER_THREADS, true, 8);
    trace_writer__open(&recorder->writer, path, HS_BYTE_ORDER_LITTLE, 8);
    recorder->writer.header.clock_source = clock;
    recorder->writer.header.trace_id[1] = seed;
    uint8_t page[HS_FILE_HEADER_SIZE] = {0};
    hs_file_header_seal(&recorder->writer.header, page);
    fseek(recorder->writer.file, 0, SEEK_SET);
    fwrite(page, 1, sizeof page, recorder->writer.file);
    for (size_t i = 0; i < RECORDER_STREAMS; i++)
        recorder->slot[i].size = 1 + random_below(&recorder->random, RECORDER_SLOT_EVENTS);
}

// Every fifth node is the same as the one before it, as if the recorder had forgotten that one.
static void write_node(struct hs_meta_writer *meta, uint32_t node)
{
    uint32_t same = node % 5 ? node : node - 1;
    hs_meta_node(meta, node, same / 3, 0x400000 + same * 32);
}

void write_records(struct recorder *recorder, const uint8_t *bytes, size_t length)
{
    recorder->writer.sequence = UINT64_MAX; // the next one is 0
    trace_writer__meta(&recorder->writer, bytes, length, false);
}

static void write_point(struct recorder *recorder)
{
    uint8_t bytes[128] = {0};
    struct hs_meta_writer meta;
    uint64_t time = recorder->last_time;
    hs_meta_begin(&meta, bytes, sizeof bytes);
    hs_meta_clock(&meta, time, 1000000000 + time * 2 + time / (3 + recorder->next % 5), 1700000000000000000 + 2 * time);
    if (!recorder->nodes)
        hs_meta_info(&meta, "page-size", 9, "4096", 4);
    write_records(recorder, bytes, (size_t)(meta.at - bytes));
}

static void write_meta(struct recorder *recorder, uint32_t nodes)
{
    uint8_t bytes[8192] = {0};
    struct hs_meta_writer meta;
    write_point(recorder);
    hs_meta_begin(&meta, bytes, sizeof bytes);
    while (recorder->nodes < nodes) {
        recorder->nodes++;
        write_node(&meta, recorder->nodes);
    }
    recorder->writer.sequence = recorder->sequence++;
    trace_writer__meta(&recorder->writer, bytes, (size_t)(meta.at - bytes), false);
}

static void write_slot(struct recorder *recorder, uint32_t stream, bool live)
{
    struct slot *slot = &recorder->slot[stream];
    if (!slot->count)
        return;
    recorder->writer.sequence = slot->sequence;
    trace_writer__events(&recorder->writer, stream, slot->event, slot->count, live);
    if (live)
        return;
    slot->count = 0;
    slot->size = 1 + random_below(&recorder->random, RECORDER_SLOT_EVENTS);
}

static void record(struct recorder *recorder, uint32_t stream, const struct hs_event *event)
{
    struct slot *slot = &recorder->slot[stream];
    if (event->stack > recorder->nodes)
        write_meta(recorder, event->stack);
    if (!slot->count)
        slot->sequence = recorder->sequence++;
    slot->event[slot->count++] = *event;
    recorder->last_time = event->time;
    if (slot->count == slot->size)
        write_slot(recorder, stream, false);
}

// Beside the program's own: mappings, pools, marks and samples.
static void record_other(struct recorder *recorder, uint64_t time)
{
    struct random_state *random = &recorder->random;
    uint64_t address = 0x7e0000000000 + random_below(random, 30) * 0x10000;
    struct hs_event event = {.time = time, .stack = 1 + (uint32_t)random_below(random, recorder->nodes + 1)};
    switch (random_below(random, 6)) {
    case 0:
    case 1:
        event.kind = HS_EVENT_MMAP;
        event.address = address;
        event.size = random_below(random, 20) ? 4096 * (1 + random_below(random, 40)) : INT64_MAX;
        event.fd = -1;
        break;
    case 2:
        event.kind = HS_EVENT_MUNMAP;
        event.address = address;
        event.size = 4096 * (1 + random_below(random, 20));
        break;
    case 3:
        event.kind = HS_EVENT_MREMAP;
        event.old_address = address;
        event.old_size = 4096;
        event.address = address + 0x200000;
        event.size = 8192;
        break;
    case 4:
        event.kind = random_below(random, 3) ? HS_EVENT_POOL_ALLOC : HS_EVENT_POOL_FREE;
        event.pool = 0x5000 + random_below(random, 3);
        event.address = 0x100000 + 64 * random_below(random, 50);
        event.size = event.usable = 64;
        break;
    default:
        event = (struct hs_event){.kind = HS_EVENT_MARK, .time = time, .value = random_below(random, 100)};
    }
    record(recorder, RECORDER_THREADS, &event);
}

void record_until(struct recorder *recorder, size_t end)
{
    for (; recorder->next < end; recorder->next++) {
        struct hs_event *event = &recorder->program.event[recorder->next];
        // Of what is added up large numbers take what later ones do not get.
        if (event->kind != HS_EVENT_FREE && !random_below(&recorder->random, 40))
            event->size = UINT64_MAX >> random_below(&recorder->random, 40);
        if (!random_below(&recorder->random, 20))
            record_other(recorder, event->kind == HS_EVENT_REALLOC ? event->begin_time : event->time);
        record(recorder, recorder->program.stream[recorder->next], event);
        if (!random_below(&recorder->random, 500))
            write_meta(recorder, recorder->nodes);
    }
}

void show(struct recorder *recorder)
{
    for (uint32_t i = 0; i < RECORDER_STREAMS; i++)
        write_slot(recorder, i, true);
    fflush(recorder->writer.file);
}

void end_recording(struct recorder *recorder)
{
    for (uint32_t i = 0; i < RECORDER_STREAMS; i++)
        write_slot(recorder, i, false);
    trace_writer__close(&recorder->writer, true, recorder->last_time + 1);
    random_program__free(&recorder->program);
}
