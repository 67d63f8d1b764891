// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Who wants to know of each sampled block: the log (prof.log_start), the list of recent allocations, the statistics by
// size class, hooks of the program. What is called under hs_table_lock must not allocate from the program's allocator;
// hooks of the program are called outside of it.
#ifndef HEAPSONDE_RUNTIME_PROF_EVENTS_H
#define HEAPSONDE_RUNTIME_PROF_EVENTS_H

#include "runtime/prof/sampler.h"
#include "runtime/prof/samples.h"

#include <stddef.h>
#include <stdint.h>

// What the program has set with experimental.hooks.prof_*; NULL: nothing. (prof_dump is hs_dump_hook.)
struct hs_hooks {
    void (*volatile backtrace)(void **frames, unsigned *count, unsigned limit);
    void (*volatile sample)(const void *block, size_t size, void **frames, unsigned count, size_t usable);
    void (*volatile sample_free)(const void *block, size_t usable);
};

extern struct hs_hooks hs_hooks;

// Requested bytes and blocks of a size class.
struct hs_class_count {
    uint64_t requested, blocks;
};

enum { HS_CLASS_COUNT_LIMIT = 232 };

#pragma GCC visibility push(hidden)
// Whether anybody wants them: else the sampler does not call.
extern _Atomic bool hs_events_wanted;
// Whether somebody wants the stack of a free (the log, recent allocations).
extern _Atomic bool hs_events_want_free_stacks;

// Once, when the options are known: prof_log, prof_stats, prof_recent_alloc_max. And at the end of the process: writes
// the log.
void hs_events__start(void);
void hs_events__end(void);

// After the limit of recent allocations or the state of the log has changed.
void hs_events__look(void);

// `sample` was entered; may set sample->note.
void hs_events__allocated(struct hs_sample *sample, const struct hs_sampler_thread *thread, uint32_t stack);

// `sample` is about to be given up. `stack`: of the free, 0 when unknown.
void hs_events__released(const struct hs_sample *sample, const struct hs_sampler_thread *thread, uint32_t stack);

// stats_interval: the process's allocations went from `before` to `now` bytes. Outside of the lock.
void hs_events__consider_statistics(uint64_t before, uint64_t now);

// Prints the statistics; provided by the shim, NULL: nobody does.
extern void (*hs_events_print_statistics)(void);

// prof.reset: samples and pairs are about to be forgotten.
void hs_events__forget(void);

// Calls the program's hook for a sampled block, if there is one. Outside of the lock, with thread->inside set.
void hs_events__emit_sample(const void *block, size_t requested, size_t usable, uint32_t stack);
void hs_events__emit_free(const void *block, size_t usable);

// A stack as the program's backtrace hook sees it. 0: it gave none. For the sampler.
uint32_t hs_events__stack_by_hook(struct hs_sampler_thread *thread);

// The stack in the thread's memo without all but the innermost `count` frames; 0: it could not be kept.
uint32_t hs_events__innermost(struct hs_sampler_thread *thread, uint32_t count);

// prof.stats.*: what lives and what was ever sampled, by the class that the request has in jemalloc.
struct hs_class_count hs_class_counts__live(uint32_t size_class);
struct hs_class_count hs_class_counts__total(uint32_t size_class);

// The log. `path` NULL: an automatic name. False: it is running already.
bool hs_allocation_log__start(const char *path);

// Writes it. False: it is not running, or could not be written; then it is lost, and can be started anew.
bool hs_allocation_log__stop(void);
#pragma GCC visibility pop

#endif
