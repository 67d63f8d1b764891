// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tests/store/trace_writer.h"

#include "format/chunk.h"
#include "format/meta_codec.h"
#include "format/record_write.h"

#include <stdlib.h>
#include <string.h>

#define SHIFT 4

uint64_t random_next(struct random_state *random)
{
    uint64_t z = random->word += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

// ---- records -------------------------------------------------------------------------------------------------------

size_t trace_records(const struct hs_codec_target *target, const struct hs_event *events, size_t count, uint64_t base,
                     uint64_t *words, size_t max_words, size_t *used)
{
    size_t at = 0, i = 0;
    for (; i < count && at + HS_RECORD_WORDS_MAX <= max_words; i++)
        at += hs_record__append(target, &events[i], &base, words + at);
    *used = i;
    return at;
}

// ---- chunks --------------------------------------------------------------------------------------------------------

static void write_header(struct trace_writer *writer)
{
    uint8_t page[HS_FILE_HEADER_SIZE] = {0};
    hs_file_header_seal(&writer->header, page);
    fwrite(page, 1, sizeof page, writer->file);
}

void trace_writer__open(struct trace_writer *writer, const char *path, uint8_t byte_order, uint8_t pointer_size)
{
    trace_writer__open_for(writer, path, 62, &(struct hs_codec_target){byte_order, pointer_size, SHIFT});
}

void trace_writer__open_for(struct trace_writer *writer, const char *path, uint16_t machine,
                            const struct hs_codec_target *target)
{
    *writer = (struct trace_writer){.file = fopen(path, "wb+"), .target = *target};
    if (!writer->file)
        abort();
    writer->scratch = aligned_alloc(64, HS_CODEC_SCRATCH_SIZE);
    writer->output = malloc(HS_CODEC_MAX_OUTPUT);
    struct hs_file_header *header = &writer->header;
    memcpy(header->magic, HS_FILE_MAGIC, HS_FILE_MAGIC_LENGTH);
    header->version_major = HS_FILE_VERSION_MAJOR;
    header->version_minor = HS_FILE_VERSION_MINOR;
    header->byte_order = target->byte_order;
    header->pointer_size = target->pointer_size;
    header->address_shift = target->address_shift;
    header->clock_source = HS_CLOCK_MONOTONIC;
    header->machine = machine;
    header->pid = 4711;
    header->parent_pid = 4710;
    header->header_size = HS_FILE_HEADER_SIZE;
    header->trace_id[0] = 0x0123456789abcdef;
    header->trace_id[1] = 0xfedcba9876543210;
    header->start_monotonic_ns = 1000000000;
    header->start_realtime_ns = 1700000000000000000;
    write_header(writer);
    writer->offset = HS_FILE_HEADER_SIZE;
}

void trace_writer__set_clock(struct trace_writer *writer, uint8_t clock_source)
{
    writer->header.clock_source = clock_source;
    fseek(writer->file, 0, SEEK_SET);
    write_header(writer);
}

void trace_writer__chunk(struct trace_writer *writer, struct hs_chunk_header *chunk, const void *payload)
{
    uint8_t bytes[HS_CHUNK_HEADER_SIZE];
    static const uint8_t zeros[8];
    hs_chunk_seal(chunk, payload, bytes);
    fwrite(bytes, 1, sizeof bytes, writer->file);
    fwrite(payload, 1, chunk->stored_length, writer->file);
    fwrite(zeros, 1, hs_chunk_size(chunk->stored_length) - sizeof bytes - chunk->stored_length, writer->file);
    if (chunk->kind != HS_CHUNK_SLOT && chunk->kind != HS_CHUNK_FOOTER) {
        writer->footer = realloc(writer->footer, writer->footer_length + HS_FOOTER_ENTRY_SIZE);
        hs_footer_entry_write(writer->footer + writer->footer_length, writer->offset, bytes);
        writer->footer_length += HS_FOOTER_ENTRY_SIZE;
    }
    writer->offset += hs_chunk_size(chunk->stored_length);
}

static void put_target(const struct trace_writer *writer, uint8_t *to, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        to[writer->target.byte_order == HS_BYTE_ORDER_BIG ? size - 1 - i : i] = (uint8_t)(value >> 8 * i);
}

// A slot as the process leaves it; `payload` is records (words) or meta bytes.
static void live_slot(struct trace_writer *writer, uint32_t use, uint32_t stream, uint64_t base, const void *payload,
                      size_t length)
{
    static uint8_t slot[HS_SLOT_SIZE - HS_CHUNK_HEADER_SIZE];
    memset(slot, 0, sizeof slot);
    put_target(writer, slot, use, 4);
    put_target(writer, slot + 4, stream, 4);
    put_target(writer, slot + 8, writer->sequence, 8);
    put_target(writer, slot + 16, base, 8);
    if (use == HS_SLOT_META)
        memcpy(slot + 32, payload, length);
    for (size_t i = 0; use == HS_SLOT_EVENTS && i < length / 8; i++)
        put_target(writer, slot + 32 + 8 * i, ((const uint64_t *)payload)[i], 8);
    struct hs_chunk_header chunk = {
        .kind = HS_CHUNK_SLOT, .flags = HS_CHUNK_LIVE, .stored_length = sizeof slot, .plain_length = sizeof slot};
    trace_writer__chunk(writer, &chunk, slot);
}

void trace_writer__events(struct trace_writer *writer, uint32_t stream, const struct hs_event *events, size_t count,
                          bool live)
{
    static uint64_t words[HS_SLOT_RECORDS_SIZE / 8];
    while (count) {
        size_t used;
        uint64_t base = events->kind == HS_EVENT_REALLOC ? events->begin_time : events->time;
        size_t length = trace_records(&writer->target, events, count, base, words, sizeof words / 8, &used);
        writer->sequence++;
        events += used;
        count -= used;
        if (live && !count) {
            live_slot(writer, HS_SLOT_EVENTS, stream, base, words, 8 * length);
            return;
        }
        struct hs_encoded encoded;
        hs_events_encode(&writer->target, words, length, base, writer->scratch, writer->output, &encoded);
        struct hs_chunk_header chunk = {.kind = HS_CHUNK_EVENTS,
                                        .stored_length = encoded.length,
                                        .plain_length = encoded.length,
                                        .stream = stream,
                                        .count = encoded.count,
                                        .sequence = writer->sequence,
                                        .first_time = encoded.first_time,
                                        .last_time = encoded.last_time};
        trace_writer__chunk(writer, &chunk, writer->output);
    }
}

void trace_writer__meta(struct trace_writer *writer, const uint8_t *bytes, size_t length, bool live)
{
    writer->sequence++;
    if (live) {
        live_slot(writer, HS_SLOT_META, 0, 0, bytes, length);
        return;
    }
    struct hs_chunk_header chunk = {.kind = HS_CHUNK_META,
                                    .stored_length = (uint32_t)length,
                                    .plain_length = (uint32_t)length,
                                    .sequence = writer->sequence};
    size_t taken = 0, packed = 0;
    if (writer->pack_meta)
        packed = hs_meta_pack(bytes, length, writer->scratch, writer->output, HS_CODEC_MAX_OUTPUT, &taken);
    if (packed && taken == length) {
        chunk.flags = HS_CHUNK_PACKED;
        chunk.stored_length = (uint32_t)packed;
        bytes = writer->output;
    }
    trace_writer__chunk(writer, &chunk, bytes);
}

void trace_writer__close(struct trace_writer *writer, bool clean, uint64_t end_time)
{
    uint8_t live[sizeof(struct hs_live)] = {0};
    if (clean) {
        struct hs_chunk_header chunk = {.kind = HS_CHUNK_FOOTER,
                                        .stored_length = (uint32_t)writer->footer_length,
                                        .plain_length = (uint32_t)writer->footer_length};
        put_target(writer, live + offsetof(struct hs_live, state), HS_STATE_CLOSED, 8);
        put_target(writer, live + offsetof(struct hs_live, footer_offset), writer->offset, 8);
        put_target(writer, live + offsetof(struct hs_live, end_time), end_time, 8);
        trace_writer__chunk(writer, &chunk, writer->footer);
    }
    put_target(writer, live + offsetof(struct hs_live, dropped) + 8 * HS_DROP_NESTED, 7, 8);
    fseek(writer->file, offsetof(struct hs_file_header, live), SEEK_SET);
    fwrite(live, 1, sizeof live, writer->file);
    fclose(writer->file);
    free(writer->scratch);
    free(writer->output);
    free(writer->footer);
}

// ---- random programs -----------------------------------------------------------------------------------------------

#define LIVE_MAX 2000

struct maker {
    struct random_program *program;
    struct random_state random;
    uint64_t live[LIVE_MAX];
    size_t lives;
    uint64_t next_address;
    uint64_t time;
    uint8_t pointer_size;
};

static uint64_t pick_address(struct maker *maker, uint64_t usable)
{
    uint64_t address = maker->next_address;
    maker->next_address += (usable + maker->pointer_size + 15) & ~15ull;
    if (maker->next_address > 0x6000000)
        maker->next_address = 0x1000000;
    // Never an address that is live, as a real allocator.
    for (size_t i = 0; i < maker->lives; i++)
        if (maker->live[i] == address)
            return pick_address(maker, usable);
    return address;
}

static void fill_allocation(struct maker *maker, struct hs_event *event)
{
    struct random_state *random = &maker->random;
    event->stack = 1 + (uint32_t)random_below(random, maker->program->stacks);
    event->size = random_below(random, 10) ? event->stack * 8 % 500 : random_below(random, 100000);
    event->usable = hs_usable_model(event->size, maker->pointer_size);
    if (!random_below(random, 20))
        event->usable += 16 * random_below(random, 9);
    event->address = pick_address(maker, event->usable);
    maker->live[maker->lives++] = event->address;
}

static size_t pick_live(struct maker *maker)
{
    uint64_t back = random_below(&maker->random, 3) ? random_below(&maker->random, 8) : random_next(&maker->random);
    return maker->lives - 1 - back % maker->lives;
}

static uint64_t take_live(struct maker *maker, size_t index)
{
    uint64_t address = maker->live[index];
    maker->live[index] = maker->live[--maker->lives];
    return address;
}

static void make_event(struct maker *maker, struct hs_event *event, bool faults)
{
    struct random_state *random = &maker->random;
    uint64_t choice = random_below(random, 100);
    maker->time += random_below(random, 50) ? 1 + random_below(random, 300) : random_below(random, 1 << 20);
    event->time = maker->time;
    if (maker->lives && (choice < 45 || maker->lives + 2 > LIVE_MAX)) {
        event->kind = HS_EVENT_FREE;
        event->address = take_live(maker, pick_live(maker));
        event->stack = random_below(random, 4) ? 0 : 1 + (uint32_t)random_below(random, maker->program->stacks);
        return;
    }
    if (maker->lives && choice < 55) {
        event->kind = HS_EVENT_REALLOC;
        event->begin_time = maker->time;
        event->time = maker->time += random_below(random, 90);
        event->old_address = take_live(maker, pick_live(maker));
        fill_allocation(maker, event);
        return;
    }
    if (faults && choice == 99) {
        event->kind = HS_EVENT_FREE;
        event->address = 0x70000000 + 16 * random_below(random, 1000);
        return;
    }
    event->kind = choice < 90 ? HS_EVENT_MALLOC : choice < 95 ? HS_EVENT_CALLOC : HS_EVENT_ALIGNED;
    fill_allocation(maker, event);
    if (faults && !random_below(random, 100) && maker->lives > 1) {
        // The block at an address that is still live: its free was missed.
        maker->lives--;
        event->address = maker->live[random_below(random, maker->lives)];
    }
}

void random_program__make(struct random_program *program, uint64_t seed, size_t events, uint32_t threads, bool faults,
                          uint8_t pointer_size)
{
    static struct maker maker;
    maker =
        (struct maker){.program = program, .random = {seed}, .next_address = 0x1000000, .pointer_size = pointer_size};
    *program = (struct random_program){.event = calloc(events + 1, sizeof *program->event),
                                       .stream = calloc(events + 1, sizeof *program->stream),
                                       .count = events,
                                       .threads = threads,
                                       .stacks = 200};
    for (size_t i = 0; i < events; i++) {
        program->stream[i] = (uint32_t)random_below(&maker.random, threads);
        make_event(&maker, &program->event[i], faults);
    }
    program->end_time = maker.time;
}

void random_program__free(struct random_program *program)
{
    free(program->event);
    free(program->stream);
}

static void write_meta(struct trace_writer *writer, const struct random_program *program, bool live)
{
    static uint8_t bytes[HS_SLOT_RECORDS_SIZE];
    struct hs_meta_writer meta;
    static const uint8_t build_id[20] = {1, 2, 3, 4, 5};
    memset(bytes, 0, sizeof bytes);
    hs_meta_begin(&meta, bytes, sizeof bytes);
    hs_meta_clock(&meta, 0, 1000000000, 1700000000000000000);
    hs_meta_info(&meta, "executable", 10, "/usr/bin/example", 16);
    hs_meta_info(&meta, "page-size", 9, "4096", 4);
    hs_meta_module(&meta, 0, 0x400000, 0x500000, 0x400000, build_id, sizeof build_id, "/usr/bin/example", 16);
    for (uint32_t i = 0; i < program->threads; i++)
        hs_meta_thread(&meta, i, 4711 + i, 0, i ? "worker" : "main", i ? 6 : 4);
    for (uint32_t id = 1; id <= program->stacks; id++)
        hs_meta_node(&meta, id, id / 3, 0x400000 + id % 40 * 32);
    hs_meta_mark(&meta, 500, 0, 42, "half way", 8);
    hs_meta_toggle(&meta, 600, true);
    hs_meta_culled(&meta, 3, 10, 1000, 1100, 50000);
    trace_writer__meta(writer, bytes, (size_t)(meta.at - bytes), live);
}

void random_program__write(const struct random_program *program, const char *path, uint8_t byte_order,
                           uint8_t pointer_size, bool live, bool pack_meta)
{
    struct trace_writer writer;
    struct hs_event *own = malloc((program->count + 1) * sizeof *own);
    trace_writer__open(&writer, path, byte_order, pointer_size);
    writer.pack_meta = pack_meta;
    write_meta(&writer, program, live);
    for (uint32_t stream = 0; stream < program->threads; stream++) {
        size_t count = 0;
        for (size_t i = 0; i < program->count; i++)
            if (program->stream[i] == stream)
                own[count++] = program->event[i];
        trace_writer__events(&writer, stream, own, count, live);
    }
    trace_writer__close(&writer, !live, program->end_time);
    free(own);
}
