// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/running_sums.h"

#include "format/meta.h"
#include "host/base/clock.h"
#include "host/base/id_map.h"
#include "host/base/memory.h"
#include "host/base/numbers.h"
#include "host/import/builder.h"
#include "host/import/consumed.h"
#include "host/import/live_map.h"
#include "host/import/node_table.h"
#include "host/import/ties.h"
#include "host/import/trace.h"
#include "host/import/trace_clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NODES        512
#define NODES_PACKED 8 // for each byte of the file
#define REACHED      1 // the end of the look

uint64_t hs_running_age = 500000000;

struct running_block {
    uint64_t size;
    uint32_t stack, next_free;
};

struct hs_running_sums {
    char *path;
    dev_t device;
    ino_t file;
    uint64_t size;
    uint64_t newest, newest_at; // the end of the next look, and when it was seen: recorded time, ns
    uint64_t time;              // up to which events were taken
    uint64_t now;               // the same in ns
    struct hs_array consumed;   // struct hs_consumed
    struct hs_id_map metas;     // by key_of META chunks: twice the number of changes of code, + 1 if it is sealed
    struct hs_node_table nodes; // the recorder may write a node again under another number
    struct hs_array numbers;    // uint32_t: which of them, by number in the trace; 0: not known
    struct hs_array waiting;    // struct recorded_node whose parents are not known yet
    struct hs_array stack_of;   // uint32_t by node: its stack + 1, or 0
    struct hs_array stacks;     // struct hs_running_stack
    struct hs_array changes;    // struct hs_running_change
    struct hs_array points;     // struct hs_clock_point
    uint64_t last_point;
    char rate[32]; // ticks per second; "": not known
    struct hs_clock_map clock;
    struct hs_ties ties;
    struct hs_live_map live; // rows are numbers of blocks
    struct hs_array blocks;  // struct running_block
    uint32_t free_block;     // + 1
    uint64_t live_most;
    struct hs_allowance allowance; // for sizes
    const int *cancel;
    struct hs_running_state state;
};

// A node as the trace numbers it.
struct recorded_node {
    struct hs_node node;
    uint32_t number;
};

// ---- stacks ---------------------------------------------------------------------------------------------------------

// 0: it is not known, or not yet.
static uint32_t node_of(const struct hs_running_sums *running, uint32_t recorded)
{
    return recorded < running->numbers.count ? ((const uint32_t *)running->numbers.data)[recorded] : 0;
}

static int wait_for_parent(struct hs_running_sums *running, const struct recorded_node *recorded)
{
    struct recorded_node *waiting = hs_array__add(&running->waiting, sizeof(*waiting));
    if (!waiting)
        return -ENOMEM;
    *waiting = *recorded;
    return 0;
}

static int add_node(struct hs_running_sums *running, const struct recorded_node *recorded)
{
    struct hs_node node = recorded->node;
    uint32_t *number = hs_array__reach(&running->numbers, recorded->number, sizeof(*number));
    if (!number)
        return -ENOMEM;
    if (*number)
        return 0;
    node.parent = node.parent < recorded->number ? node_of(running, node.parent) : 0;
    if (!node.parent && recorded->node.parent && recorded->node.parent < recorded->number)
        return wait_for_parent(running, recorded);
    *number = hs_node_table__number(&running->nodes, &node);
    return *number ? 0 : -ENOMEM;
}

static int compare_recorded(const void *left, const void *right)
{
    const struct recorded_node *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

// Threads write their nodes in any order, but the number of a parent is less.
static int add_waiting(struct hs_running_sums *running)
{
    struct hs_array waiting = running->waiting;
    int failed = 0;
    running->waiting = (struct hs_array){0};
    if (waiting.count)
        qsort(waiting.data, waiting.count, sizeof(struct recorded_node), compare_recorded);
    for (size_t i = 0; i < waiting.count && !failed; i++)
        failed = add_node(running, (const struct recorded_node *)waiting.data + i);
    free(waiting.data);
    return failed;
}

static int add_nodes(struct hs_running_sums *running, uint32_t first, const struct hs_meta_node *nodes, size_t count)
{
    const uint64_t end = first + (uint64_t)count;
    int failed = end > hs_memory__unpacked(running->size, NODES_PACKED) || end > UINT32_MAX ? -ENOBUFS : 0;
    for (size_t i = 0; i < count && !failed; i++) {
        const struct recorded_node node = {{.pc = nodes[i].pc, .parent = nodes[i].parent}, first + (uint32_t)i};
        failed = add_node(running, &node);
    }
    return failed;
}

static bool has_key(const struct hs_meta_record *record, const char *key)
{
    return record->key.length == strlen(key) && !memcmp(record->key.data, key, record->key.length);
}

// A recorder that culls takes events back after they were in the file.
static int note_info(struct hs_running_sums *running, const struct hs_meta_record *record)
{
    if (has_key(record, "cull"))
        return -ENOTSUP;
    if (has_key(record, "ticks-per-second"))
        snprintf(running->rate, sizeof(running->rate), "%.*s",
                 (int)hs_number__least(record->text.length, sizeof(running->rate)), (const char *)record->text.data);
    return 0;
}

static int note_point(struct hs_running_sums *running, const struct hs_meta_record *record)
{
    if (running->points.count && record->time <= running->last_point)
        return 0;
    running->last_point = record->time;
    return hs_clock_map__add_point(&running->points, record);
}

// What is known of the changes of code in one chunk.
struct code_count {
    uint32_t before, now;
};

static void note_code(struct hs_running_sums *running, const struct hs_meta_record *record, struct code_count *code)
{
    if (++code->now <= code->before)
        return;
    running->state.code_changes++;
    running->state.modules += record->tag == HS_META_MODULE;
}

static int add_record(struct hs_running_sums *running, const struct hs_meta_record *record, struct code_count *code)
{
    const struct hs_meta_node node = {.pc = record->pc, .parent = record->parent};
    switch (record->tag) {
    case HS_META_NODE:
        return add_nodes(running, record->id, &node, 1);
    case HS_META_CLOCK:
        return note_point(running, record);
    case HS_META_INFO:
        return note_info(running, record);
    case HS_META_MODULE:
    case HS_META_CODE:
        note_code(running, record, code);
        return 0;
    case HS_META_UNLOAD: // nodes of equal addresses may differ from now on
    case HS_META_CULLED:
        return -ENOTSUP;
    default:
        return 0;
    }
}

static int add_records(struct hs_running_sums *running, struct hs_meta_reader *reader, struct code_count *code)
{
    struct hs_meta_node nodes[NODES];
    struct hs_meta_record record;
    int failed = 0, more = 1;
    while (!failed && more > 0) {
        uint32_t first;
        const size_t count = hs_meta_nodes(reader, &first, nodes, NODES);
        failed = count ? add_nodes(running, first, nodes, count) : 0;
        more = failed || count == NODES ? 1 : hs_meta_next(reader, &record);
        if (!failed && more > 0 && count < NODES)
            failed = add_record(running, &record, code);
    }
    return more < 0 ? -EBADMSG : failed;
}

// A slot keeps its sequence when it is sealed. Chunks without one stay where they are.
static uint64_t key_of(const struct hs_trace_chunk *chunk)
{
    return chunk->sequence ? chunk->sequence : ~chunk->offset;
}

// A slot is read again as long as it fills.
static int read_meta(struct hs_running_sums *running, const struct hs_trace *trace, const struct hs_trace_chunk *chunk)
{
    const uint32_t known = hs_id_map__find(&running->metas, key_of(chunk));
    const uint32_t sealed = !(chunk->flags & HS_CHUNK_LIVE);
    if (known != UINT32_MAX && known & 1)
        return 0;
    uint8_t *payload;
    size_t length;
    const size_t skip = hs_trace_chunk__records(chunk);
    int failed = hs_trace__payload(trace, chunk, &payload, &length);
    if (failed)
        return failed;
    struct hs_meta_reader reader;
    struct code_count code = {.before = known == UINT32_MAX ? 0 : known / 2};
    hs_meta_open(&reader, payload + skip, length > skip ? length - skip : 0);
    failed = add_records(running, &reader, &code);
    free(payload);
    return failed ? failed : hs_id_map__set(&running->metas, key_of(chunk), 2 * (code.now & 0x3fffffff) + sealed);
}

static int read_metas(struct hs_running_sums *running, const struct hs_trace *trace)
{
    size_t count;
    int failed = 0;
    const struct hs_trace_chunk *chunks = hs_trace__chunks(trace, &count);
    for (size_t i = 0; i < count && !failed; i++)
        if (chunks[i].kind == HS_CHUNK_META)
            failed = read_meta(running, trace, &chunks[i]);
    return failed ? failed : add_waiting(running);
}

// ---- blocks ---------------------------------------------------------------------------------------------------------

static struct hs_running_stack *stack_at(const struct hs_running_sums *running, uint32_t place)
{
    return (struct hs_running_stack *)running->stacks.data + place;
}

// Its place + 1; 0: out of memory.
static uint32_t find_stack(struct hs_running_sums *running, uint32_t recorded)
{
    const uint32_t node = node_of(running, recorded);
    uint32_t *place = hs_array__reach(&running->stack_of, node, sizeof(*place));
    if (!place || *place)
        return place ? *place : 0;
    struct hs_running_stack *stack = hs_array__add(&running->stacks, sizeof(*stack));
    if (!stack)
        return 0;
    *stack = (struct hs_running_stack){.node = node};
    return *place = (uint32_t)running->stacks.count;
}

// The sums of a stack that will change. NULL: out of memory.
static struct hs_running_sum *change(struct hs_running_sums *running, uint32_t place)
{
    struct hs_running_stack *stack = stack_at(running, place);
    if (stack->has_changed || !running->time)
        return &stack->sums;
    struct hs_running_change *change = hs_array__add(&running->changes, sizeof(*change));
    if (!change)
        return NULL;
    *change = (struct hs_running_change){place, stack->sums};
    stack->has_changed = true;
    return &stack->sums;
}

static void forget_changes(struct hs_running_sums *running)
{
    const struct hs_running_change *changes = running->changes.data;
    for (size_t i = 0; i < running->changes.count; i++)
        stack_at(running, changes[i].stack)->has_changed = false;
    free(running->changes.data); // after a long pause, all may have changed
    running->changes = (struct hs_array){0};
}

static uint32_t add_block(struct hs_running_sums *running, uint64_t size, uint32_t stack)
{
    uint32_t number = running->free_block;
    struct running_block *block = running->blocks.data;
    if (number) {
        block += number - 1;
        running->free_block = block->next_free;
    } else {
        block = hs_array__add(&running->blocks, sizeof(*block));
        number = block ? (uint32_t)running->blocks.count : 0;
    }
    if (number)
        *block = (struct running_block){.size = size, .stack = stack};
    return number;
}

static int end_block(struct hs_running_sums *running, struct hs_live_entry *entry)
{
    const uint32_t number = entry->row_plus_1;
    struct running_block *block = (struct running_block *)running->blocks.data + (number - 1);
    struct hs_running_sum *sums = change(running, block->stack), *sum = &running->state.sum;
    if (!sums)
        return -ENOMEM;
    sums->live_bytes -= block->size;
    sums->live_count--;
    sum->live_bytes -= block->size;
    sum->live_count--;
    block->next_free = running->free_block;
    running->free_block = number;
    hs_live_map__remove(&running->live, entry);
    return 0;
}

// A stack that is not known yet may become known.
static int begin_block(struct hs_running_sums *running, const struct hs_step *step)
{
    if (step->stack && !node_of(running, step->stack))
        return -ENOTSUP;
    const uint64_t size = hs_builder__allow(&running->allowance, step->size, step->usable).size;
    const uint32_t stack = find_stack(running, step->stack);
    struct hs_running_sum *sums = stack ? change(running, stack - 1) : NULL, *sum = &running->state.sum;
    const uint32_t number = sums ? add_block(running, size, stack - 1) : 0;
    if (!number)
        return -ENOMEM;
    while (hs_live_map__is_full(&running->live))
        if (running->live.count >= running->live_most || hs_live_map__grow(&running->live))
            return -ENOMEM;
    struct hs_live_entry *entry = hs_live_map__find(&running->live, step->address, HS_LIVE_HEAP);
    const struct hs_live_entry filled = {.address = step->address, .row_plus_1 = number, .tag = HS_LIVE_HEAP};
    hs_live_map__fill(&running->live, entry, &filled);
    struct hs_running_sum *const both[] = {sums, sum};
    for (size_t i = 0; i < 2; i++) {
        both[i]->live_bytes += size;
        both[i]->live_count++;
        both[i]->all_bytes += size;
        both[i]->all_count++;
    }
    if (sum->live_bytes > running->state.most_bytes)
        running->state.most_bytes = sum->live_bytes;
    return 0;
}

// As an import takes it (builder.c).
static int take(void *context, struct hs_step *step, bool last)
{
    struct hs_running_sums *running = context;
    const bool begins = step->kind != HS_EVENT_FREE && step->phase == HS_PHASE_END;
    if (step->kind < HS_EVENT_FREE || step->kind > HS_EVENT_REALLOC)
        return 0;
    struct hs_live_entry *entry = hs_live_map__find(&running->live, step->address, HS_LIVE_HEAP);
    const bool fits = !entry->row_plus_1 == begins;
    if (!fits && !last)
        return HS_TIE_WAITS;
    int failed = entry->row_plus_1 ? end_block(running, entry) : 0;
    return failed || !begins ? failed : begin_block(running, step);
}

static int visit_one(struct hs_running_sums *running, struct hs_step *step)
{
    running->now = step->time = hs_trace_clock__next(&running->clock, running->now, step->time);
    if (hs_ties__waits(&running->ties)) {
        int failed = hs_ties__expire(&running->ties, step->time);
        if (failed)
            return failed;
        if (hs_ties__waits(&running->ties))
            return hs_ties__visit(&running->ties, step);
    }
    int result = take(running, step, false);
    return result == HS_TIE_WAITS ? hs_ties__hold(&running->ties, step) : result;
}

static int visit(void *context, struct hs_step *steps, size_t count)
{
    struct hs_running_sums *running = context;
    int failed = running->cancel && __atomic_load_n(running->cancel, __ATOMIC_RELAXED) ? -ECANCELED : 0;
    for (size_t i = 0; i < count && !failed; i++)
        failed = visit_one(running, &steps[i]);
    return failed;
}

// ---- looks ----------------------------------------------------------------------------------------------------------

static int reach(void *context, uint64_t time, struct hs_array *consumed)
{
    struct hs_running_sums *running = context;
    int failed = hs_ties__expire(&running->ties, hs_trace_clock__next(&running->clock, running->now, time) + 1);
    if (failed)
        return failed;
    free(running->consumed.data);
    running->consumed = *consumed;
    *consumed = (struct hs_array){0};
    running->time = time;
    return hs_consumed__sort(running->consumed.data, running->consumed.count) ? REACHED : -ESTALE;
}

static bool is_damaged(const struct hs_replay_counts *counts)
{
    uint64_t damage = counts->out_of_order;
    for (size_t i = 0; i < HS_DAMAGE_COUNT; i++)
        damage += counts->damage[i];
    return damage;
}

static int take_events(struct hs_running_sums *running, const struct hs_trace *trace, uint64_t until)
{
    const struct hs_replay_cut cut = {.time = until,
                                      .reached = reach,
                                      .before_time = running->time,
                                      .before = running->consumed.data,
                                      .before_count = running->consumed.count};
    struct hs_replay_counts counts;
    hs_clock_map__free(&running->clock);
    int result =
        hs_clock_map__create(&running->clock, &hs_trace__info(trace)->header, *running->rate ? running->rate : NULL,
                             running->points.data, running->points.count);
    if (result)
        return result;
    running->ties.window = hs_trace_clock__window(&running->clock);
    result = hs_trace__replay_parts(trace, visit, running, &counts, &cut);
    running->state.time_ns = hs_clock_map__ns(&running->clock, until);
    return result == REACHED ? (is_damaged(&counts) ? -EBADMSG : 0) : result ? result : -ESTALE;
}

static uint64_t newest_event(const struct hs_trace *trace)
{
    size_t count;
    uint64_t newest = 0;
    const struct hs_trace_chunk *chunks = hs_trace__chunks(trace, &count);
    for (size_t i = 0; i < count; i++)
        if (chunks[i].kind == HS_CHUNK_EVENTS && chunks[i].last_time > newest)
            newest = chunks[i].last_time;
    return newest;
}

static bool has_sums(const struct hs_trace *trace)
{
    size_t count;
    bool has = false;
    const struct hs_trace_chunk *chunks = hs_trace__chunks(trace, &count);
    for (size_t i = 0; i < count && !has; i++)
        has = chunks[i].kind == HS_CHUNK_SUMS;
    return has;
}

static bool can_go_on(struct hs_running_sums *running, const struct hs_trace *trace)
{
    const struct hs_trace_info *info = hs_trace__info(trace);
    struct stat status;
    char id[HS_TRACE_ID];
    if (fstat(trace->fd, &status) || info->header.live.state != HS_STATE_RECORDING || has_sums(trace))
        return false;
    hs_trace__write_id(trace, id);
    if (!running->size) {
        running->device = status.st_dev;
        running->file = status.st_ino;
        memcpy(running->state.trace_id, id, sizeof(id));
    }
    const bool is_it = running->device == status.st_dev && running->file == status.st_ino &&
                       !strcmp(running->state.trace_id, id) && info->file_size >= running->size;
    running->size = info->file_size;
    running->live_most = hs_memory__live_blocks(info->file_size);
    return is_it;
}

static int look_at(struct hs_running_sums *running, const struct hs_trace *trace)
{
    const uint64_t now = hs_clock__now();
    int failed = can_go_on(running, trace) ? read_metas(running, trace) : -ESTALE;
    if (failed || (running->newest && now - running->newest_at < hs_running_age))
        return failed;
    if (running->newest > running->time)
        failed = take_events(running, trace, running->newest);
    running->newest = newest_event(trace);
    running->newest_at = now;
    return failed;
}

int hs_running_sums__look(struct hs_running_sums *running, const int *cancel)
{
    struct hs_trace *trace;
    struct hs_error error;
    forget_changes(running);
    running->cancel = cancel;
    int failed = hs_trace__open(running->path, &trace, &error);
    if (failed)
        return failed;
    failed = look_at(running, trace);
    hs_trace__close(trace);
    running->state.nodes = running->nodes.nodes.data;
    running->state.node_count = running->nodes.nodes.count;
    running->state.stack = running->stacks.data;
    running->state.stacks = running->stacks.count;
    running->state.change = running->changes.data;
    running->state.changes = running->changes.count;
    return failed;
}

const struct hs_running_state *hs_running_sums__state(const struct hs_running_sums *running)
{
    return &running->state;
}

struct hs_running_sums *hs_running_sums__create(const char *path)
{
    struct hs_running_sums *running = calloc(1, sizeof(*running));
    if (!running)
        return NULL;
    running->path = strdup(path);
    running->ties = (struct hs_ties){.take = take, .context = running};
    running->allowance.left = HS_ALLOWANCE_LARGE;
    if (running->path && !hs_node_table__create(&running->nodes) && !hs_live_map__create(&running->live) &&
        !hs_running_sums__look(running, NULL))
        return running;
    hs_running_sums__free(running);
    return NULL;
}

void hs_running_sums__free(struct hs_running_sums *running)
{
    if (!running)
        return;
    free(running->path);
    free(running->consumed.data);
    hs_id_map__free(&running->metas);
    hs_node_table__free(&running->nodes);
    free(running->numbers.data);
    free(running->waiting.data);
    free(running->stack_of.data);
    free(running->stacks.data);
    free(running->changes.data);
    free(running->points.data);
    hs_clock_map__free(&running->clock);
    hs_ties__free(&running->ties);
    hs_live_map__free(&running->live);
    free(running->blocks.data);
    free(running);
}
