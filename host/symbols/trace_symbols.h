// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The symbols of one opened trace. The frames of stack nodes are resolved on request and kept. Any number of threads
// may request frames at once; a lock is taken only for nodes that were not requested before. Frames are valid as long
// as this object.
#ifndef HEAPSONDE_HOST_SYMBOLS_TRACE_SYMBOLS_H
#define HEAPSONDE_HOST_SYMBOLS_TRACE_SYMBOLS_H

#include "host/store/store.h"
#include "host/symbols/jit_code.h"
#include "host/symbols/places.h"

#include <pthread.h>
#include <stdio.h>

struct hs_trace_symbols {
    const struct hs_store *store;
    const struct hs_node *nodes;
    size_t node_count;
    // Private.
    bool follows;    // the nodes are not the store's
    size_t room;     // of `place`, when they are not
    uint32_t *place; // by node; 0: not requested yet; accessed atomically
    struct hs_places places;
    struct hs_symbols *symbols;
    struct hs_symbols_options options;
    struct hs_jit_code jit; // under the lock
    const struct hs_module *modules;
    size_t module_count;
    pthread_mutex_t lock;          // for the session, and for adding places
    struct hs_module_copy *copies; // by module
};

// The machine in `options` is taken from the store. `store` must outlive the session. NULL: out of memory.
struct hs_trace_symbols *hs_trace_symbols__create(const struct hs_store *store,
                                                  const struct hs_symbols_options *options);
// The same with better descriptions of the modules: `modules[i]` describes the store's module i.
struct hs_trace_symbols *hs_trace_symbols__create_with(const struct hs_store *store,
                                                       const struct hs_symbols_options *options,
                                                       const struct hs_symbols_module *modules);
// Other stacks of the same trace, made of its frames: `nodes` in place of its stack table, with the frames of each.
// None of them stands for an address. All that is given must outlive the result. NULL: out of memory.
struct hs_trace_symbols *hs_trace_symbols__create_made(const struct hs_store *store, const struct hs_node *nodes,
                                                       const struct hs_frames *frames, size_t count);
// From now on the stack table is this one, of a later time of the same trace than the store's, in which nodes may have
// other numbers. A table that follows begins as the one before it. No other thread uses `self` meanwhile. 0 or -ENOMEM.
int hs_trace_symbols__follow(struct hs_trace_symbols *self, const struct hs_node *nodes, size_t count);
void hs_trace_symbols__destroy(struct hs_trace_symbols *self);

// Gives the files that are open to the symbols of a later state of the same trace, unless somebody asks these just now.
// Nobody else uses `from`, which can then only be destroyed.
void hs_trace_symbols__hand_over(struct hs_trace_symbols *from, struct hs_trace_symbols *to);

// The place of a node of the stack table; many nodes share one. Never 0.
static inline uint32_t hs_trace_symbols__place(struct hs_trace_symbols *self, uint32_t node);

// The frames of a node of the stack table. For a cut mark, one frame that gives the reason. Never NULL.
static inline const struct hs_frames *hs_trace_symbols__node(struct hs_trace_symbols *self, uint32_t node);

// The same for a place.
static inline const struct hs_frames *hs_trace_symbols__of_place(struct hs_trace_symbols *self, uint32_t number);

// The same for a node if they are known already, else NULL.
static inline const struct hs_frames *hs_trace_symbols__known(struct hs_trace_symbols *self, uint32_t node);

// Sets the frames of a node: the result of hs_symbols__named or hs_symbols__resolve of this session. 0 or -ENOMEM.
int hs_trace_symbols__set(struct hs_trace_symbols *self, uint32_t node, const struct hs_frames *frames);

// The underlying session. Its modules have the same numbers as in the store. If other threads request frames, its user
// has to hold the lock.
struct hs_symbols *hs_trace_symbols__session(struct hs_trace_symbols *self);
pthread_mutex_t *hs_trace_symbols__lock(struct hs_trace_symbols *self);

// The module that contains a node's address; -1: none.
static inline int hs_trace_symbols__module(struct hs_trace_symbols *self, uint32_t node);

// The parent of a node; 0 after the root, also in a damaged table.
static inline uint32_t hs_trace_symbols__parent(const struct hs_trace_symbols *self, uint32_t node);

// Whether the node is not a frame but the reason why the outer frames are missing.
static inline bool hs_trace_symbols__is_cut(const struct hs_trace_symbols *self, uint32_t node);

// Whether a node marks the caller of its children as guessed. It then has one frame with this text.
static inline bool hs_trace_symbols__is_guess(const struct hs_trace_symbols *self, uint32_t node);

// Texts for the reasons of enum hs_end of unwind/walk.h: "no unwind information", ...
const char *hs_cut_reason(uint64_t reason);

// The bytes of debug information and names in memory, about; 0: another thread is looking up symbols.
uint64_t hs_trace_symbols__bytes(struct hs_trace_symbols *self);

// What could not be read of the names of run-time code, in one line without an end. False: nothing.
bool hs_trace_symbols__run_time_problem(struct hs_trace_symbols *self, char *line, size_t size);

// Prints a line for each module with unnamed addresses, at most `most` of them, and how many more there are.
void hs_trace_symbols__print_problems(struct hs_trace_symbols *self, FILE *out, size_t most);

// ---- inline ---------------------------------------------------------------------------------------------------------

// For nodes that were not requested before.
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
