// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The symbols of one opened trace: frames of its stack nodes, resolved when asked and kept. Any number of threads may
// ask for frames at once; a lock is taken only for nodes that were not asked for before. Frames stay as long as this.
#ifndef HEAPSONDE_HOST_SYMBOLS_TRACE_SYMBOLS_H
#define HEAPSONDE_HOST_SYMBOLS_TRACE_SYMBOLS_H

#include "host/store/store.h"
#include "host/symbols/symbols.h"

#include <pthread.h>
#include <stdio.h>

struct hs_trace_symbols;

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

// The frames of one node of the stack table; of a cut mark: one frame that names the reason. Never NULL.
const struct hs_frames *hs_trace_symbols__node(struct hs_trace_symbols *self, uint32_t node);

// The node's frames are these, which the caller knows already: what hs_symbols__named or hs_symbols__resolve of the
// session returned.
void hs_trace_symbols__set(struct hs_trace_symbols *self, uint32_t node, const struct hs_frames *frames);

// The symbols behind it; its modules have the numbers that they have in the store. Where other threads ask for frames,
// whoever uses it holds the lock.
struct hs_symbols *hs_trace_symbols__session(struct hs_trace_symbols *self);
pthread_mutex_t *hs_trace_symbols__lock(struct hs_trace_symbols *self);

// The module that a node's address lies in, -1: in none.
int hs_trace_symbols__module(struct hs_trace_symbols *self, uint32_t node);

// The parent of a node, 0 behind the root, whatever a damaged table says.
uint32_t hs_trace_symbols__parent(const struct hs_trace_symbols *self, uint32_t node);

// Whether the node is no frame but says why the outer frames are missing.
bool hs_trace_symbols__is_cut(const struct hs_trace_symbols *self, uint32_t node);

// Whether a node marks its children's caller as guessed. Its frames are one that says so.
bool hs_trace_symbols__is_guess(const struct hs_trace_symbols *self, uint32_t node);

// "no unwind information", ...: the reasons of enum hs_end of unwind/walk.h as the user reads them.
const char *hs_cut_reason(uint64_t reason);

// A line for each module whose addresses could not be named, at most `most`, then how many more there are.
void hs_trace_symbols__print_problems(struct hs_trace_symbols *self, FILE *out, size_t most);

#endif
