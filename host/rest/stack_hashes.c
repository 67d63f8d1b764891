// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/stack_hashes.h"

#include "host/base/array.h"
#include "host/base/path.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// A frame makes the hash of its callers times PRIME, plus its own: what the frames of a place do together is a product
// and a sum. Places are few.
#define PRIME 0x9e3779b97f4a7c15u

struct step {
    uint64_t factor, sum; // factor 0: not worked out yet
};

struct hs_stack_hashes {
    struct hs_trace_symbols *symbols;
    uint64_t *of; // by node; 0: not worked out yet, or, once in a long while, that is what it is
    size_t count;
    struct step *step; // by place
    size_t room;
    uint32_t *path; // nodes that are to be worked out, the innermost first
    size_t path_room;
};

static uint64_t mix(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return (hash ^ 0xff) * 0x100000001b3u;
}

// A frame without a name is identified by its offset in the module.
static uint64_t hash_of_frame(const struct hs_frame *frame)
{
    uint64_t hash = 0xcbf29ce484222325u;
    if (frame->kind != HS_FRAME_ADDRESS || !*frame->module)
        hash = mix(hash, frame->function);
    hash = mix(hash, hs_path__name(frame->module));
    return (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
}

static int make_room(struct hs_stack_hashes *hashes, uint32_t place)
{
    if (place < hashes->room)
        return 0;
    const size_t room = 2 * (size_t)place + 1024;
    struct step *grown = reallocarray(hashes->step, room, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    memset(grown + hashes->room, 0, (room - hashes->room) * sizeof(*grown));
    hashes->step = grown;
    hashes->room = room;
    return 0;
}

static struct step step_of(const struct hs_frames *frames)
{
    struct step step = {1, 0};
    for (uint32_t i = frames->count; i-- > 0;)
        step = (struct step){step.factor * PRIME, step.sum * PRIME + hash_of_frame(&frames->frame[i])};
    return step;
}

// The hash of its parent is known.
static int hash_node(struct hs_stack_hashes *hashes, uint32_t node)
{
    const uint32_t place = hs_trace_symbols__place(hashes->symbols, node);
    int failed = make_room(hashes, place);
    if (failed)
        return failed;
    struct step *step = &hashes->step[place];
    if (!step->factor)
        *step = step_of(hs_trace_symbols__node(hashes->symbols, node));
    hashes->of[node] = hashes->of[hs_trace_symbols__parent(hashes->symbols, node)] * step->factor + step->sum;
    return 0;
}

static int add_to_path(struct hs_stack_hashes *hashes, size_t depth, uint32_t node)
{
    if (!HS_ARRAY_HAS_ROOM(hashes->path, depth, hashes->path_room))
        return -ENOMEM;
    hashes->path[depth] = node;
    return 0;
}

int hs_stack_hashes__find(struct hs_stack_hashes *hashes, uint32_t stack, uint64_t *hash)
{
    const uint32_t found = stack < hashes->count ? stack : 0;
    size_t depth = 0;
    int failed = 0;
    for (uint32_t node = found; !hashes->of[node] && !failed; node = hs_trace_symbols__parent(hashes->symbols, node))
        failed = add_to_path(hashes, depth++, node);
    while (depth && !failed)
        failed = hash_node(hashes, hashes->path[--depth]);
    *hash = hashes->of[found];
    return failed;
}

struct hs_stack_hashes *hs_stack_hashes__create(struct hs_trace_symbols *symbols)
{
    struct hs_stack_hashes *hashes = calloc(1, sizeof(*hashes));
    if (!hashes)
        return NULL;
    hashes->symbols = symbols;
    hashes->count = symbols->node_count + !symbols->node_count;
    hashes->of = calloc(hashes->count, sizeof(*hashes->of));
    if (!hashes->of) {
        hs_stack_hashes__destroy(hashes);
        return NULL;
    }
    hashes->of[0] = PRIME;
    return hashes;
}

void hs_stack_hashes__destroy(struct hs_stack_hashes *hashes)
{
    if (!hashes)
        return;
    free(hashes->of);
    free(hashes->step);
    free(hashes->path);
    free(hashes);
}
