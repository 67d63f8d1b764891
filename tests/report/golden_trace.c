// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Writes the golden trace: a few stacks with everything that reports and exports have to cope with. Every number in the
// expected texts can be checked by hand against the calls in write_events().
#include "format/chunk.h"
#include "format/event_codec.h"
#include "format/meta.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MILLISECOND 1000000u
#define WORDS       65536

enum { PROGRAM_START = 0x400000, PROGRAM_END = 0x410000, MISSING_START = 0x7f0000000000, VDSO_START = 0x7fff00000000 };

// Stacks by the node they end in.
enum stack {
    MAIN = 1,
    LOAD,      // main, load_config
    PARSE,     // main, load_config, parse_line with copy_token inlined
    LIST,      // main, List::add
    NEW,       // main, List::add, operator new
    WORKER,    // worker_thread
    RUST,      // worker_thread, mycrt::compute
    MISSING,   // worker_thread, a library that is not on this machine
    CUT,       // no unwind information
    ODD,       // cut, a name with all kinds of characters
    VDSO,      // main, vdso
    NOWHERE,   // main, an address in no module
    OTHER_LINE // main, load_config, parse_line elsewhere
};

struct events {
    uint64_t words[WORDS];
    size_t count;
    uint64_t now, last;
    unsigned records;
};

static FILE *out;
static uint64_t sequence;

static void check(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "golden_trace: %s\n", what);
    exit(1);
}

// ---- chunks --------------------------------------------------------------------------------------------------------

static void write_header(void)
{
    static uint8_t page[HS_FILE_HEADER_SIZE];
    struct hs_file_header header = {.version_major = HS_FILE_VERSION_MAJOR,
                                    .version_minor = HS_FILE_VERSION_MINOR,
                                    .byte_order = HS_BYTE_ORDER_LITTLE,
                                    .pointer_size = 8,
                                    .address_shift = 4,
                                    .clock_source = HS_CLOCK_MONOTONIC,
                                    .machine = EM_X86_64,
                                    .pid = 4242,
                                    .parent_pid = 4241,
                                    .header_size = HS_FILE_HEADER_SIZE,
                                    .trace_id = {0x0123456789abcdef, 0xfedcba9876543210},
                                    .start_monotonic_ns = 1000000000,
                                    .start_realtime_ns = 1700000000000000000};
    memcpy(header.magic, HS_FILE_MAGIC, HS_FILE_MAGIC_LENGTH);
    header.live.state = HS_STATE_CLOSED;
    header.live.end_time = 2000 * (uint64_t)MILLISECOND;
    header.live.dropped[HS_DROP_BUFFER] = 3;
    header.live.truncated[1] = 1;
    memcpy(page, &header, sizeof(header));
    hs_file_header_seal(&header, page);
    check(fwrite(page, 1, sizeof(page), out) == sizeof(page), "cannot write");
}

static void write_chunk(struct hs_chunk_header chunk, const void *payload)
{
    static const uint8_t padding[HS_CHUNK_ALIGNMENT];
    uint8_t bytes[HS_CHUNK_HEADER_SIZE];
    uint32_t length = chunk.stored_length;
    chunk.magic = HS_CHUNK_MAGIC;
    chunk.plain_length = length;
    hs_chunk_seal(&chunk, payload, bytes);
    size_t rest = hs_chunk_size(length) - HS_CHUNK_HEADER_SIZE - length;
    check(fwrite(bytes, 1, sizeof(bytes), out) == sizeof(bytes) && fwrite(payload, 1, length, out) == length &&
              fwrite(padding, 1, rest, out) == rest,
          "cannot write");
}

// ---- meta ----------------------------------------------------------------------------------------------------------

static void add_info(struct hs_meta_writer *meta, const char *key, const char *value)
{
    check(hs_meta_info(meta, key, strlen(key), value, strlen(value)), "no room for info");
}

static void add_module(struct hs_meta_writer *meta, uint64_t start, uint64_t end, uint64_t bias, const char *path)
{
    static const uint8_t id[20] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99,
                                   0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0x00, 0x11, 0x22, 0x33};
    check(hs_meta_module(meta, 0, start, end, bias, id, sizeof(id), path, strlen(path)), "no room for a module");
}

static void add_nodes(struct hs_meta_writer *meta)
{
    static const struct {
        uint32_t parent;
        uint64_t pc;
    } nodes[] = {[MAIN] = {0, 0x401011},
                 [LOAD] = {MAIN, 0x401121},
                 [PARSE] = {LOAD, 0x401251},
                 [LIST] = {MAIN, 0x401331},
                 [NEW] = {LIST, 0x401441},
                 [WORKER] = {0, 0x401651},
                 [RUST] = {WORKER, 0x401561},
                 [MISSING] = {WORKER, MISSING_START + 0x1234},
                 [CUT] = {0, 1},
                 [ODD] = {CUT, 0x401771},
                 [VDSO] = {MAIN, VDSO_START + 0xa00},
                 [NOWHERE] = {MAIN, 0x123456789abc},
                 [OTHER_LINE] = {LOAD, 0x401291}};
    for (uint32_t id = 1; id < sizeof(nodes) / sizeof(nodes[0]); id++)
        check(hs_meta_node(meta, id, nodes[id].parent, nodes[id].pc), "no room for a node");
}

static void write_meta(void)
{
    static uint8_t buffer[32768];
    struct hs_meta_writer meta;
    hs_meta_begin(&meta, buffer, sizeof(buffer));
    hs_meta_clock(&meta, 0, 1000000000, 1700000000000000000);
    hs_meta_clock(&meta, 2000 * (uint64_t)MILLISECOND, 3000000000, 1700000002000000000);
    add_info(&meta, "executable", "/app/bin/golden");
    add_info(&meta, "command", "golden --config \"a b.conf\"");
    add_module(&meta, PROGRAM_START, PROGRAM_END, 0, "/app/bin/golden");
    add_module(&meta, MISSING_START, MISSING_START + 0x10000, MISSING_START, "/nonexistent/libmissing\xff.so");
    add_module(&meta, VDSO_START, VDSO_START + 0x2000, VDSO_START, "[vdso]");
    hs_meta_thread(&meta, 1, 4242, 0, "golden", 6);
    hs_meta_thread(&meta, 2, 4243, 100 * MILLISECOND, "worker", 6);
    add_nodes(&meta);
    struct hs_chunk_header chunk = {.kind = HS_CHUNK_META,
                                    .sequence = ++sequence,
                                    .stored_length = (uint32_t)(meta.at - buffer),
                                    .last_time = 2000 * (uint64_t)MILLISECOND};
    write_chunk(chunk, buffer);
}

// ---- events --------------------------------------------------------------------------------------------------------

static void add_word(struct events *events, uint64_t word)
{
    check(events->count < WORDS, "too many events");
    events->words[events->count++] = word;
}

// The first word of a record at events->now.
static void add_first(struct events *events, unsigned kind, uint64_t address)
{
    uint64_t delta = events->now - events->last;
    if (delta >= HS_RECORD_DELTA_LIMIT) {
        add_word(events, HS_RECORD_TIME | events->now << 4);
        delta = 0;
    }
    add_word(events, kind | (address >> 4) << HS_RECORD_ADDRESS_POS | delta << HS_RECORD_DELTA_POS);
    events->last = events->now;
    events->records++;
}

static void allocate(struct events *events, uint64_t address, uint32_t size, enum stack stack)
{
    events->now += MILLISECOND;
    add_first(events, HS_RECORD_MALLOC, address);
    add_word(events, size | (uint64_t)stack << 32);
}

static void release(struct events *events, uint64_t address)
{
    events->now += MILLISECOND;
    add_first(events, HS_RECORD_FREE, address);
}

static void reallocate(struct events *events, uint64_t from, uint64_t to, uint32_t size, enum stack stack)
{
    events->now += MILLISECOND;
    add_first(events, HS_RECORD_REALLOC, to);
    add_word(events, size | (uint64_t)stack << 32);
    add_word(events, from | (uint64_t)100 << 48);
}

static void write_stream(struct events *events, uint32_t stream)
{
    static _Alignas(16) uint8_t scratch[HS_CODEC_SCRATCH_SIZE];
    static uint8_t output[HS_CODEC_MAX_OUTPUT];
    struct hs_codec_target target = {HS_BYTE_ORDER_LITTLE, 8, 4};
    struct hs_encoded encoded;
    hs_events_encode(&target, events->words, events->count, 0, scratch, output, &encoded);
    check(encoded.count == events->records, "not every event was encoded");
    struct hs_chunk_header chunk = {.kind = HS_CHUNK_EVENTS,
                                    .stream = stream,
                                    .count = encoded.count,
                                    .sequence = ++sequence,
                                    .stored_length = encoded.length,
                                    .first_time = encoded.first_time,
                                    .last_time = encoded.last_time};
    write_chunk(chunk, output);
}

static void write_main_thread(void)
{
    static struct events events;
    // 50 tokens of 100 bytes, of which 5 stay; 10 lists of 4096 bytes that all go.
    for (unsigned i = 0; i < 50; i++)
        allocate(&events, 0x100000 + i * 0x100, 100, i % 2 ? PARSE : OTHER_LINE);
    for (unsigned i = 0; i < 10; i++)
        allocate(&events, 0x200000 + i * 0x2000, 4096, NEW);
    for (unsigned i = 0; i < 45; i++)
        release(&events, 0x100000 + i * 0x100);
    for (unsigned i = 0; i < 10; i++)
        release(&events, 0x200000 + i * 0x2000);
    // One block that grows twice, moving once, and goes.
    allocate(&events, 0x300000, 100, LOAD);
    reallocate(&events, 0x300000, 0x300000, 200, LOAD);
    reallocate(&events, 0x300000, 0x310000, 400, LOAD);
    release(&events, 0x310000);
    allocate(&events, 0x400000, 333, ODD);
    allocate(&events, 0x400400, 7, 0);
    allocate(&events, 0x400800, 50, VDSO);
    allocate(&events, 0x400c00, 60, NOWHERE);
    write_stream(&events, 1);
}

static void write_worker(void)
{
    static struct events events;
    events.now = 100 * MILLISECOND;
    // 20 temporary blocks of 64 bytes; 2 blocks of 1000 bytes that stay.
    for (unsigned i = 0; i < 20; i++) {
        allocate(&events, 0x500000, 64, RUST);
        release(&events, 0x500000);
    }
    allocate(&events, 0x600000, 1000, MISSING);
    allocate(&events, 0x600800, 1000, MISSING);
    write_stream(&events, 2);
}

int main(int argc, char **argv)
{
    check(argc == 2, "usage: golden_trace FILE");
    out = fopen(argv[1], "wb");
    check(out != NULL, "cannot open the file");
    write_header();
    write_meta();
    write_main_thread();
    write_worker();
    check(!fclose(out), "cannot write");
    return 0;
}
