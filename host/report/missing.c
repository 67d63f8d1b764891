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
    uses->use = calloc(modules + 1, sizeof(*uses->use));
    if (!with->use_of_module || !with->use_of_node || !with->passed || !with->bytes || !with->marks || !uses->use)
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

static void count_node(struct collecting *with, uint32_t node)
{
    struct hs_trace_symbols *symbols = with->subject->symbols;
    int module = hs_trace_symbols__module(symbols, node);
    if (module < 0)
        return;
    struct hs_module_use *use = &with->uses->use[use_of(with, module)];
    with->use_of_node[node] = with->use_of_module[module];
    use->frames++;
    // Where debug information was found, names are not worth counting.
    if (!hs_symbols_reason(&use->status))
        return;
    const struct hs_frames *frames = hs_trace_symbols__node(symbols, node);
    const struct hs_frame *outermost = &frames->frame[frames->count - 1];
    bool unnamed = outermost->kind != HS_FRAME_NAMED;
    use->unnamed += unnamed;
    // Frames of an allocator are not shown.
    use->matters |= unnamed && outermost->role != HS_ROLE_ALLOCATOR &&
                    (use->status.state != HS_SYMBOLS_FOUND ||
                     hs_store__frames(with->subject->store, node, NULL, 0, NULL) > STARTING_FRAMES);
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
    if (result)
        hs_module_uses__free(uses);
    return result;
}

void hs_module_uses__free(struct hs_module_uses *uses)
{
    free(uses->use);
    *uses = (struct hs_module_uses){0};
}
