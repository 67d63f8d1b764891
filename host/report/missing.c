// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/missing.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// The outermost frames of a thread start it (_start, __libc_start_main and what that calls; clone, start_thread). A
// libc without its symbol table leaves them unnamed, but the stack is still readable.
#define STARTING_FRAMES 3

#define NO_USE UINT32_MAX

// What the stacks through a node have in all, and the tree from the root on; 0: no further one.
struct missing_branch {
    uint64_t bytes;
    uint32_t stacks, first_child, next_sibling;
};

struct missing_collecting {
    const struct hs_subject *subject;
    struct hs_module_uses *uses;
    const struct hs_node *nodes;
    size_t node_count;
    uint32_t *use_of_module;         // NO_USE: none yet
    uint32_t *use_of_node;           // NOT_PASSED, IN_NO_MODULE, or FIRST_USE and the number of the use
    struct missing_branch *branches; // by node
    uint32_t *entered;               // by use: frames in it on the way to the current node
    struct hs_place_use *places;     // by number
    size_t place_room;
};

enum { NOT_PASSED, IN_NO_MODULE, FIRST_USE };

static int start(struct missing_collecting *with, const struct hs_subject *subject, struct hs_module_uses *uses)
{
    size_t modules = 0;
    hs_store__modules(subject->store, &modules);
    *uses = (struct hs_module_uses){0};
    *with = (struct missing_collecting){.subject = subject, .uses = uses};
    with->nodes = hs_store__nodes(subject->store, &with->node_count);
    with->use_of_module = malloc((modules + 1) * sizeof(*with->use_of_module));
    uses->use = calloc(modules + 1, sizeof(*uses->use));
    if (!with->use_of_module || !uses->use)
        return -ENOMEM;
    memset(with->use_of_module, 0xff, (modules + 1) * sizeof(*with->use_of_module));
    return 0;
}

static int start_nodes(struct missing_collecting *with)
{
    with->use_of_node = calloc(with->node_count + 1, sizeof(*with->use_of_node));
    with->branches = calloc(with->node_count + 1, sizeof(*with->branches));
    return with->use_of_node && with->branches ? 0 : -ENOMEM;
}

static uint32_t use_of(struct missing_collecting *with, int module)
{
    uint32_t *use = &with->use_of_module[module];
    if (*use == NO_USE) {
        *use = (uint32_t)with->uses->count++;
        with->uses->use[*use].module = (uint32_t)module;
        pthread_mutex_lock(hs_trace_symbols__lock(with->subject->symbols));
        hs_symbols__status(hs_trace_symbols__session(with->subject->symbols), (size_t)module,
                           &with->uses->use[*use].status);
        pthread_mutex_unlock(hs_trace_symbols__lock(with->subject->symbols));
    }
    return *use;
}

static struct hs_place_use *place_of(struct missing_collecting *with, uint32_t number)
{
    if (number >= with->place_room) {
        const size_t room = 2 * (size_t)number + 1024;
        struct hs_place_use *grown = reallocarray(with->places, room, sizeof(*grown));
        if (!grown)
            return NULL;
        memset(grown + with->place_room, 0, (room - with->place_room) * sizeof(*grown));
        with->places = grown;
        with->place_room = room;
    }
    return &with->places[number];
}

static bool is_behind_the_start(const struct missing_collecting *with, uint32_t node)
{
    size_t frames = 0;
    for (; node && frames <= STARTING_FRAMES; node = hs_trace_symbols__parent(with->subject->symbols, node)) {
        if (hs_trace_symbols__is_cut(with->subject->symbols, node))
            break;
        frames += !hs_trace_symbols__is_guess(with->subject->symbols, node);
    }
    return frames > STARTING_FRAMES;
}

static int count_node(struct missing_collecting *with, uint32_t node)
{
    struct hs_place_use *place = place_of(with, hs_trace_symbols__place(with->subject->symbols, node));
    if (!place)
        return -ENOMEM;
    if (!place->nodes++) {
        const int module = hs_trace_symbols__module(with->subject->symbols, node);
        place->node = node;
        place->use = module < 0 ? NO_USE : use_of(with, module);
    }
    if (place->use == NO_USE)
        return 0;
    with->use_of_node[node] = FIRST_USE + place->use;
    place->behind_the_start = place->behind_the_start || is_behind_the_start(with, node);
    return 0;
}

// If debug information was found, the number of names is not needed.
static void add_place(const struct missing_collecting *with, const struct hs_place_use *place)
{
    if (place->use == NO_USE)
        return;
    struct hs_module_use *use = &with->uses->use[place->use];
    use->frames += place->nodes;
    if (!hs_symbols_reason(&use->status))
        return;
    const struct hs_frames *frames = hs_trace_symbols__node(with->subject->symbols, place->node);
    const struct hs_frame *outermost = &frames->frame[frames->count - 1];
    if (outermost->kind == HS_FRAME_NAMED)
        return;
    use->unnamed += place->nodes;
    // Frames of an allocator are not shown.
    if (outermost->role != HS_ROLE_ALLOCATOR)
        use->matters = use->matters || use->status.state != HS_SYMBOLS_FOUND || place->behind_the_start;
}

// Threads number places as they come to them; nodes have the same numbers always.
static int compare_places(const void *left, const void *right)
{
    const struct hs_place_use *a = left, *b = right;
    return a->node < b->node ? -1 : a->node > b->node;
}

// Keeps the places that were passed.
static void add_places(struct missing_collecting *with)
{
    size_t count = 0;
    for (size_t i = 0; i < with->place_room; i++) {
        if (!with->places[i].nodes)
            continue;
        add_place(with, &with->places[i]);
        with->places[count++] = with->places[i];
    }
    if (count)
        qsort(with->places, count, sizeof(*with->places), compare_places);
    with->uses->places = with->places;
    with->uses->place_count = count;
    with->places = NULL;
}

// A damaged table may say anything; a parent stands before its children.
static uint32_t parent_of(const struct missing_collecting *with, uint32_t node)
{
    uint32_t parent = with->nodes[node].parent;
    return parent < node ? parent : 0;
}

static void mark_stacks(struct missing_collecting *with)
{
    const struct hs_totals *totals = &with->subject->totals;
    for (size_t i = 0; i < totals->count; i++) {
        uint32_t stack = totals->total[i].stack;
        if (stack < with->node_count)
            with->use_of_node[stack] = IN_NO_MODULE;
    }
}

static int count_nodes(struct missing_collecting *with)
{
    int result = 0;
    for (uint32_t node = with->node_count ? (uint32_t)with->node_count - 1 : 0; node && !result; node--) {
        if (with->use_of_node[node] == NOT_PASSED)
            continue;
        with->use_of_node[parent_of(with, node)] = IN_NO_MODULE;
        result = count_node(with, node);
    }
    return result;
}

static void grow_branches(struct missing_collecting *with)
{
    const struct hs_totals *totals = &with->subject->totals;
    for (size_t i = 0; i < totals->count; i++) {
        const struct hs_total *total = &totals->total[i];
        if (total->stack >= with->node_count)
            continue;
        with->branches[total->stack].stacks++;
        with->branches[total->stack].bytes += hs_subject__bytes(with->subject, total);
    }
    for (uint32_t node = with->node_count ? (uint32_t)with->node_count - 1 : 0; node; node--) {
        struct missing_branch *branch = &with->branches[node], *parent = &with->branches[parent_of(with, node)];
        if (with->use_of_node[node] == NOT_PASSED)
            continue;
        parent->stacks += branch->stacks;
        parent->bytes += branch->bytes;
        branch->next_sibling = parent->first_child;
        parent->first_child = node;
    }
}

// The stacks through a use are those through its frames that no caller in it has counted.
static void enter(struct missing_collecting *with, uint32_t node)
{
    const uint32_t number = with->use_of_node[node] - FIRST_USE;
    if (with->use_of_node[node] < FIRST_USE || with->entered[number]++)
        return;
    with->uses->use[number].stacks += with->branches[node].stacks;
    with->uses->use[number].bytes += with->branches[node].bytes;
}

static void leave(struct missing_collecting *with, uint32_t node)
{
    if (with->use_of_node[node] >= FIRST_USE)
        with->entered[with->use_of_node[node] - FIRST_USE]--;
}

static int add_stacks(struct missing_collecting *with)
{
    with->entered = calloc(with->uses->count + 1, sizeof(*with->entered));
    if (!with->entered)
        return -ENOMEM;
    grow_branches(with);
    for (uint32_t node = with->branches[0].first_child, next; node; node = next) {
        enter(with, node);
        next = with->branches[node].first_child;
        for (; !next && node; node = parent_of(with, node)) {
            leave(with, node);
            next = with->branches[node].next_sibling;
        }
    }
    return 0;
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

void hs_module_uses__sort(struct hs_module_uses *uses)
{
    qsort(uses->use, uses->count, sizeof(*uses->use), compare);
}

static int collect(struct missing_collecting *with)
{
    int result = start_nodes(with);
    if (result)
        return result;
    mark_stacks(with);
    result = count_nodes(with);
    if (result)
        return result;
    add_places(with);
    result = add_stacks(with);
    if (result)
        return result;
    hs_module_uses__sort(with->uses);
    return 0;
}

static int end(struct missing_collecting *with, int result)
{
    free(with->use_of_module);
    free(with->use_of_node);
    free(with->branches);
    free(with->entered);
    free(with->places);
    if (result)
        hs_module_uses__free(with->uses);
    return result;
}

int hs_module_uses__collect(struct hs_module_uses *uses, const struct hs_subject *subject)
{
    struct missing_collecting with;
    int result = start(&with, subject, uses);
    return end(&with, result ? result : collect(&with));
}

int hs_module_uses__of_places(struct hs_module_uses *uses, const struct hs_subject *subject,
                              const struct hs_place_use *places, size_t count)
{
    struct missing_collecting with;
    int result = start(&with, subject, uses);
    with.places = result ? NULL : calloc(count + 1, sizeof(*with.places));
    if (!with.places)
        return end(&with, -ENOMEM);
    with.place_room = count;
    for (size_t i = 0; i < count; i++) {
        const int module = hs_trace_symbols__module(subject->symbols, places[i].node);
        with.places[i] = places[i];
        with.places[i].use = module < 0 ? NO_USE : use_of(&with, module);
    }
    add_places(&with);
    return end(&with, 0);
}

void hs_module_uses__free(struct hs_module_uses *uses)
{
    free(uses->use);
    free(uses->places);
    *uses = (struct hs_module_uses){0};
}
