// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/tally.h"

#include "format/meta.h"
#include "host/base/clock.h"
#include "host/base/hash_index.h"
#include "host/base/id_map.h"
#include "host/base/memory.h"
#include "host/base/numbers.h"
#include "host/import/builder.h"
#include "host/import/consumed.h"
#include "host/import/live_map.h"
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

uint64_t hs_tally_age = 500000000;

struct tally_block {
    uint64_t size;
    uint32_t stack, next_free;
};

struct hs_tally {
    char *path;
    dev_t device;
    ino_t file;
    uint64_t size;
    uint64_t newest, newest_at; // the end of the next look, and when it was seen: recorded time, ns
    uint64_t time;              // up to which events were taken
    uint64_t now;               // the same in ns
    struct hs_array consumed;   // struct hs_consumed
    struct hs_id_map metas;     // by key_of META chunks: twice the number of changes of code, + 1 if it is sealed
    struct hs_array nodes;      // struct hs_node
    struct hs_hash_index same;  // of them
    struct hs_array numbers;    // uint32_t: which of them, by number in the trace; 0: not known
    struct hs_array waiting;    // struct recorded_node whose parents are not known yet
    struct hs_array stack_of;   // uint32_t by node: its stack + 1, or 0
    struct hs_array stacks;     // struct hs_tally_stack
    struct hs_array changes;    // struct hs_tally_change
    struct hs_array points;     // struct hs_clock_point
    uint64_t last_point;
    char rate[32]; // ticks per second; "": not known
    struct hs_clock_map clock;
    struct hs_ties ties;
    struct hs_live_map live; // rows are numbers of blocks
    struct hs_array blocks;  // struct tally_block
    uint32_t free_block;     // + 1
    uint64_t live_most;
    struct hs_allowance allowance; // for sizes
    const int *cancel;
    struct hs_tally_state state;
};

// A node as the trace numbers it.
struct recorded_node {
    struct hs_node node;
    uint32_t number;
};

struct node_search {
    const struct hs_tally *tally;
    struct hs_node node;
};

// ---- stacks ---------------------------------------------------------------------------------------------------------

static bool is_node(const void *wanted, uint32_t number)
{
    const struct node_search *search = wanted;
    const struct hs_node *node = (const struct hs_node *)search->tally->nodes.data + number;
    return node->pc == search->node.pc && node->parent == search->node.parent;
}

// The recorder may write a node again under another number. 0: out of memory.
static uint32_t number_of(struct hs_tally *tally, const struct hs_node *node)
{
    const struct node_search search = {tally, *node};
    const uint64_t hash = hs_hash__pair(node->pc, node->parent);
    const uint32_t known = hs_hash_index__find(&tally->same, hash, is_node, &search);
    if (known != HS_HASH_NONE)
        return known;
    const uint32_t number = (uint32_t)tally->nodes.count;
    struct hs_node *added = hs_array__add(&tally->nodes, sizeof(*added));
    if (!added || hs_hash_index__add(&tally->same, hash, number))
        return 0;
    *added = *node;
    return number;
}

// 0: it is not known, or not yet.
static uint32_t node_of(const struct hs_tally *tally, uint32_t recorded)
{
    return recorded < tally->numbers.count ? ((const uint32_t *)tally->numbers.data)[recorded] : 0;
}

static int wait_for_parent(struct hs_tally *tally, const struct recorded_node *recorded)
{
    struct recorded_node *waiting = hs_array__add(&tally->waiting, sizeof(*waiting));
    if (!waiting)
        return -ENOMEM;
    *waiting = *recorded;
    return 0;
}

static int add_node(struct hs_tally *tally, const struct recorded_node *recorded)
{
    struct hs_node node = recorded->node;
    uint32_t *number = hs_array__reach(&tally->numbers, recorded->number, sizeof(*number));
    if (!number)
        return -ENOMEM;
    if (*number)
        return 0;
    node.parent = node.parent < recorded->number ? node_of(tally, node.parent) : 0;
    if (!node.parent && recorded->node.parent && recorded->node.parent < recorded->number)
        return wait_for_parent(tally, recorded);
    *number = number_of(tally, &node);
    return *number ? 0 : -ENOMEM;
}

static int compare_recorded(const void *left, const void *right)
{
    const struct recorded_node *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

// Threads write their nodes in any order, but the number of a parent is less.
static int add_waiting(struct hs_tally *tally)
{
    struct hs_array waiting = tally->waiting;
    int failed = 0;
    tally->waiting = (struct hs_array){0};
    if (waiting.count)
        qsort(waiting.data, waiting.count, sizeof(struct recorded_node), compare_recorded);
    for (size_t i = 0; i < waiting.count && !failed; i++)
        failed = add_node(tally, (const struct recorded_node *)waiting.data + i);
    free(waiting.data);
    return failed;
}

static int add_nodes(struct hs_tally *tally, uint32_t first, const struct hs_meta_node *nodes, size_t count)
{
    const uint64_t end = first + (uint64_t)count;
    int failed = end > hs_memory__unpacked(tally->size, NODES_PACKED) || end > UINT32_MAX ? -ENOBUFS : 0;
    for (size_t i = 0; i < count && !failed; i++) {
        const struct recorded_node node = {{.pc = nodes[i].pc, .parent = nodes[i].parent}, first + (uint32_t)i};
        failed = add_node(tally, &node);
    }
    return failed;
}

static bool has_key(const struct hs_meta_record *record, const char *key)
{
    return record->key.length == strlen(key) && !memcmp(record->key.data, key, record->key.length);
}

// A recorder that culls takes events back after they were in the file.
static int note_info(struct hs_tally *tally, const struct hs_meta_record *record)
{
    if (has_key(record, "cull"))
        return -ENOTSUP;
    if (has_key(record, "ticks-per-second"))
        snprintf(tally->rate, sizeof(tally->rate), "%.*s",
                 (int)hs_number__least(record->text.length, sizeof(tally->rate)), (const char *)record->text.data);
    return 0;
}

static int note_point(struct hs_tally *tally, const struct hs_meta_record *record)
{
    if (tally->points.count && record->time <= tally->last_point)
        return 0;
    tally->last_point = record->time;
    return hs_clock_map__add_point(&tally->points, record);
}

// What is known of the changes of code in one chunk.
struct code_count {
    uint32_t before, now;
};

static void note_code(struct hs_tally *tally, const struct hs_meta_record *record, struct code_count *code)
{
    if (++code->now <= code->before)
        return;
    tally->state.code_changes++;
    tally->state.modules += record->tag == HS_META_MODULE;
}

static int add_record(struct hs_tally *tally, const struct hs_meta_record *record, struct code_count *code)
{
    const struct hs_meta_node node = {.pc = record->pc, .parent = record->parent};
    switch (record->tag) {
    case HS_META_NODE:
        return add_nodes(tally, record->id, &node, 1);
    case HS_META_CLOCK:
        return note_point(tally, record);
    case HS_META_INFO:
        return note_info(tally, record);
    case HS_META_MODULE:
    case HS_META_CODE:
        note_code(tally, record, code);
        return 0;
    case HS_META_UNLOAD: // nodes of equal addresses may differ from now on
    case HS_META_CULLED:
        return -ENOTSUP;
    default:
        return 0;
    }
}

static int add_records(struct hs_tally *tally, struct hs_meta_reader *reader, struct code_count *code)
{
    struct hs_meta_node nodes[NODES];
    struct hs_meta_record record;
    int failed = 0, more = 1;
    while (!failed && more > 0) {
        uint32_t first;
        const size_t count = hs_meta_nodes(reader, &first, nodes, NODES);
        failed = count ? add_nodes(tally, first, nodes, count) : 0;
        more = failed || count == NODES ? 1 : hs_meta_next(reader, &record);
        if (!failed && more > 0 && count < NODES)
            failed = add_record(tally, &record, code);
    }
    return more < 0 ? -EBADMSG : failed;
}

// A slot keeps its sequence when it is sealed. Chunks without one stay where they are.
static uint64_t key_of(const struct hs_trace_chunk *chunk)
{
    return chunk->sequence ? chunk->sequence : ~chunk->offset;
}

// A slot is read again as long as it fills.
static int read_meta(struct hs_tally *tally, const struct hs_trace *trace, const struct hs_trace_chunk *chunk)
{
    const uint32_t known = hs_id_map__find(&tally->metas, key_of(chunk));
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
    failed = add_records(tally, &reader, &code);
    free(payload);
    return failed ? failed : hs_id_map__set(&tally->metas, key_of(chunk), 2 * (code.now & 0x3fffffff) + sealed);
}

static int read_metas(struct hs_tally *tally, const struct hs_trace *trace)
{
    size_t count;
    int failed = 0;
    const struct hs_trace_chunk *chunks = hs_trace__chunks(trace, &count);
    for (size_t i = 0; i < count && !failed; i++)
        if (chunks[i].kind == HS_CHUNK_META)
            failed = read_meta(tally, trace, &chunks[i]);
    return failed ? failed : add_waiting(tally);
}

// ---- blocks ---------------------------------------------------------------------------------------------------------

static struct hs_tally_stack *stack_at(const struct hs_tally *tally, uint32_t place)
{
    return (struct hs_tally_stack *)tally->stacks.data + place;
}

// Its place + 1; 0: out of memory.
static uint32_t find_stack(struct hs_tally *tally, uint32_t recorded)
{
    const uint32_t node = node_of(tally, recorded);
    uint32_t *place = hs_array__reach(&tally->stack_of, node, sizeof(*place));
    if (!place || *place)
        return place ? *place : 0;
    struct hs_tally_stack *stack = hs_array__add(&tally->stacks, sizeof(*stack));
    if (!stack)
        return 0;
    *stack = (struct hs_tally_stack){.node = node};
    return *place = (uint32_t)tally->stacks.count;
}

// The sums of a stack that will change. NULL: out of memory.
static struct hs_tally_sums *change(struct hs_tally *tally, uint32_t place)
{
    struct hs_tally_stack *stack = stack_at(tally, place);
    if (stack->has_changed)
        return &stack->sums;
    struct hs_tally_change *change = hs_array__add(&tally->changes, sizeof(*change));
    if (!change)
        return NULL;
    *change = (struct hs_tally_change){place, stack->sums};
    stack->has_changed = true;
    return &stack->sums;
}

static void forget_changes(struct hs_tally *tally)
{
    const struct hs_tally_change *changes = tally->changes.data;
    for (size_t i = 0; i < tally->changes.count; i++)
        stack_at(tally, changes[i].stack)->has_changed = false;
    tally->changes.count = 0;
}

static uint32_t add_block(struct hs_tally *tally, uint64_t size, uint32_t stack)
{
    uint32_t number = tally->free_block;
    struct tally_block *block = tally->blocks.data;
    if (number) {
        block += number - 1;
        tally->free_block = block->next_free;
    } else {
        block = hs_array__add(&tally->blocks, sizeof(*block));
        number = block ? (uint32_t)tally->blocks.count : 0;
    }
    if (number)
        *block = (struct tally_block){.size = size, .stack = stack};
    return number;
}

static int end_block(struct hs_tally *tally, struct hs_live_entry *entry)
{
    const uint32_t number = entry->row_plus_1;
    struct tally_block *block = (struct tally_block *)tally->blocks.data + (number - 1);
    struct hs_tally_sums *sums = change(tally, block->stack), *sum = &tally->state.sum;
    if (!sums)
        return -ENOMEM;
    sums->live_bytes -= block->size;
    sums->live_count--;
    sum->live_bytes -= block->size;
    sum->live_count--;
    block->next_free = tally->free_block;
    tally->free_block = number;
    hs_live_map__remove(&tally->live, entry);
    return 0;
}

// A stack that is not known yet may become known.
static int begin_block(struct hs_tally *tally, const struct hs_step *step)
{
    if (step->stack && !node_of(tally, step->stack))
        return -ENOTSUP;
    const uint64_t size = hs_builder__allow(&tally->allowance, step->size, step->usable).size;
    const uint32_t stack = find_stack(tally, step->stack);
    struct hs_tally_sums *sums = stack ? change(tally, stack - 1) : NULL, *sum = &tally->state.sum;
    const uint32_t number = sums ? add_block(tally, size, stack - 1) : 0;
    if (!number)
        return -ENOMEM;
    while (hs_live_map__is_full(&tally->live))
        if (tally->live.count >= tally->live_most || hs_live_map__grow(&tally->live))
            return -ENOMEM;
    struct hs_live_entry *entry = hs_live_map__find(&tally->live, step->address, HS_LIVE_HEAP);
    const struct hs_live_entry filled = {.address = step->address, .row_plus_1 = number, .tag = HS_LIVE_HEAP};
    hs_live_map__fill(&tally->live, entry, &filled);
    struct hs_tally_sums *const both[] = {sums, sum};
    for (size_t i = 0; i < 2; i++) {
        both[i]->live_bytes += size;
        both[i]->live_count++;
        both[i]->all_bytes += size;
        both[i]->all_count++;
    }
    if (sum->live_bytes > tally->state.most_bytes)
        tally->state.most_bytes = sum->live_bytes;
    return 0;
}

// As an import takes it (builder.c).
static int take(void *context, struct hs_step *step, bool last)
{
    struct hs_tally *tally = context;
    const bool begins = step->kind != HS_EVENT_FREE && step->phase == HS_PHASE_END;
    if (step->kind < HS_EVENT_FREE || step->kind > HS_EVENT_REALLOC)
        return 0;
    struct hs_live_entry *entry = hs_live_map__find(&tally->live, step->address, HS_LIVE_HEAP);
    const bool fits = !entry->row_plus_1 == begins;
    if (!fits && !last)
        return HS_TIE_WAITS;
    int failed = entry->row_plus_1 ? end_block(tally, entry) : 0;
    return failed || !begins ? failed : begin_block(tally, step);
}

static int visit_one(struct hs_tally *tally, struct hs_step *step)
{
    tally->now = step->time = hs_trace_clock__next(&tally->clock, tally->now, step->time);
    if (hs_ties__waits(&tally->ties)) {
        int failed = hs_ties__expire(&tally->ties, step->time);
        if (failed)
            return failed;
        if (hs_ties__waits(&tally->ties))
            return hs_ties__visit(&tally->ties, step);
    }
    int result = take(tally, step, false);
    return result == HS_TIE_WAITS ? hs_ties__hold(&tally->ties, step) : result;
}

static int visit(void *context, struct hs_step *steps, size_t count)
{
    struct hs_tally *tally = context;
    int failed = tally->cancel && __atomic_load_n(tally->cancel, __ATOMIC_RELAXED) ? -ECANCELED : 0;
    for (size_t i = 0; i < count && !failed; i++)
        failed = visit_one(tally, &steps[i]);
    return failed;
}

// ---- looks ----------------------------------------------------------------------------------------------------------

static int reach(void *context, uint64_t time, struct hs_array *consumed)
{
    struct hs_tally *tally = context;
    int failed = hs_ties__expire(&tally->ties, hs_trace_clock__next(&tally->clock, tally->now, time) + 1);
    if (failed)
        return failed;
    free(tally->consumed.data);
    tally->consumed = *consumed;
    *consumed = (struct hs_array){0};
    tally->time = time;
    return hs_consumed__sort(tally->consumed.data, tally->consumed.count) ? REACHED : -ESTALE;
}

static bool is_damaged(const struct hs_replay_counts *counts)
{
    uint64_t damage = counts->out_of_order;
    for (size_t i = 0; i < HS_DAMAGE_COUNT; i++)
        damage += counts->damage[i];
    return damage;
}

static int take_events(struct hs_tally *tally, const struct hs_trace *trace, uint64_t until)
{
    const struct hs_replay_cut cut = {.time = until,
                                      .reached = reach,
                                      .before_time = tally->time,
                                      .before = tally->consumed.data,
                                      .before_count = tally->consumed.count};
    struct hs_replay_counts counts;
    hs_clock_map__free(&tally->clock);
    int result = hs_clock_map__create(&tally->clock, &hs_trace__info(trace)->header, *tally->rate ? tally->rate : NULL,
                                      tally->points.data, tally->points.count);
    if (result)
        return result;
    tally->ties.window = hs_trace_clock__window(&tally->clock);
    result = hs_trace__replay_parts(trace, visit, tally, &counts, &cut);
    tally->state.time_ns = hs_clock_map__ns(&tally->clock, until);
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

static bool can_go_on(struct hs_tally *tally, const struct hs_trace *trace)
{
    const struct hs_trace_info *info = hs_trace__info(trace);
    struct stat status;
    char id[HS_TRACE_ID];
    if (fstat(trace->fd, &status) || info->header.live.state != HS_STATE_RECORDING || has_sums(trace))
        return false;
    hs_trace__write_id(trace, id);
    if (!tally->size) {
        tally->device = status.st_dev;
        tally->file = status.st_ino;
        memcpy(tally->state.trace_id, id, sizeof(id));
    }
    const bool is_it = tally->device == status.st_dev && tally->file == status.st_ino &&
                       !strcmp(tally->state.trace_id, id) && info->file_size >= tally->size;
    tally->size = info->file_size;
    tally->live_most = hs_memory__live_blocks(info->file_size);
    return is_it;
}

static int look_at(struct hs_tally *tally, const struct hs_trace *trace)
{
    const uint64_t now = hs_clock__now();
    int failed = can_go_on(tally, trace) ? read_metas(tally, trace) : -ESTALE;
    if (failed || (tally->newest && now - tally->newest_at < hs_tally_age))
        return failed;
    if (tally->newest > tally->time)
        failed = take_events(tally, trace, tally->newest);
    tally->newest = newest_event(trace);
    tally->newest_at = now;
    return failed;
}

int hs_tally__look(struct hs_tally *tally, const int *cancel)
{
    struct hs_trace *trace;
    struct hs_error error;
    forget_changes(tally);
    tally->cancel = cancel;
    int failed = hs_trace__open(tally->path, &trace, &error);
    if (failed)
        return failed;
    failed = look_at(tally, trace);
    hs_trace__close(trace);
    tally->state.nodes = tally->nodes.data;
    tally->state.node_count = tally->nodes.count;
    tally->state.stack = tally->stacks.data;
    tally->state.stacks = tally->stacks.count;
    tally->state.change = tally->changes.data;
    tally->state.changes = tally->changes.count;
    return failed;
}

const struct hs_tally_state *hs_tally__state(const struct hs_tally *tally)
{
    return &tally->state;
}

struct hs_tally *hs_tally__create(const char *path)
{
    struct hs_tally *tally = calloc(1, sizeof(*tally));
    if (!tally)
        return NULL;
    tally->path = strdup(path);
    tally->ties = (struct hs_ties){.take = take, .context = tally};
    tally->allowance.left = HS_ALLOWANCE_LARGE;
    if (tally->path && hs_array__reach(&tally->nodes, 0, sizeof(struct hs_node)) &&
        !hs_live_map__create(&tally->live) && !hs_tally__look(tally, NULL))
        return tally;
    hs_tally__free(tally);
    return NULL;
}

void hs_tally__free(struct hs_tally *tally)
{
    if (!tally)
        return;
    free(tally->path);
    free(tally->consumed.data);
    hs_id_map__free(&tally->metas);
    free(tally->nodes.data);
    hs_hash_index__free(&tally->same);
    free(tally->numbers.data);
    free(tally->waiting.data);
    free(tally->stack_of.data);
    free(tally->stacks.data);
    free(tally->changes.data);
    free(tally->points.data);
    hs_clock_map__free(&tally->clock);
    hs_ties__free(&tally->ties);
    hs_live_map__free(&tally->live);
    free(tally->blocks.data);
    free(tally);
}
