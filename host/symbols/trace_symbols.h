// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The symbols of one opened trace: frames of its stack nodes, resolved when asked and kept. Any number of threads may
// ask for frames at once; a lock is taken only for nodes that were not asked for before. Frames stay as long as this.
#ifndef HEAPSONDE_HOST_SYMBOLS_TRACE_SYMBOLS_H
#define HEAPSONDE_HOST_SYMBOLS_TRACE_SYMBOLS_H

#include "host/store/store.h"
#include "host/symbols/places.h"

#include <pthread.h>
#include <stdio.h>

struct hs_trace_symbols {
    const struct hs_store *store;
    const struct hs_node *nodes;
    size_t node_count;
    // Private.
    uint32_t *place; // by node, 0: not asked yet; read and set in one piece
    struct hs_places places;
    struct hs_symbols *symbols;
    const struct hs_module *modules;
    size_t module_count;
    pthread_mutex_t lock;          // of the session behind it, and of who adds places
    struct hs_module_copy *copies; // by module
};

// What `options` says about the machine is taken from the store. `store` must outlive the session. NULL: out of memory.
struct hs_trace_symbols *hs_trace_symbols__create(const struct hs_store *store,
                                                  const struct hs_symbols_options *options);
// The same, and the modules are described by somebody who knows more of them: what `modules[i]` says of the store's
// module i is taken.
struct hs_trace_symbols *hs_trace_symbols__create_with(const struct hs_store *store,
                                                       const struct hs_symbols_options *options,
                                                       const struct hs_symbols_module *modules);
void hs_trace_symbols__destroy(struct hs_trace_symbols *self);

const struct hs_store *hs_trace_symbols__store(const struct hs_trace_symbols *self);

// What one node of the stack table stands for, as a number that many nodes share. Never 0.
static inline uint32_t hs_trace_symbols__place(struct hs_trace_symbols *self, uint32_t node);

// The frames of one node of the stack table; of a cut mark: one frame that names the reason. Never NULL.
static inline const struct hs_frames *hs_trace_symbols__node(struct hs_trace_symbols *self, uint32_t node);

// The same by the number of a place.
static inline const struct hs_frames *hs_trace_symbols__of_place(struct hs_trace_symbols *self, uint32_t number);

// The same of a node where they are known already, else NULL.
static inline const struct hs_frames *hs_trace_symbols__known(struct hs_trace_symbols *self, uint32_t node);

// The node's frames are these, which the caller knows already: what hs_symbols__named or hs_symbols__resolve of the
// session returned. 0 or -ENOMEM.
int hs_trace_symbols__set(struct hs_trace_symbols *self, uint32_t node, const struct hs_frames *frames);

// The symbols behind it; its modules have the numbers that they have in the store. Where other threads ask for frames,
// whoever uses it holds the lock.
struct hs_symbols *hs_trace_symbols__session(struct hs_trace_symbols *self);
pthread_mutex_t *hs_trace_symbols__lock(struct hs_trace_symbols *self);

// The module that a node's address lies in, -1: in none.
static inline int hs_trace_symbols__module(struct hs_trace_symbols *self, uint32_t node);

// The parent of a node, 0 behind the root, whatever a damaged table says.
static inline uint32_t hs_trace_symbols__parent(const struct hs_trace_symbols *self, uint32_t node);

// Whether the node is no frame but says why the outer frames are missing.
static inline bool hs_trace_symbols__is_cut(const struct hs_trace_symbols *self, uint32_t node);

// Whether a node marks its children's caller as guessed. Its frames are one that says so.
static inline bool hs_trace_symbols__is_guess(const struct hs_trace_symbols *self, uint32_t node);

// "no unwind information", ...: the reasons of enum hs_end of unwind/walk.h as the user reads them.
const char *hs_cut_reason(uint64_t reason);

// A line for each module whose addresses could not be named, at most `most`, then how many more there are.
void hs_trace_symbols__print_problems(struct hs_trace_symbols *self, FILE *out, size_t most);

// ---- inline ---------------------------------------------------------------------------------------------------------

// Of what was not asked for before.
uint32_t hs_trace_symbols__find_place(struct hs_trace_symbols *self, uint32_t node);
const struct hs_frames *hs_trace_symbols__find_frames(struct hs_trace_symbols *self, struct hs_place *place);

static inline uint32_t hs_trace_symbols__place(struct hs_trace_symbols *self, uint32_t node)
{
    const uint32_t number = node < self->node_count ? __atomic_load_n(&self->place[node], __ATOMIC_ACQUIRE) : 0;
    return number ? number : hs_trace_symbols__find_place(self, node);
}

static inline const struct hs_frames *hs_trace_symbols__of_place(struct hs_trace_symbols *self, uint32_t number)
{
    struct hs_place *place = hs_places__at(&self->places, number);
    const struct hs_frames *frames = __atomic_load_n(&place->frames, __ATOMIC_ACQUIRE);
    return frames ? frames : hs_trace_symbols__find_frames(self, place);
}

static inline const struct hs_frames *hs_trace_symbols__node(struct hs_trace_symbols *self, uint32_t node)
{
    return hs_trace_symbols__of_place(self, hs_trace_symbols__place(self, node));
}

static inline const struct hs_frames *hs_trace_symbols__known(struct hs_trace_symbols *self, uint32_t node)
{
    const struct hs_place *place = hs_places__at(&self->places, hs_trace_symbols__place(self, node));
    return __atomic_load_n(&place->frames, __ATOMIC_ACQUIRE);
}

static inline int hs_trace_symbols__module(struct hs_trace_symbols *self, uint32_t node)
{
    return hs_places__at(&self->places, hs_trace_symbols__place(self, node))->module;
}

static inline uint32_t hs_trace_symbols__parent(const struct hs_trace_symbols *self, uint32_t node)
{
    const uint32_t parent = node < self->node_count ? self->nodes[node].parent : 0;
    return parent < node ? parent : 0;
}

static inline bool hs_trace_symbols__is_cut(const struct hs_trace_symbols *self, uint32_t node)
{
    return node && node < self->node_count && hs_node__is_cut(&self->nodes[node]);
}

static inline bool hs_trace_symbols__is_guess(const struct hs_trace_symbols *self, uint32_t node)
{
    return node && node < self->node_count && hs_node__is_guess(&self->nodes[node]);
}

#endif
