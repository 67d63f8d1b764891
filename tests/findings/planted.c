// SPDX-License-Identifier: MIT OR Apache-2.0
#include "planted.h"

#include "command.h"
#include "format/chunk.h"
#include "tests/store/trace_writer.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PROGRAM 0x10000000u
#define SPAN    0x100000u
#define HEAP    0x20000000u
#define PAGE    4096u
#define MS      1000000u
#define ROUNDS  1000u

enum { MAIN = 1, WORK, PLANTED }; // stacks

static struct hs_event *event;
static size_t events, room;
static uint64_t top; // of the heap
static enum planted_build chosen;
static unsigned round_ms = 10;

void planted__choose(enum planted_build build)
{
    chosen = build;
}

static const char *program_path(void)
{
    return chosen == BUILD_RENAMED ? "/opt/newer/renamed" : "/opt/program";
}

static unsigned code_offset(void)
{
    return chosen >= BUILD_SECOND ? 0x1010 : 0x1000;
}

// ---- events --------------------------------------------------------------------------------------------------------

static struct hs_event *add(uint64_t time, unsigned kind)
{
    if (events == room) {
        room = 2 * room + 1000;
        event = reallocarray(event, room, sizeof(*event));
        ck_assert_ptr_nonnull(event);
    }
    event[events] = (struct hs_event){.time = time, .kind = (uint8_t)kind};
    return &event[events++];
}

static uint64_t take_address(uint64_t size)
{
    const uint64_t address = top;
    top += (hs_usable_model(size, 8) + 8 + 15) / 16 * 16;
    return address;
}

static uint64_t allocate_at(uint64_t time, uint64_t address, uint64_t size, uint64_t usable, uint32_t stack)
{
    struct hs_event *added = add(time, HS_EVENT_MALLOC);
    added->address = address;
    added->size = size;
    added->usable = usable;
    added->stack = stack;
    return address;
}

static uint64_t allocate(uint64_t time, uint64_t size, uint32_t stack)
{
    return allocate_at(time, take_address(size), size, hs_usable_model(size, 8), stack);
}

static void release(uint64_t time, uint64_t address)
{
    add(time, HS_EVENT_FREE)->address = address;
}

static uint64_t round_time(unsigned round)
{
    return (uint64_t)round * round_ms * MS;
}

// ---- what is planted -----------------------------------------------------------------------------------------------

static void plant_growing(unsigned rounds, unsigned size)
{
    for (unsigned i = 0; i < rounds; i++)
        allocate(round_time(i) + 1, size, PLANTED);
}

static void plant_leak(unsigned more)
{
    plant_growing(ROUNDS, 1000 * more);
}

static void plant_entries(unsigned entries, unsigned more)
{
    uint64_t entry[ROUNDS] = {0};
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (entry[i % entries])
            release(round_time(i) + 1, entry[i % entries]);
        entry[i % entries] = allocate(round_time(i) + 2, 4000 * more, PLANTED);
    }
}

static void plant_cache(unsigned more)
{
    plant_entries(300, more);
}

// All that is allocated in the second half is still there at the end.
static void plant_slow_cache(unsigned more)
{
    plant_entries(ROUNDS / 2, more);
}

static void plant_freed_at_end(unsigned more)
{
    for (unsigned i = 0; i < ROUNDS - 10; i++)
        release(round_time(ROUNDS - 1), allocate(round_time(i) + 1, 1000 * more, PLANTED));
}

// The first round warms up.
static void plant_rounds(unsigned more)
{
    allocate(round_time(2) + 1, 10000 * more, PLANTED);
    for (unsigned i = 5; i < ROUNDS; i += 100)
        allocate(round_time(i) + 1, 2000 * more, PLANTED);
}

static void plant_peak(unsigned more)
{
    for (unsigned i = 0; i < 8; i++)
        release(round_time(501), allocate(round_time(500) + 1 + i, (uint64_t)more << 20, PLANTED));
}

static void plant_churn(unsigned more)
{
    for (unsigned i = 0; i < ROUNDS; i++)
        for (unsigned k = 0; k < 20 * more; k++)
            release(round_time(i) + 2 + 2 * k, allocate(round_time(i) + 1 + 2 * k, 100, PLANTED));
}

static void plant_realloc(unsigned more)
{
    uint64_t address = allocate(round_time(1) + 1, 1000, PLANTED);
    for (unsigned i = 2; i < 200 * more; i++) {
        struct hs_event *added = add(round_time(i) + 1, HS_EVENT_REALLOC);
        added->begin_time = added->time - 1;
        added->old_address = address;
        added->size = 1000 * (uint64_t)i;
        added->usable = hs_usable_model(added->size, 8);
        added->address = address = take_address(added->size);
        added->stack = PLANTED;
    }
    release(round_time(900), address);
}

static void plant_sizes(uint64_t size, uint64_t usable, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const uint64_t address = take_address(usable);
        release(round_time(700) + i, allocate_at(round_time(10) + i, address, size, usable, PLANTED));
    }
}

static void plant_holes(unsigned more)
{
    for (unsigned i = 0; i < 4000 * more; i++) {
        const uint64_t address = allocate(round_time(10) + i, 1000, PLANTED);
        if (i % 100 != 99)
            release(round_time(700) + i, address);
    }
}

static void touch(uint64_t time, uint64_t address, uint64_t pages)
{
    struct hs_event *fault = add(time, HS_EVENT_SAMPLE);
    fault->sampled = HS_SAMPLE_FAULT;
    fault->tid = 4711;
    fault->address = address / PAGE * PAGE;
    fault->size = pages * PAGE;
}

static void map(uint64_t time, uint64_t address, uint64_t pages)
{
    struct hs_event *mapping = add(time, HS_EVENT_MMAP);
    mapping->address = address;
    mapping->size = pages * PAGE;
    mapping->protection = PROT_READ | PROT_WRITE;
    mapping->map_flags = MAP_PRIVATE | MAP_ANONYMOUS;
    mapping->fd = -1;
    mapping->stack = PLANTED;
}

static void touch_heap(void)
{
    touch(0, HEAP, (top - HEAP + PAGE) / PAGE);
}

static void plant_untouched(unsigned more)
{
    const uint64_t address = 0x7e0000000010, size = (uint64_t)more << 23;
    allocate_at(round_time(10), address, size, (size + 2 * PAGE) / PAGE * PAGE - 16, PLANTED);
    for (unsigned i = 0; i < 10; i++)
        touch(round_time(20) + i, address + i * PAGE, 1);
    touch_heap(); // everything else was touched
    release(round_time(700), address);
}

// What test_resident.c counts. Other blocks lie in an arena, so that the main heap has no holes.
static void plant_resident(unsigned more)
{
    enum { BLOCKS = 3000, LIVE_EACH = 30, SIZE = 1000, APART = 1008 };
    touch_heap();
    const uint64_t arena = 0x7e8000000010, whole = 0x7e0000000010, passing = 0x7e1000000010, size = 400 * PAGE - 16;
    for (unsigned i = 0; i < BLOCKS * more; i++) {
        const uint64_t address = arena + i * (uint64_t)APART;
        allocate_at(round_time(10) + i, address, SIZE, hs_usable_model(SIZE, 8), PLANTED);
        if (i % LIVE_EACH)
            release(round_time(700) + i, address);
    }
    touch(round_time(20), arena, (BLOCKS * more * APART + PAGE) / PAGE);
    allocate_at(round_time(30), whole, size, size, PLANTED);
    touch(round_time(31), whole, 300);
    release(round_time(700), allocate_at(round_time(30) + 1, passing, size, size, PLANTED));
    touch(round_time(32), passing, 400);
    map(round_time(40), 0x7d0000000000, 256);
    touch(round_time(41), 0x7d0000000000, 100);
    touch(round_time(42), PROGRAM, 5);
    touch(round_time(43), 0x7f0000000000, 7);
    touch(round_time(44), 0x7ffe00000000, 3);
    touch(round_time(45), 0x7c0000000000, 11);
}

// Of 8 of the 11 pages that else are the rest. It is noted after they were touched.
static void plant_stacks(unsigned more)
{
    plant_resident(more);
    touch(round_time(60), 0x7c0000000000, 8);
    event[events - 1].sampled = HS_SAMPLE_STACK_RANGE;
    event[events - 1].tid = 0;
}

static void plant_not_heap(unsigned more)
{
    touch_heap();
    map(round_time(40), 0x7d0000000000, 6000 * more);
    touch(round_time(41), 0x7d0000000000, 5000 * more);
    add(round_time(700), HS_EVENT_MUNMAP)->address = 0x7d0000000000;
    event[events - 1].size = 6000 * (uint64_t)more * PAGE;
}

static void plant_it(enum plant plant, unsigned more)
{
    static void (*const plants[PLANTS])(unsigned) = {
        [PLANT_SLOW_CACHE] = plant_slow_cache, [PLANT_LEAK] = plant_leak,
        [PLANT_CACHE] = plant_cache,           [PLANT_FREED_AT_END] = plant_freed_at_end,
        [PLANT_ROUNDS] = plant_rounds,         [PLANT_PEAK] = plant_peak,
        [PLANT_CHURN] = plant_churn,           [PLANT_REALLOC] = plant_realloc,
        [PLANT_HOLES] = plant_holes,           [PLANT_UNTOUCHED] = plant_untouched,
        [PLANT_RESIDENT] = plant_resident,     [PLANT_NOT_HEAP] = plant_not_heap,
        [PLANT_ATTACHED] = plant_resident};
    if (plant == PLANT_LEAK_AND_CHURN) {
        plant_churn(2 * more);
        plant_leak(more);
    } else if (plant == PLANT_LOADED) {
        plant_growing(800, 1000 * more);
    } else if (plant == PLANT_SMALL_LEAK) {
        plant_growing(ROUNDS, 40 * more);
    } else if (plant == PLANT_STACKS) {
        plant_stacks(more);
    } else if (plants[plant]) {
        plants[plant](more);
    }
    if (plant == PLANT_TINY)
        plant_sizes(8, 24, 20000 * more);
    if (plant == PLANT_ROUNDING)
        plant_sizes(1040, 2040, 4000 * more);
}

// ---- the trace -----------------------------------------------------------------------------------------------------

static void work_all_the_time(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        const uint64_t a = allocate(round_time(i) + 2 * MS, 500, WORK);
        const uint64_t b = allocate(round_time(i) + 3 * MS, 700, WORK);
        release(round_time(i) + 4 * MS, a);
        release(round_time(i) + 5 * MS, b);
    }
}

static int compare(const void *left, const void *right)
{
    const struct hs_event *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (a->address > b->address) - (a->address < b->address);
}

static void write_meta(struct trace_writer *writer, bool marks, bool attached)
{
    static uint8_t bytes[HS_SLOT_RECORDS_SIZE];
    struct hs_meta_writer meta;
    memset(bytes, 0, sizeof(bytes));
    hs_meta_begin(&meta, bytes, sizeof(bytes));
    hs_meta_clock(&meta, 0, 1000000000, 1700000000000000000);
    const uint8_t build_id[4] = {0xb1, 0, 0, (uint8_t)chosen};
    const uint64_t code = PROGRAM + code_offset();
    hs_meta_info(&meta, "executable", 10, program_path(), strlen(program_path()));
    if (attached)
        hs_meta_info(&meta, "attached", 8, "3000000000", 10);
    hs_meta_thread(&meta, 1, 4711, 0, "main", 4);
    hs_meta_module(&meta, 0, PROGRAM, PROGRAM + SPAN, PROGRAM, build_id, chosen ? sizeof(build_id) : 0, program_path(),
                   strlen(program_path()));
    hs_meta_module(&meta, 0, 0x7f0000000000, 0x7f0000100000, 0x7f0000000000, NULL, 0, "/usr/lib/libc.so.6", 18);
    hs_meta_node(&meta, MAIN, 0, code + 0x8);
    hs_meta_node(&meta, WORK, MAIN, code + 0x18);
    hs_meta_node(&meta, PLANTED, MAIN, code + 0x28);
    for (unsigned i = 0; marks && i < ROUNDS; i += 100)
        hs_meta_mark(&meta, round_time(i), 1, i, "round", 5);
    trace_writer__meta(writer, bytes, (size_t)(meta.at - bytes), false);
}

void planted__say_dropped(const char *path, enum hs_drop reason, uint64_t count)
{
    const size_t all = offsetof(struct hs_file_header, live) + offsetof(struct hs_live, dropped);
    FILE *file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    fseek(file, (long)(all + reason * sizeof(count)), SEEK_SET);
    ck_assert_uint_eq(fwrite(&count, sizeof(count), 1, file), 1);
    fclose(file);
}

// Different programs have different ids.
static void set_id(struct trace_writer *writer, enum plant plant, unsigned more)
{
    uint8_t page[HS_FILE_HEADER_SIZE] = {0};
    memset(writer->header.trace_id, 0x11, sizeof(writer->header.trace_id));
    writer->header.trace_id[0] = (uint8_t)plant;
    writer->header.trace_id[1] = (uint64_t)chosen << 8 | (uint8_t)more;
    hs_file_header_seal(&writer->header, page);
    fseek(writer->file, 0, SEEK_SET);
    ck_assert_uint_eq(fwrite(page, 1, sizeof(page), writer->file), sizeof(page));
    fseek(writer->file, 0, SEEK_END);
}

void planted__write(const char *path, enum plant plant, unsigned more)
{
    const struct hs_codec_target target = {HS_BYTE_ORDER_LITTLE, 8, 4};
    struct trace_writer writer;
    events = 0;
    top = HEAP;
    work_all_the_time();
    plant_it(plant, more);
    qsort(event, events, sizeof(*event), compare);
    trace_writer__open_for(&writer, path, EM_X86_64, &target);
    set_id(&writer, plant, more);
    write_meta(&writer, plant == PLANT_ROUNDS, plant == PLANT_ATTACHED);
    trace_writer__events(&writer, 1, event, events, false);
    trace_writer__close(&writer, true, round_time(ROUNDS));
    // The writer of traces always says that some events were dropped.
    planted__say_dropped(path, HS_DROP_NESTED, plant == PLANT_DROPPED ? 7 : 0);
}

void planted__write_short(const char *path, enum plant plant, unsigned more)
{
    round_ms = 9;
    planted__write(path, plant, more);
    round_ms = 10;
}

void planted__build(const char *folder)
{
    static const char source[] = ".type main, @function\nmain: .fill 16, 1, 0x90\n.size main, 16\n"
                                 ".type work, @function\nwork: .fill 16, 1, 0x90\n.size work, 16\n"
                                 ".type planted, @function\nplanted: .fill 16, 1, 0x90\n.size planted, 16\n";
    const char *id = chosen ? text("0xb10000%02x", chosen) : "none";
    shell("mkdir -p $(dirname %s%s)", folder, program_path());
    write_file(text("%s/program.S", folder), source, sizeof(source) - 1);
    shell("gcc -shared -nostdlib -Wl,--build-id=%s -Wl,-Ttext=%#x %s/program.S -o %s%s", id, code_offset(), folder,
          folder, program_path());
}
