// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/follow.h"

#include "format/aggregate.h"
#include "format/chunk.h"
#include "format/crc32c.h"
#include "format/meta.h"
#include "format/meta_codec.h"
#include "host/base/array.h"
#include "host/base/id_map.h"
#include "host/base/numbers.h"
#include "host/fleet/build_key.h"
#include "host/fleet/events.h"
#include "host/fleet/follow_clock.h"
#include "host/import/import.h"
#include "host/store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    STACKS_MOST = 1 << 24,  // numbers of nodes
    NODES_MOST = 1 << 22,   // that are kept; stacks of others have no frames
    SUMS_MOST = 1 << 18,    // stacks with sums of their own; others are added to stack 0
    TEXTS_MOST = 1 << 24,   // bytes of paths and values
    MODULES_MOST = 1 << 16, // more are taken for unknown memory
    CHANGED_MOST = 1 << 20, // sums of a tick; a longer one becomes several
    PARTS_LEAST = 4,        // ticks of a trace of events
    PARTS_MOST = 64,
    PART_SECONDS = 60,
    INFO_MOST = 64
};

// A node belongs to the modules that were loaded by the records before it. Chunks may be out of order in the file, so
// each record has a stamp: the chunk's sequence, then its place in the chunk.
struct follow_node {
    uint64_t pc, stamp;
    uint32_t parent;
};

struct follow_module {
    struct hs_follow_module shown;
    uint64_t start, end, bias;
    uint64_t loaded, unloaded; // stamps
};

struct follow_unload {
    uint64_t start, stamp;
};

// Blocks that began and ended without an event each.
struct follow_culled {
    uint32_t stack;
    uint64_t count, bytes;
};

struct follow_info {
    char *key, *value;
};

struct hs_follow {
    int fd;
    char *path;
    struct hs_file_header header;
    struct hs_live live;
    uint64_t offset; // of the next chunk
    uint64_t damaged;
    struct hs_array nodes;    // struct follow_node
    struct hs_id_map node_of; // its place, by number
    struct hs_array modules;  // struct follow_module
    struct hs_follow_clock clock;
    struct hs_id_map seen;   // sequences of the META chunks that were read
    struct hs_array sums;    // uint64_t[HS_SUM_COUNT] by place
    struct hs_id_map place;  // by stack
    struct hs_array changed; // struct hs_follow_sums
    struct hs_array culled;  // struct follow_culled
    uint64_t last_time;      // of a chunk of events
    bool has_sums;
    uint64_t total[HS_SUM_COUNT];
    uint64_t stamp;          // of the record that is being read
    struct hs_array unloads; // struct follow_unload, of modules that were not read yet
    uint64_t tick_time;      // of the tick in `changed` that is not answered yet
    uint64_t tick_offset;    // behind it; 0: there is none
    bool tick_is_whole;      // all of it is there, and what explains it
    size_t texts;
    struct follow_info info[INFO_MOST];
    size_t info_count;
    uint8_t *payload; // of the chunk
    size_t room;
};

// ---- reading -------------------------------------------------------------------------------------------------------

// 1, or 0 when the file does not have as much yet.
static int read_at(const struct hs_follow *follow, uint64_t offset, void *to, size_t length)
{
    for (uint8_t *at = to; length;) {
        ssize_t got = pread(follow->fd, at, length, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : 0;
        at += got;
        offset += (uint64_t)got;
        length -= (size_t)got;
    }
    return 1;
}

static bool make_room(struct hs_follow *follow, size_t length)
{
    if (length <= follow->room)
        return true;
    uint8_t *bigger = realloc(follow->payload, length);
    if (!bigger)
        return false;
    follow->payload = bigger;
    follow->room = length;
    return true;
}

// 1 with the chunk at follow->offset and its payload, 0 when it is not whole yet.
static int read_chunk(struct hs_follow *follow, struct hs_chunk_header *chunk, bool *good)
{
    uint8_t bytes[HS_CHUNK_HEADER_SIZE];
    int got = read_at(follow, follow->offset, bytes, sizeof(bytes));
    if (got <= 0)
        return got;
    *good = !hs_chunk_read(bytes, chunk);
    if (!*good)
        return 1;
    if (!make_room(follow, chunk->stored_length + 1))
        return -ENOMEM;
    bool wanted = chunk->kind == HS_CHUNK_META || chunk->kind == HS_CHUNK_SUMS || chunk->kind == HS_CHUNK_LIVE_PART;
    // What is not wanted need only be there.
    size_t from = wanted || !chunk->stored_length ? 0 : chunk->stored_length - 1;
    got = read_at(follow, follow->offset + HS_CHUNK_HEADER_SIZE + from, follow->payload, chunk->stored_length - from);
    if (got > 0 && wanted && !(chunk->flags & HS_CHUNK_LIVE))
        *good = hs_crc32c(0, follow->payload, chunk->stored_length) == chunk->payload_crc;
    return got;
}

// ---- tables --------------------------------------------------------------------------------------------------------

static char *copy_text(struct hs_follow *follow, struct hs_bytes bytes)
{
    if (bytes.length > TEXTS_MOST - follow->texts)
        bytes.length = 0;
    char *text = malloc(bytes.length + 1);
    if (!text)
        return NULL;
    memcpy(text, bytes.data, bytes.length);
    for (size_t i = 0; i < bytes.length; i++)
        if (!text[i])
            text[i] = ' ';
    text[bytes.length] = 0;
    follow->texts += bytes.length;
    return text;
}

// One record may have any number, so memory is taken for those that are there. NULL: there is none.
static struct follow_node *node_at(const struct hs_follow *follow, uint32_t id)
{
    uint32_t place = hs_id_map__find(&follow->node_of, id);
    return place == UINT32_MAX ? NULL : (struct follow_node *)follow->nodes.data + place;
}

static int add_node(struct hs_follow *follow, uint32_t id, uint64_t pc, uint32_t parent)
{
    struct follow_node *node = node_at(follow, id);
    if (!node && (id >= STACKS_MOST || parent >= STACKS_MOST || follow->nodes.count >= NODES_MOST)) {
        follow->damaged++;
        return 0;
    }
    if (!node && (!(node = hs_array__add(&follow->nodes, sizeof(*node))) ||
                  hs_id_map__set(&follow->node_of, id, (uint32_t)follow->nodes.count - 1)))
        return -ENOMEM;
    *node = (struct follow_node){pc, follow->stamp, parent};
    return 0;
}

// The first unload of the start after this stamp.
static uint64_t unloaded_at(const struct hs_follow *follow, uint64_t start)
{
    const struct follow_unload *unloads = follow->unloads.data;
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < follow->unloads.count; i++)
        if (unloads[i].start == start && unloads[i].stamp > follow->stamp && unloads[i].stamp < first)
            first = unloads[i].stamp;
    return first;
}

static int add_module(struct hs_follow *follow, const struct hs_meta_record *record)
{
    if (follow->modules.count >= MODULES_MOST) {
        follow->damaged++;
        return 0;
    }
    char *path = copy_text(follow, record->text);
    struct follow_module *module = path ? hs_array__add(&follow->modules, sizeof(*module)) : NULL;
    if (!module) {
        free(path);
        return -ENOMEM;
    }
    *module = (struct follow_module){.shown.path = path,
                                     .start = record->start,
                                     .end = record->end,
                                     .bias = record->bias,
                                     .loaded = follow->stamp,
                                     .unloaded = unloaded_at(follow, record->start)};
    size_t length = record->build_id.length < HS_FLEET_BUILD ? record->build_id.length : HS_FLEET_BUILD;
    memcpy(module->shown.build, record->build_id.data, length);
    if (!length)
        hs_fleet_key__build_of_path(path, 0, module->shown.build);
    return 0;
}

static void note_layout(struct hs_follow *follow, uint32_t layout)
{
    struct follow_module *modules = follow->modules.data;
    if (!follow->modules.count)
        return;
    struct hs_follow_module *last = &modules[follow->modules.count - 1].shown;
    hs_fleet_key__build_of_path(last->path, layout, last->build);
}

static int unload(struct hs_follow *follow, uint64_t start)
{
    struct follow_module *modules = follow->modules.data;
    if (follow->unloads.count >= MODULES_MOST)
        return 0;
    struct follow_unload *added = hs_array__add(&follow->unloads, sizeof(*added));
    if (!added)
        return -ENOMEM;
    *added = (struct follow_unload){start, follow->stamp};
    for (size_t i = 0; i < follow->modules.count; i++)
        if (modules[i].start == start && modules[i].loaded < follow->stamp && follow->stamp < modules[i].unloaded)
            modules[i].unloaded = follow->stamp;
    return 0;
}

static int add_point(struct hs_follow *follow, const struct hs_meta_record *record)
{
    const struct hs_clock_point point = {record->time, record->monotonic_ns, record->realtime_ns};
    return hs_follow_clock__add(&follow->clock, &point, &follow->damaged);
}

static int add_info(struct hs_follow *follow, const struct hs_meta_record *record)
{
    char *key = copy_text(follow, record->key), *value = copy_text(follow, record->text);
    if (!key || !value || follow->info_count == INFO_MOST) {
        int failed = key && value ? 0 : -ENOMEM;
        free(key);
        free(value);
        return failed;
    }
    follow->info[follow->info_count++] = (struct follow_info){key, value};
    return 0;
}

static int add_culled(struct hs_follow *follow, const struct hs_meta_record *record)
{
    if (follow->culled.count >= CHANGED_MOST) {
        follow->damaged++;
        return 0;
    }
    struct follow_culled *culled = hs_array__add(&follow->culled, sizeof(*culled));
    if (!culled)
        return -ENOMEM;
    *culled = (struct follow_culled){record->id, record->count, record->size};
    return 0;
}

static int add_record(struct hs_follow *follow, const struct hs_meta_record *record)
{
    switch (record->tag) {
    case HS_META_NODE:
        return add_node(follow, record->id, record->pc, record->parent);
    case HS_META_MODULE:
        return add_module(follow, record);
    case HS_META_LAYOUT:
        note_layout(follow, (uint32_t)record->value);
        return 0;
    case HS_META_UNLOAD:
        return unload(follow, record->start);
    case HS_META_CLOCK:
        return add_point(follow, record);
    case HS_META_INFO:
        return add_info(follow, record);
    case HS_META_CULLED:
        return add_culled(follow, record);
    default:
        return 0;
    }
}

static int take_records(struct hs_follow *follow, uint64_t sequence, const uint8_t *bytes, size_t length)
{
    struct hs_meta_reader reader;
    struct hs_meta_record record;
    int failed = 0, more;
    hs_meta_open(&reader, bytes, length);
    follow->stamp = sequence << 20; // a chunk has at most 32 KiB of records
    while (!failed && (more = hs_meta_next(&reader, &record)) > 0) {
        follow->stamp++;
        failed = add_record(follow, &record);
    }
    follow->damaged += !failed && more < 0;
    return failed;
}

static int take_meta(struct hs_follow *follow, const struct hs_chunk_header *chunk)
{
    uint8_t plain[HS_META_PACK_MAX];
    if (chunk->sequence && hs_id_map__find(&follow->seen, chunk->sequence) != UINT32_MAX)
        return 0;
    if (!(chunk->flags & HS_CHUNK_PACKED))
        return take_records(follow, chunk->sequence, follow->payload, chunk->stored_length);
    void *scratch = aligned_alloc(16, HS_META_SCRATCH_SIZE);
    if (!scratch)
        return -ENOMEM;
    bool good = chunk->plain_length <= sizeof(plain) &&
                !hs_meta_unpack(follow->payload, chunk->stored_length, scratch, plain, chunk->plain_length);
    free(scratch);
    follow->damaged += !good;
    return good ? take_records(follow, chunk->sequence, plain, chunk->plain_length) : 0;
}

static int by_sequence(const void *left, const void *right)
{
    const struct hs_trace_chunk *a = left, *b = right;
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static int take_early(struct hs_follow *follow, const struct hs_trace *trace, const struct hs_trace_chunk *chunk)
{
    uint8_t *payload;
    size_t length, skip = hs_trace_chunk__records(chunk);
    int failed = hs_trace__payload(trace, chunk, &payload, &length);
    if (failed)
        return failed == -ENOMEM ? failed : 0;
    if (length > skip)
        failed = take_records(follow, chunk->sequence, payload + skip, length - skip);
    free(payload);
    return failed || !chunk->sequence ? failed : hs_id_map__set(&follow->seen, chunk->sequence, 0);
}

// In a file that the process writes itself, what explains the sums may come after them, or be in a slot. So all that is
// there is read first.
static int read_early(struct hs_follow *follow, struct hs_error *error)
{
    struct hs_trace *trace;
    int failed = hs_trace__open(follow->path, &trace, error);
    if (failed)
        return failed;
    size_t count, metas = 0;
    const struct hs_trace_chunk *chunks = hs_trace__chunks(trace, &count);
    struct hs_trace_chunk *order = malloc((count + 1) * sizeof(*order));
    for (size_t i = 0; order && i < count; i++)
        if (chunks[i].kind == HS_CHUNK_META && chunks[i].offset >= follow->offset && chunks[i].sequence)
            order[metas++] = chunks[i];
    if (order)
        qsort(order, metas, sizeof(*order), by_sequence);
    else
        failed = -ENOMEM;
    for (size_t i = 0; i < metas && !failed; i++)
        failed = take_early(follow, trace, &order[i]);
    free(order);
    hs_trace__close(trace);
    return failed ? hs_error__set(error, -failed, "%s: out of memory", follow->path) : 0;
}

// ---- sums ----------------------------------------------------------------------------------------------------------

static struct hs_follow_sums shown(uint32_t stack, const uint64_t *sum)
{
    return (struct hs_follow_sums){
        .stack = stack,
        .in_use_bytes = hs_number__above(sum[HS_SUM_ALLOCATED_BYTES], sum[HS_SUM_FREED_BYTES]),
        .in_use_count = hs_number__above(sum[HS_SUM_ALLOCATED_COUNT], sum[HS_SUM_FREED_COUNT]),
        .allocated_bytes = sum[HS_SUM_ALLOCATED_BYTES],
        .allocated_count = sum[HS_SUM_ALLOCATED_COUNT]};
}

// Those of *stack, which becomes 0 when it can have none of its own. NULL: out of memory.
static uint64_t *sums_of(struct hs_follow *follow, uint32_t *stack)
{
    uint32_t place = *stack < STACKS_MOST ? hs_id_map__find(&follow->place, *stack) : UINT32_MAX;
    if (place == UINT32_MAX && (*stack >= STACKS_MOST || follow->sums.count >= SUMS_MOST)) {
        *stack = 0;
        place = hs_id_map__find(&follow->place, 0);
    }
    if (place == UINT32_MAX) {
        place = (uint32_t)follow->sums.count;
        uint64_t *sum = hs_array__add(&follow->sums, sizeof(uint64_t) * HS_SUM_COUNT);
        if (!sum || hs_id_map__set(&follow->place, *stack, place))
            return NULL;
        memset(sum, 0, sizeof(uint64_t) * HS_SUM_COUNT);
    }
    return (uint64_t *)follow->sums.data + (size_t)place * HS_SUM_COUNT;
}

static int add_sums(struct hs_follow *follow, const struct hs_aggregate_record *record)
{
    uint32_t stack = record->stack;
    uint64_t *sum = sums_of(follow, &stack);
    struct hs_follow_sums *changed = sum ? hs_array__add(&follow->changed, sizeof(*changed)) : NULL;
    if (!changed)
        return -ENOMEM;
    for (unsigned i = 0; i < HS_SUM_COUNT; i++) {
        sum[i] += record->change[i];
        follow->total[i] += record->change[i];
    }
    *changed = shown(stack, sum);
    return 0;
}

// Ticks of sums are in order, for weeks.
static int set_clock(struct hs_follow *follow, uint64_t time)
{
    return hs_follow_clock__set(&follow->clock, &follow->header, hs_follow__info(follow, "ticks-per-second"), time,
                                follow->has_sums);
}

// What explains a tick may come behind it, and its sums may be in several chunks. So a tick is answered when a later
// one comes, unless its last chunk says that it is the last one.
static int take_sums(struct hs_follow *follow, const struct hs_chunk_header *chunk)
{
    struct hs_aggregate_reader reader;
    struct hs_aggregate_head head;
    struct hs_aggregate_record record;
    if (!hs_aggregate_open(&reader, follow->payload, chunk->stored_length, &head)) {
        follow->damaged++;
        return 0;
    }
    // Blocks of pools lie in blocks of the heap.
    if (head.domain != HS_AGGREGATE_HEAP)
        return 0;
    int failed = 0, more;
    if (!follow->tick_offset)
        follow->changed.count = 0;
    while (!failed && (more = hs_aggregate_next(&reader, &record)) > 0)
        failed = add_sums(follow, &record);
    follow->damaged += !failed && more < 0;
    follow->tick_time = chunk->last_time;
    follow->tick_offset = follow->offset;
    follow->tick_is_whole = chunk->stream == HS_SUMS_WHOLE;
    return failed;
}

static bool is_of_tick(const struct hs_follow *follow, const struct hs_chunk_header *chunk)
{
    return chunk->last_time == follow->tick_time && follow->changed.count < CHANGED_MOST;
}

// 1, or 0 when there is none.
static int answer_tick(struct hs_follow *follow, struct hs_follow_tick *tick)
{
    uint64_t offset = follow->tick_offset;
    follow->tick_offset = 0;
    follow->tick_is_whole = false;
    int failed = offset ? set_clock(follow, follow->tick_time) : 0;
    if (failed || !offset)
        return failed;
    uint64_t age = hs_clock_map__ns(&follow->clock.map, follow->tick_time);
    *tick = (struct hs_follow_tick){.realtime_ns = hs_follow_clock__realtime(&follow->clock, &follow->header, age),
                                    .age_ns = age,
                                    .offset = offset,
                                    .sums = follow->changed.data,
                                    .count = follow->changed.count,
                                    .total = shown(0, follow->total)};
    return 1;
}

static uint64_t target_word(const struct hs_follow *follow, const uint8_t *bytes)
{
    uint64_t word = 0;
    bool big = follow->header.byte_order == HS_BYTE_ORDER_BIG;
    for (unsigned i = 0; i < 8; i++)
        word |= (uint64_t)bytes[i] << 8 * (big ? 7 - i : i);
    return word;
}

static void take_live_part(struct hs_follow *follow, const struct hs_chunk_header *chunk)
{
    uint64_t words[HS_LIVE_WORDS];
    if (chunk->stored_length < sizeof(words))
        return;
    for (unsigned i = 0; i < HS_LIVE_WORDS; i++)
        words[i] = target_word(follow, follow->payload + (size_t)8 * i);
    memcpy(&follow->live, words, sizeof(follow->live));
}

static int take_chunk(struct hs_follow *follow, const struct hs_chunk_header *chunk)
{
    switch (chunk->kind) {
    case HS_CHUNK_META:
        return chunk->flags & HS_CHUNK_LIVE ? 0 : take_meta(follow, chunk);
    case HS_CHUNK_SUMS:
        follow->has_sums = true;
        return take_sums(follow, chunk);
    case HS_CHUNK_EVENTS:
        follow->last_time = chunk->last_time > follow->last_time ? chunk->last_time : follow->last_time;
        return 0;
    case HS_CHUNK_LIVE_PART:
        take_live_part(follow, chunk);
        return 0;
    default:
        return 0;
    }
}

int hs_follow__next(struct hs_follow *follow, bool whole, struct hs_follow_tick *tick)
{
    for (;;) {
        struct hs_chunk_header chunk;
        bool good;
        int got = read_chunk(follow, &chunk, &good);
        if (got <= 0)
            return got < 0 || !whole ? got : answer_tick(follow, tick);
        if (!good) {
            // As docs/format.md says: the next header is at a multiple of 8.
            follow->damaged++;
            follow->offset += HS_CHUNK_ALIGNMENT;
            continue;
        }
        // Read again after the tick before it was answered.
        if (chunk.kind == HS_CHUNK_SUMS && !is_of_tick(follow, &chunk) && (got = answer_tick(follow, tick)))
            return got;
        follow->offset += hs_chunk_size(chunk.stored_length);
        got = take_chunk(follow, &chunk);
        if (!got && follow->tick_is_whole)
            got = answer_tick(follow, tick);
        if (got)
            return got;
    }
}

// ---- events --------------------------------------------------------------------------------------------------------

bool hs_follow__has_events(const struct hs_follow *follow)
{
    return !follow->has_sums && strcmp(hs_follow__info(follow, "mode"), "aggregate") != 0;
}

uint64_t hs_follow__offset(const struct hs_follow *follow)
{
    return follow->offset;
}

struct follow_replay {
    struct hs_follow *follow;
    int (*take)(void *context, const struct hs_follow_tick *tick);
    void *context;
    struct hs_id_map changed; // by stack: its place in follow->changed, of this tick
    unsigned ticks_left;
};

static int change_sums(struct follow_replay *replay, uint32_t stack, unsigned first, uint64_t count, uint64_t bytes)
{
    struct hs_follow *follow = replay->follow;
    uint64_t *sum = sums_of(follow, &stack);
    if (!sum)
        return -ENOMEM;
    sum[first] += count;
    sum[first + 1] += bytes;
    follow->total[first] += count;
    follow->total[first + 1] += bytes;
    if (hs_id_map__find(&replay->changed, stack) != UINT32_MAX)
        return 0;
    struct hs_follow_sums *changed = hs_array__add(&follow->changed, sizeof(*changed));
    if (!changed)
        return -ENOMEM;
    changed->stack = stack;
    return hs_id_map__set(&replay->changed, stack, 0);
}

static int change_block(void *context, uint32_t stack, uint64_t size, bool ends)
{
    return change_sums(context, stack, ends ? HS_SUM_FREED_COUNT : HS_SUM_ALLOCATED_COUNT, 1, size);
}

static int add_all_culled(struct follow_replay *replay)
{
    const struct follow_culled *culled = replay->follow->culled.data;
    int failed = 0;
    for (size_t i = 0; i < replay->follow->culled.count && !failed; i++) {
        failed = change_sums(replay, culled[i].stack, HS_SUM_ALLOCATED_COUNT, culled[i].count, culled[i].bytes);
        if (!failed)
            failed = change_sums(replay, culled[i].stack, HS_SUM_FREED_COUNT, culled[i].count, culled[i].bytes);
    }
    return failed;
}

static int end_part(void *context, uint64_t time)
{
    struct follow_replay *replay = context;
    struct hs_follow *follow = replay->follow;
    struct hs_follow_tick tick;
    int failed = --replay->ticks_left ? 0 : add_all_culled(replay);
    struct hs_follow_sums *changed = follow->changed.data;
    for (size_t i = 0; i < follow->changed.count && !failed; i++)
        changed[i] = shown(changed[i].stack, sums_of(follow, &changed[i].stack));
    follow->tick_time = time;
    follow->tick_offset = follow->offset;
    failed = failed ? failed : answer_tick(follow, &tick);
    if (failed > 0)
        failed = replay->take(replay->context, &tick);
    follow->changed.count = 0;
    hs_id_map__free(&replay->changed);
    replay->changed = (struct hs_id_map){0};
    return failed;
}

static unsigned parts_of(struct hs_follow *follow)
{
    uint64_t parts = set_clock(follow, follow->last_time)
                         ? 0
                         : hs_clock_map__ns(&follow->clock.map, follow->last_time) / 1000000000u / PART_SECONDS;
    return parts < PARTS_LEAST ? PARTS_LEAST : parts > PARTS_MOST ? PARTS_MOST : (unsigned)parts;
}

int hs_follow__replay(struct hs_follow *follow, int (*take)(void *context, const struct hs_follow_tick *tick),
                      void *context, struct hs_error *error)
{
    struct follow_replay replay = {.follow = follow, .take = take, .context = context};
    const struct hs_fleet_events events = {.last_time = follow->last_time,
                                           .parts = replay.ticks_left = parts_of(follow),
                                           .change = change_block,
                                           .tick = end_part,
                                           .context = &replay};
    // From the beginning, also after one that failed in the middle.
    memset(follow->total, 0, sizeof(follow->total));
    if (follow->sums.count)
        memset(follow->sums.data, 0, follow->sums.count * sizeof(uint64_t) * HS_SUM_COUNT);
    follow->changed.count = 0;
    hs_follow_clock__rewind(&follow->clock);
    uint64_t damaged = 0;
    int failed = hs_fleet_events__replay(follow->path, &events, &damaged, error);
    follow->damaged += failed ? 0 : damaged;
    hs_id_map__free(&replay.changed);
    return failed;
}

// ---- opening -------------------------------------------------------------------------------------------------------

static int read_header(struct hs_follow *follow, struct hs_error *error)
{
    uint8_t bytes[sizeof(struct hs_file_header)];
    int got = read_at(follow, 0, bytes, sizeof(bytes));
    if (got <= 0)
        return hs_error__set(error, got ? -got : EAGAIN, "%s: %s", follow->path,
                             got ? strerror(-got) : "its header is not there yet");
    if (hs_file_header_read(bytes, &follow->header) != HS_HEADER_GOOD)
        return hs_error__set(error, EBADMSG, "%s: not a trace that this version of heapsonde can read", follow->path);
    if (follow->header.content != HS_CONTENT_EVENTS)
        return hs_error__set(error, ENOTSUP, "%s: a stream of dumps; 'heapsonde extract' writes them into files",
                             follow->path);
    follow->live = follow->header.live;
    follow->offset = follow->header.header_size;
    return 0;
}

int hs_follow__open(int fd, const char *path, struct hs_follow **result, struct hs_error *error)
{
    struct hs_follow *follow = calloc(1, sizeof(*follow));
    if (!follow || !(follow->path = strdup(path))) {
        free(follow);
        return hs_error__set(error, ENOMEM, "%s: out of memory", path);
    }
    follow->fd = fd;
    int failed = read_header(follow, error);
    if (!failed)
        failed = read_early(follow, error);
    if (failed) {
        hs_follow__close(follow);
        return failed;
    }
    *result = follow;
    return 0;
}

void hs_follow__close(struct hs_follow *follow)
{
    if (!follow)
        return;
    struct follow_module *modules = follow->modules.data;
    for (size_t i = 0; i < follow->modules.count; i++)
        free((char *)modules[i].shown.path);
    for (size_t i = 0; i < follow->info_count; i++) {
        free(follow->info[i].key);
        free(follow->info[i].value);
    }
    hs_follow_clock__free(&follow->clock);
    hs_id_map__free(&follow->place);
    hs_id_map__free(&follow->seen);
    free(follow->nodes.data);
    hs_id_map__free(&follow->node_of);
    free(follow->modules.data);
    free(follow->sums.data);
    free(follow->changed.data);
    free(follow->culled.data);
    free(follow->unloads.data);
    free(follow->payload);
    free(follow->path);
    free(follow);
}

void hs_follow__set_file(struct hs_follow *follow, int fd)
{
    follow->fd = fd;
}

// ---- answers -------------------------------------------------------------------------------------------------------

const struct hs_file_header *hs_follow__header(const struct hs_follow *follow)
{
    return &follow->header;
}

const char *hs_follow__info(const struct hs_follow *follow, const char *key)
{
    for (size_t i = follow->info_count; i--;)
        if (!strcmp(follow->info[i].key, key))
            return follow->info[i].value;
    return "";
}

const struct hs_live *hs_follow__live(const struct hs_follow *follow)
{
    return &follow->live;
}

uint64_t hs_follow__damaged(const struct hs_follow *follow)
{
    return follow->damaged;
}

const struct hs_follow_module *hs_follow__module(const struct hs_follow *follow, uint32_t module)
{
    return &((const struct follow_module *)follow->modules.data)[module].shown;
}

// Searches for modules may be put off: their records then come behind those of the nodes in them.
static uint32_t late_module_of(const struct hs_follow *follow, const struct follow_node *node)
{
    const struct follow_module *modules = follow->modules.data;
    uint32_t oldest = UINT32_MAX;
    for (size_t i = 0; i < follow->modules.count; i++)
        if (node->pc > modules[i].start && node->pc <= modules[i].end && modules[i].loaded > node->stamp &&
            (oldest == UINT32_MAX || modules[i].loaded < modules[oldest].loaded))
            oldest = (uint32_t)i;
    return oldest;
}

static uint32_t module_of(const struct hs_follow *follow, const struct follow_node *node)
{
    const struct follow_module *modules = follow->modules.data;
    for (size_t i = follow->modules.count; i--;)
        if (node->pc > modules[i].start && node->pc <= modules[i].end && modules[i].loaded <= node->stamp &&
            node->stamp < modules[i].unloaded)
            return (uint32_t)i;
    return late_module_of(follow, node);
}

size_t hs_follow__frames(const struct hs_follow *follow, uint32_t stack, struct hs_follow_frame *frames)
{
    const struct follow_module *modules = follow->modules.data;
    const struct follow_node *node;
    size_t count = 0;
    while (stack && count < HS_FOLLOW_FRAMES && (node = node_at(follow, stack))) {
        // The mark of a guess is no frame.
        if (!(node->parent && node->pc == HS_NODE_GUESSED)) {
            uint32_t module = module_of(follow, node);
            uint64_t bias = module == UINT32_MAX ? 0 : modules[module].bias;
            frames[count++] = (struct hs_follow_frame){module, node->pc - bias};
        }
        // Damage may make circles.
        if (node->parent >= stack)
            break;
        stack = node->parent;
    }
    return count;
}
