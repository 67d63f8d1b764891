// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Every operation in its order, for programs that do it all again with another allocator. 64-bit numbers, the lowest
// byte first: how many slots there are, then records of four numbers
//   1 slot microseconds size   allocate into a slot        4 frame 0 0   a function was called
//   2 slot microseconds 0      free what the slot holds    5 0 0 0       it returned
//   3 slot microseconds size   reallocate it
// and a single 0. Frames are numbered by how often they occur in stacks, the most frequent one is 0.
#include "host/base/array.h"
#include "host/base/id_map.h"
#include "host/export/export.h"
#include "host/query/events.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>

enum { RECORD_ALLOCATE = 1, RECORD_FREE = 2, RECORD_REALLOCATE = 3, RECORD_CALL = 4, RECORD_RETURN = 5 };

struct replay_frame {
    uint64_t pc, uses;
    uint32_t rank;
};

// A block between the two halves of a realloc. There are as many as there are threads within a realloc.
struct moving {
    uint32_t row; // that continues it
    uint32_t slot;
};

struct replay_path {
    uint32_t *node; // outermost first
    size_t count, room;
};

struct replay_writing {
    FILE *out; // NULL: only counts slots
    const struct hs_subject *subject;
    const struct hs_columns *columns;
    const struct hs_node *nodes;
    size_t node_count;
    struct hs_id_map frame_of; // by pc
    struct replay_frame *frame;
    size_t frames;
    struct replay_path now, next;
    uint32_t *spare; // slots
    size_t spares, spare_room;
    uint32_t slots;
    struct moving *moving;
    size_t movings, moving_room;
};

// ---- frames --------------------------------------------------------------------------------------------------------

static int count_uses(struct replay_writing *writing, uint64_t *uses)
{
    const struct hs_totals *totals = &writing->subject->totals;
    for (size_t i = 0; i < totals->count; i++) {
        if (totals->total[i].stack < writing->node_count)
            uses[totals->total[i].stack] += totals->total[i].allocated_count;
    }
    // Callers have smaller numbers than what they call.
    for (size_t node = writing->node_count; node-- > 1;) {
        uint32_t parent = hs_trace_symbols__parent(writing->subject->symbols, (uint32_t)node);
        uses[parent] += uses[node];
        uint64_t pc = writing->nodes[node].pc;
        uint32_t known = hs_id_map__find(&writing->frame_of, pc);
        if (known == UINT32_MAX) {
            known = (uint32_t)writing->frames++;
            writing->frame[known].pc = pc;
            if (hs_id_map__set(&writing->frame_of, pc, known))
                return -ENOMEM;
        }
        writing->frame[known].uses += uses[node];
    }
    return 0;
}

static int compare_frames(const void *left, const void *right)
{
    const struct replay_frame *a = left, *b = right;
    if (a->uses != b->uses)
        return a->uses > b->uses ? -1 : 1;
    return (a->pc > b->pc) - (a->pc < b->pc);
}

static int rank_frames(struct replay_writing *writing)
{
    uint64_t *uses = calloc(writing->node_count + 1, sizeof(*uses));
    writing->frame = calloc(writing->node_count + 1, sizeof(*writing->frame));
    int result = uses && writing->frame ? count_uses(writing, uses) : -ENOMEM;
    free(uses);
    if (result)
        return result;
    qsort(writing->frame, writing->frames, sizeof(*writing->frame), compare_frames);
    for (size_t i = 0; !result && i < writing->frames; i++)
        result = hs_id_map__set(&writing->frame_of, writing->frame[i].pc, (uint32_t)i);
    return result;
}

// ---- records -------------------------------------------------------------------------------------------------------

static void put(const struct replay_writing *writing, uint64_t number)
{
    uint64_t stored = htole64(number);
    fwrite_unlocked(&stored, sizeof(stored), 1, writing->out);
}

static void put_record(const struct replay_writing *writing, uint64_t kind, uint64_t first, uint64_t time,
                       uint64_t size)
{
    put(writing, kind);
    put(writing, first);
    put(writing, time);
    put(writing, size);
}

static int set_path(struct replay_writing *writing, struct replay_path *path, uint32_t stack)
{
    size_t count = 0;
    for (uint32_t node = stack; node; node = hs_trace_symbols__parent(writing->subject->symbols, node))
        count++;
    if (count > path->room) {
        uint32_t *bigger = reallocarray(path->node, 2 * count, sizeof(*bigger));
        if (!bigger)
            return -ENOMEM;
        path->node = bigger;
        path->room = 2 * count;
    }
    path->count = count;
    for (uint32_t node = stack; node; node = hs_trace_symbols__parent(writing->subject->symbols, node))
        path->node[--count] = node;
    return 0;
}

// Writes the returns and calls that lead from the current stack to another one.
static int move_to(struct replay_writing *writing, uint32_t stack)
{
    size_t common = 0;
    if (!stack || stack >= writing->node_count)
        return 0;
    int result = set_path(writing, &writing->next, stack);
    if (result)
        return result;
    while (common < writing->now.count && common < writing->next.count &&
           writing->now.node[common] == writing->next.node[common])
        common++;
    for (size_t i = common; i < writing->now.count; i++)
        put_record(writing, RECORD_RETURN, 0, 0, 0);
    for (size_t i = common; i < writing->next.count; i++) {
        uint32_t frame = hs_id_map__find(&writing->frame_of, writing->nodes[writing->next.node[i]].pc);
        put_record(writing, RECORD_CALL, frame, 0, 0);
    }
    struct replay_path before = writing->now;
    writing->now = writing->next;
    writing->next = before;
    return 0;
}

// ---- slots ---------------------------------------------------------------------------------------------------------

static uint32_t take_slot(struct replay_writing *writing)
{
    return writing->spares ? writing->spare[--writing->spares] : writing->slots++;
}

static int give_slot(struct replay_writing *writing, uint32_t slot)
{
    if (!HS_ARRAY_HAS_ROOM(writing->spare, writing->spares, writing->spare_room))
        return -ENOMEM;
    writing->spare[writing->spares++] = slot;
    return 0;
}

static int start_move(struct replay_writing *writing, uint32_t row, uint32_t slot)
{
    if (!HS_ARRAY_HAS_ROOM(writing->moving, writing->movings, writing->moving_room))
        return -ENOMEM;
    writing->moving[writing->movings++] = (struct moving){row, slot};
    return 0;
}

static bool end_move(struct replay_writing *writing, uint64_t row, uint32_t *slot)
{
    for (size_t i = writing->movings; i-- > 0;) {
        if (writing->moving[i].row != row)
            continue;
        *slot = writing->moving[i].slot;
        writing->moving[i] = writing->moving[--writing->movings];
        return true;
    }
    return false;
}

// The row that continues a block, when it is among those that are written; 0: none.
static uint32_t next_of(const struct replay_writing *writing, const struct hs_store *store, uint64_t row)
{
    const struct hs_filter *filter = writing->subject->filter;
    uint32_t next = hs_row__next(writing->columns, row);
    return next && (!filter || hs_filter__matches(filter, store, next)) ? next : 0;
}

static int end_block(struct replay_writing *writing, const struct hs_store *store, const struct hs_row_event *event)
{
    uint32_t next = next_of(writing, store, event->row);
    if (next)
        return start_move(writing, next, event->tag);
    if (writing->out) {
        int result = move_to(writing, hs_row__free_stack(writing->columns, event->row));
        if (result)
            return result;
        put_record(writing, RECORD_FREE, event->tag, event->time / 1000, 0);
    }
    return give_slot(writing, event->tag);
}

static int start_block(struct replay_writing *writing, struct hs_row_event *event)
{
    bool moved = end_move(writing, event->row, &event->tag);
    if (!moved)
        event->tag = take_slot(writing);
    if (!writing->out)
        return 0;
    int result = move_to(writing, hs_row__stack(writing->columns, event->row));
    put_record(writing, moved ? RECORD_REALLOCATE : RECORD_ALLOCATE, event->tag, event->time / 1000,
               hs_row__size(writing->columns, event->row));
    return result;
}

static int visit(void *context, const struct hs_store *store, struct hs_row_event *event)
{
    struct replay_writing *writing = context;
    return event->is_free ? end_block(writing, store, event) : start_block(writing, event);
}

static int run(struct replay_writing *writing, FILE *out, const struct hs_query_control *control)
{
    writing->out = out;
    writing->spares = 0;
    writing->slots = 0;
    writing->movings = 0;
    return hs_query__events(writing->subject->store, writing->subject->filter, control, visit, writing, NULL);
}

int hs_export__replay(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options)
{
    struct replay_writing writing = {.subject = subject, .columns = hs_store__columns(subject->store)};
    writing.nodes = hs_store__nodes(subject->store, &writing.node_count);
    int result = rank_frames(&writing);
    if (!result)
        result = run(&writing, NULL, options->control);
    writing.out = out;
    put(&writing, writing.slots);
    if (!result)
        result = run(&writing, out, options->control);
    for (size_t i = 0; i < writing.now.count; i++)
        put_record(&writing, RECORD_RETURN, 0, 0, 0);
    put(&writing, 0);
    hs_id_map__free(&writing.frame_of);
    free(writing.moving);
    free(writing.frame);
    free(writing.now.node);
    free(writing.next.node);
    free(writing.spare);
    return result;
}
