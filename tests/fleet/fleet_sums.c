// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Writes a trace of sums as a device sends it: stacks that come and go around what they have, caches that fill at the
// beginning, and one stack that the simulated firmware adds.
//
//   fleet_sums FILE TICKS SECONDS STACKS CHANGED ADDED
//     TICKS ticks SECONDS apart; CHANGED of STACKS stacks change in each
//     ADDED  none, kept (the added stack keeps what it has), or leaks (it loses 8 KiB in each tick)
#include "format/aggregate.h"
#include "format/meta.h"
#include "tests/store/trace_writer.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 400 };
#define SECOND ((uint64_t)1000000000)

static uint64_t had[1 << 16][HS_SUM_COUNT];

static void write_meta(struct trace_writer *writer, uint32_t stacks)
{
    static uint8_t bytes[32768];
    static const char path[] = "/usr/bin/simulated", build[20] = "simulated firmware";
    struct hs_meta_writer meta;
    hs_meta_begin(&meta, bytes, sizeof(bytes));
    hs_meta_info(&meta, "executable", 10, path, strlen(path));
    hs_meta_info(&meta, "mode", 4, "aggregate", 9);
    hs_meta_module(&meta, 0, 0x400000, 0x8000000, 0x400000, build, sizeof(build), path, strlen(path));
    for (uint32_t id = 1; id <= stacks + 1; id++) {
        hs_meta_node(&meta, id, 0, 0x400000 + 16 * id);
        if (id % BATCH == 0 || id == stacks + 1) {
            trace_writer__meta(writer, bytes, (size_t)(meta.at - bytes), false);
            hs_meta_begin(&meta, bytes, sizeof(bytes));
        }
    }
}

// Blocks of `size` bytes: `now` of them are in use, and a few more came and went.
static void put(struct hs_aggregate_writer *sums, uint32_t stack, uint64_t size, uint64_t now)
{
    uint64_t *before = had[stack], in_use = before[HS_SUM_ALLOCATED_COUNT] - before[HS_SUM_FREED_COUNT];
    uint64_t more = (now > in_use ? now - in_use : 0) + 1 + stack % 50, less = in_use + more - now;
    struct hs_aggregate_record record = {.stack = stack};
    record.change[HS_SUM_ALLOCATED_COUNT] = more;
    record.change[HS_SUM_ALLOCATED_BYTES] = more * size;
    record.change[HS_SUM_FREED_COUNT] = less;
    record.change[HS_SUM_FREED_BYTES] = less * size;
    for (unsigned i = 0; i < HS_SUM_COUNT; i++)
        before[i] += record.change[i];
    hs_aggregate_put(sums, &record);
}

static void write_tick(struct trace_writer *writer, struct random_state *random, char **argv, uint64_t tick)
{
    static uint8_t bytes[1 << 20];
    const uint32_t stacks = (uint32_t)atoi(argv[4]), changed = (uint32_t)atoi(argv[5]);
    const uint64_t distance = (uint64_t)atoi(argv[3]) * SECOND;
    const struct hs_aggregate_head head = {.domain = HS_AGGREGATE_HEAP};
    struct hs_aggregate_writer sums;
    hs_aggregate_begin(&sums, bytes, sizeof(bytes), &head);
    // All have something at the first tick.
    for (uint32_t i = 0; i < (tick == 1 ? stacks : changed); i++) {
        uint32_t stack = 1 + (uint32_t)((tick * changed + i) % stacks);
        uint64_t blocks = 1000 + random_below(random, 40);
        put(&sums, stack, 16 + stack % 300, tick * distance < 3600 * SECOND && stack % 10 == 0 ? blocks / 2 : blocks);
    }
    if (strcmp(argv[6], "none") != 0)
        put(&sums, stacks + 1, 64, strcmp(argv[6], "leaks") ? 1280 : 1280 + 128 * tick);
    struct hs_chunk_header chunk = {.kind = HS_CHUNK_SUMS,
                                    .count = changed,
                                    .first_time = SECOND + (tick - 1) * distance,
                                    .last_time = SECOND + tick * distance};
    chunk.stored_length = chunk.plain_length = (uint32_t)(sums.at - bytes);
    trace_writer__chunk(writer, &chunk, bytes);
}

int main(int argc, char **argv)
{
    struct random_state random = {4711};
    struct trace_writer writer;
    if (argc != 7 || atoi(argv[4]) >= (1 << 16) - 2)
        return 2;
    uint64_t ticks = (uint64_t)atoi(argv[2]);
    trace_writer__open(&writer, argv[1], HS_BYTE_ORDER_LITTLE, 8);
    write_meta(&writer, (uint32_t)atoi(argv[4]));
    for (uint64_t tick = 1; tick <= ticks; tick++)
        write_tick(&writer, &random, argv, tick);
    trace_writer__close(&writer, true, SECOND + ticks * (uint64_t)atoi(argv[3]) * SECOND);
    return 0;
}
