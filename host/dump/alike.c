// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/dump/alike.h"

#include "host/base/paths.h"

#include <errno.h>
#include <stdlib.h>

struct alike {
    struct hs_paths paths;         // of frames, from the outermost; `place`: the first node that ends there
    const struct hs_frame **frame; // by path
    size_t room;
};

struct alike_key {
    const struct alike *alike;
    const struct hs_frame *frame;
};

static bool is_wanted(const void *key, uint32_t number)
{
    const struct alike_key *wanted = key;
    const struct hs_frame *frame = wanted->alike->frame[number];
    return hs_frame__identity(frame) == hs_frame__identity(wanted->frame) && frame->line == wanted->frame->line;
}

// 0: out of memory.
static uint32_t child_of(struct alike *alike, uint32_t parent, const struct hs_frame *frame)
{
    const uint32_t made = (uint32_t)alike->paths.count;
    if (!HS_ARRAY_HAS_ROOM(alike->frame, made, alike->room))
        return 0;
    const struct alike_key wanted = {alike, frame};
    const uint64_t hash = hs_hash__pair((uintptr_t)hs_frame__identity(frame), frame->line);
    const uint32_t child = hs_paths__child(&alike->paths, parent, hash, is_wanted, &wanted);
    if (child == made)
        alike->frame[made] = frame;
    return child;
}

// Callers have smaller numbers than what they call. `path`: by node.
static int add_nodes(struct alike *alike, struct hs_dump_view *view, uint32_t *path)
{
    struct hs_trace_symbols *symbols = view->subject.symbols;
    for (uint32_t node = 1; node < view->node_count; node++) {
        const struct hs_frames *frames = hs_trace_symbols__node(symbols, node);
        uint32_t at = path[hs_trace_symbols__parent(symbols, node)];
        for (uint32_t i = frames->count; i-- > 0;) {
            at = child_of(alike, at, &frames->frame[i]);
            if (!at)
                return -ENOMEM;
        }
        path[node] = at;
        if (!alike->paths.at[at].place)
            alike->paths.at[at].place = node;
        view->like[node] = alike->paths.at[at].place;
    }
    return 0;
}

static bool has_keys(const struct hs_dump_view *view)
{
    bool has = view->by_function;
    for (unsigned which = 0; which < view->dump_count; which++)
        has = has || view->rebuilt[which];
    return has;
}

int hs_dump_view__find_alike(struct hs_dump_view *view)
{
    struct alike alike = {.room = 0};
    if (!has_keys(view) || view->like)
        return 0;
    uint32_t *path = calloc(view->node_count + 1, sizeof(*path));
    view->like = calloc(view->node_count + 1, sizeof(*view->like));
    int result = path && view->like ? hs_paths__start(&alike.paths) : -ENOMEM;
    if (!result && !HS_ARRAY_HAS_ROOM(alike.frame, 0, alike.room))
        result = -ENOMEM;
    if (!result)
        result = add_nodes(&alike, view, path);
    hs_paths__free(&alike.paths);
    free(alike.frame);
    free(path);
    return result;
}
