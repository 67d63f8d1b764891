// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/missing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// The outermost frames of a thread start it (_start, __libc_start_main and what that calls; clone, start_thread). A
// libc without its symbol table leaves them unnamed, which keeps nobody from reading a stack.
#define STARTING_FRAMES 3

#define NO_USE UINT32_MAX

enum { MARK_PASSED = 1, MARK_ENDS = 2 };

struct collecting {
    const struct hs_subject *subject;
    struct hs_module_uses *uses;
    const struct hs_node *nodes;
    size_t node_count;
    uint32_t *use_of_module; // NO_USE: none yet
    uint32_t *use_of_node;   // NO_USE: no stack passes through it, or it lies in no module
    uint8_t *marks;          // by node: MARK_*
    uint64_t *bytes;         // by node: allocated by the stack that ends there
    uint64_t *passed;        // by node: bit i: it or a caller lies in use `first + i`
    struct place_of_code *places;
};

// Few addresses stand for many nodes: what was found out of them is kept, each at the place of its hash.
enum { PLACES = 16384 };
struct place_of_code {
    uint64_t pc, time; // time + 1; 0: nothing is kept here
    int module;
    bool counts; // there is no debug information
    bool unnamed, shown;
};

static int start(struct collecting *with, const struct hs_subject *subject, struct hs_module_uses *uses)
{
    size_t modules = 0;
    hs_store__modules(subject->store, &modules);
    *uses = (struct hs_module_uses){0};
    *with = (struct collecting){.subject = subject, .uses = uses};
    with->nodes = hs_store__nodes(subject->store, &with->node_count);
    with->use_of_module = malloc((modules + 1) * sizeof(*with->use_of_module));
    with->use_of_node = malloc((with->node_count + 1) * sizeof(*with->use_of_node));
    with->passed = malloc((with->node_count + 1) * sizeof(*with->passed));
    with->bytes = calloc(with->node_count + 1, sizeof(*with->bytes));
    with->marks = calloc(with->node_count + 1, sizeof(*with->marks));
    with->places = calloc(PLACES, sizeof(*with->places));
    uses->use = calloc(modules + 1, sizeof(*uses->use));
    if (!with->places || !with->use_of_module || !with->use_of_node || !with->passed || !with->bytes || !with->marks ||
        !uses->use)
        return -ENOMEM;
    memset(with->use_of_module, 0xff, (modules + 1) * sizeof(*with->use_of_module));
    memset(with->use_of_node, 0xff, (with->node_count + 1) * sizeof(*with->use_of_node));
    return 0;
}

static uint32_t use_of(struct collecting *with, int module)
{
    uint32_t *use = &with->use_of_module[module];
    if (*use == NO_USE) {
        *use = (uint32_t)with->uses->count++;
        with->uses->use[*use].module = (uint32_t)module;
        hs_symbols__status(hs_trace_symbols__session(with->subject->symbols), (size_t)module,
                           &with->uses->use[*use].status);
    }
    return *use;
}

static void look_at(struct collecting *with, uint32_t node, struct place_of_code *place)
{
    struct hs_trace_symbols *symbols = with->subject->symbols;
    place->module = hs_trace_symbols__module(symbols, node);
    place->counts = false;
    if (place->module < 0)
        return;
    // Where debug information was found, names are not worth counting.
    place->counts = hs_symbols_reason(&with->uses->use[use_of(with, place->module)].status);
    if (!place->counts)
        return;
    const struct hs_frames *frames = hs_trace_symbols__node(symbols, node);
    const struct hs_frame *outermost = &frames->frame[frames->count - 1];
    place->unnamed = outermost->kind != HS_FRAME_NAMED;
    // Frames of an allocator are not shown.
    place->shown = outermost->role != HS_ROLE_ALLOCATOR;
}

static const struct place_of_code *place_of(struct collecting *with, uint32_t node)
{
    const uint64_t pc = with->nodes[node].pc, time = hs_store__node_time(with->subject->store, node) + 1;
    struct place_of_code *place = &with->places[(pc * 0x9e3779b97f4a7c15u) >> 50];
    if (place->pc == pc && place->time == time && !hs_trace_symbols__is_cut(with->subject->symbols, node))
        return place;
    place->pc = pc;
    place->time = hs_trace_symbols__is_cut(with->subject->symbols, node) ? 0 : time;
    look_at(with, node, place);
    return place;
}

static bool is_behind_the_start(const struct collecting *with, uint32_t node)
{
    size_t frames = 0;
    for (; node && frames <= STARTING_FRAMES; node = hs_trace_symbols__parent(with->subject->symbols, node)) {
        if (hs_trace_symbols__is_cut(with->subject->symbols, node))
            break;
        frames += !hs_trace_symbols__is_guess(with->subject->symbols, node);
    }
    return frames > STARTING_FRAMES;
}

static void count_node(struct collecting *with, uint32_t node)
{
    const struct place_of_code *place = place_of(with, node);
    if (place->module < 0)
        return;
    struct hs_module_use *use = &with->uses->use[use_of(with, place->module)];
    with->use_of_node[node] = with->use_of_module[place->module];
    use->frames++;
    if (!place->counts || !place->unnamed)
        return;
    use->unnamed++;
    if (!use->matters && place->shown)
        use->matters = use->status.state != HS_SYMBOLS_FOUND || is_behind_the_start(with, node);
}

// A damaged table may say anything; a parent stands before its children.
static uint32_t parent_of(const struct collecting *with, uint32_t node)
{
    uint32_t parent = with->nodes[node].parent;
    return parent < node ? parent : 0;
}

static void mark_stacks(struct collecting *with)
{
    const struct hs_totals *totals = &with->subject->totals;
    for (size_t i = 0; i < totals->count; i++) {
        uint32_t stack = totals->total[i].stack;
        if (stack >= with->node_count)
            continue;
        with->marks[stack] = MARK_PASSED | MARK_ENDS;
        with->bytes[stack] = hs_subject__bytes(with->subject, &totals->total[i]);
    }
}

static void count_nodes(struct collecting *with)
{
    for (uint32_t node = with->node_count ? (uint32_t)with->node_count - 1 : 0; node; node--) {
        if (!with->marks[node])
            continue;
        with->marks[parent_of(with, node)] |= MARK_PASSED;
        count_node(with, node);
    }
}

// The stacks through the 64 uses from `first`.
static void add_stacks(struct collecting *with, uint32_t first)
{
    with->passed[0] = 0;
    for (uint32_t node = 1; node < with->node_count; node++) {
        uint32_t place = with->use_of_node[node] - first;
        bool here = with->use_of_node[node] != NO_USE && place < 64;
        uint64_t passed = with->passed[parent_of(with, node)] | (here ? (uint64_t)1 << place : 0);
        with->passed[node] = passed;
        if (!(with->marks[node] & MARK_ENDS))
            continue;
        for (; passed; passed &= passed - 1) {
            struct hs_module_use *use = &with->uses->use[first + (uint32_t)__builtin_ctzll(passed)];
            use->stacks++;
            use->bytes += with->bytes[node];
        }
    }
}

static int compare(const void *left, const void *right)
{
    const struct hs_module_use *a = left;
    const struct hs_module_use *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if (a->unnamed != b->unnamed)
        return a->unnamed > b->unnamed ? -1 : 1;
    return a->module < b->module ? -1 : a->module > b->module;
}

int hs_module_uses__collect(struct hs_module_uses *uses, const struct hs_subject *subject)
{
    struct collecting with;
    int result = start(&with, subject, uses);
    if (!result) {
        mark_stacks(&with);
        count_nodes(&with);
        for (uint32_t first = 0; first < uses->count; first += 64)
            add_stacks(&with, first);
        qsort(uses->use, uses->count, sizeof(*uses->use), compare);
    }
    free(with.use_of_module);
    free(with.use_of_node);
    free(with.passed);
    free(with.bytes);
    free(with.marks);
    free(with.places);
    if (result)
        hs_module_uses__free(uses);
    return result;
}

void hs_module_uses__free(struct hs_module_uses *uses)
{
    free(uses->use);
    *uses = (struct hs_module_uses){0};
}
