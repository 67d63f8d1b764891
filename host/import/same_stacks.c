// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/same_stacks.h"

#include "host/base/search.h"
#include "host/store/layout.h"

#include <errno.h>
#include <stdlib.h>

enum { STEPS_MOST = 256, AHEAD = 16 };

// A piece of code that was unloaded. `reach`: the largest end so far, in the order of `start`.
struct same_stacks_code {
    uint64_t start, end, reach, time;
};

struct same_stacks_work {
    struct hs_node *nodes; // up to the present one, only those that stay
    uint32_t *epoch_of;
    const uint64_t *epochs;
    struct same_stacks_code *code;
    size_t code_count;
    struct hs_growing places; // uint32_t: nodes by hash; 0: free
    uint32_t mask;
};

static int compare_code(const void *left, const void *right)
{
    const struct same_stacks_code *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

static int list_code(struct same_stacks_work *with, const struct hs_array *modules)
{
    const struct hs_stored_module *module = modules->data;
    with->code = calloc(modules->count + 1, sizeof *with->code);
    if (!with->code)
        return -ENOMEM;
    for (size_t i = 0; i < modules->count; i++)
        if (module[i].unload_time != HS_NEVER)
            with->code[with->code_count++] =
                (struct same_stacks_code){module[i].start, module[i].end, 0, module[i].unload_time};
    qsort(with->code, with->code_count, sizeof *with->code, compare_code);
    for (size_t i = 0; i < with->code_count; i++) {
        uint64_t before = i ? with->code[i - 1].reach : 0;
        with->code[i].reach = with->code[i].end > before ? with->code[i].end : before;
    }
    return 0;
}

// How much of the code that starts at `pc` or before.
static size_t code_below(const struct same_stacks_work *with, uint64_t pc)
{
    return HS_SEARCH(with->code_count, i, with->code[i].start <= pc);
}

// How often code at the node's address had been unloaded when the node was recorded. Where that would take long, a
// number that other nodes have only if no module changed between them.
static uint64_t life_of(const struct same_stacks_work *with, uint32_t node)
{
    const uint64_t pc = with->nodes[node].pc, time = with->epochs[with->epoch_of[node]];
    uint64_t lives = 0;
    unsigned steps = 0;
    for (size_t i = code_below(with, pc); i-- > 0 && with->code[i].reach >= pc; steps++) {
        if (steps == STEPS_MOST)
            return UINT32_MAX + (uint64_t)with->epoch_of[node];
        lives += with->code[i].end >= pc && with->code[i].time <= time;
    }
    return lives;
}

// From all addresses of the stack, so that it is known before the parents are.
static inline uint32_t add_to_hash(uint32_t parents, uint64_t pc)
{
    uint64_t hash = (pc ^ parents * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
    return (uint32_t)(hash >> 32 ^ hash >> 16);
}

static bool are_same(const struct same_stacks_work *with, uint32_t left, uint32_t right)
{
    return with->nodes[left].pc == with->nodes[right].pc && with->nodes[left].parent == with->nodes[right].parent &&
           (!with->code_count || with->epoch_of[left] == with->epoch_of[right] ||
            life_of(with, left) == life_of(with, right));
}

// The node that stays and is the same; that may be the node itself. So it is where a trace was made for hashes to
// collide.
static uint32_t find_same(struct same_stacks_work *with, uint32_t node, uint32_t hash)
{
    uint32_t *places = with->places.data, place = hash & with->mask;
    unsigned steps = 0;
    while (places[place] && steps < STEPS_MOST && !are_same(with, places[place], node)) {
        place = (place + 1) & with->mask;
        steps++;
    }
    if (steps == STEPS_MOST)
        return node;
    if (!places[place])
        places[place] = node;
    return places[place];
}

static int begin(struct same_stacks_work *with, struct hs_same_stacks *same, uint32_t count,
                 const struct hs_array *modules)
{
    size_t places = 1024;
    while (places < 2 * (size_t)count)
        places *= 2;
    with->mask = (uint32_t)(places - 1);
    same->count = count;
    int failed = hs_growing__reserve(&with->places, places * sizeof(uint32_t));
    if (!failed)
        failed = hs_growing__reserve(&same->numbers, ((size_t)count + AHEAD) * sizeof(uint32_t));
    return failed ? failed : list_code(with, modules);
}

// `numbers` holds the hashes of the nodes that are still to come.
static void merge(struct same_stacks_work *with, struct hs_same_stacks *same)
{
    struct hs_node *nodes = with->nodes;
    const uint32_t *places = with->places.data;
    uint32_t *numbers = same->numbers.data, next = 1;
    for (uint32_t node = 1; node < same->count; node++)
        numbers[node] = add_to_hash(nodes[node].parent < node ? numbers[nodes[node].parent] : 0, nodes[node].pc);
    for (uint32_t node = 1; node < same->count; node++) {
        __builtin_prefetch(&places[numbers[node + AHEAD] & with->mask], 1);
        const uint32_t hash = numbers[node];
        const bool whole = nodes[node].parent < node;
        nodes[next] =
            (struct hs_node){.pc = nodes[node].pc, .parent = whole ? numbers[nodes[node].parent] : nodes[node].parent};
        with->epoch_of[next] = with->epoch_of[node];
        // Nodes that the trace lost have no address.
        numbers[node] = whole && nodes[next].pc ? find_same(with, next, hash) : next;
        next += numbers[node] == next;
    }
    same->merged = same->count ? same->count - next : 0;
}

int hs_same_stacks__find(struct hs_same_stacks *same, struct hs_node *nodes, uint32_t count, uint32_t *epoch_of,
                         const uint64_t *epochs, const struct hs_array *modules)
{
    struct same_stacks_work with = {.nodes = nodes, .epoch_of = epoch_of, .epochs = epochs};
    int failed = begin(&with, same, count, modules);
    if (!failed)
        merge(&with, same);
    if (!same->merged)
        hs_growing__free(&same->numbers);
    free(with.code);
    hs_growing__free(&with.places);
    return failed;
}

void hs_same_stacks__free(struct hs_same_stacks *same)
{
    hs_growing__free(&same->numbers);
}
