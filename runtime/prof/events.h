// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Consumers of single samples: the log (prof.log_start), the list of recent allocations, the statistics by size class,
// and hooks of the program. Functions that are called under hs_table_lock must not use the program's allocator. Hooks
// of the program are called without the lock.
#ifndef HEAPSONDE_RUNTIME_PROF_EVENTS_H
#define HEAPSONDE_RUNTIME_PROF_EVENTS_H

#include "runtime/prof/records.h"
#include "runtime/prof/sampler_thread.h"
#include "runtime/prof/samples.h"

#include <stddef.h>
#include <stdint.h>

// Hooks that the program has set with experimental.hooks.prof_*; NULL: none. (prof_dump is hs_dump_hook.)
struct hs_hooks {
    void (*volatile backtrace)(void **frames, unsigned *count, unsigned limit);
    void (*volatile sample)(const void *block, size_t size, void **frames, unsigned count, size_t usable);
    void (*volatile sample_free)(const void *block, size_t usable);
};

extern struct hs_hooks hs_hooks;

// Requested bytes and number of blocks of a size class.
struct hs_class_count {
    uint64_t requested, blocks;
};

enum { HS_CLASS_COUNT_LIMIT = 232 };

#pragma GCC visibility push(hidden)
// Call once, when the options are known (prof_log, prof_stats, prof_recent_alloc_max), and at the end of the process,
// where the log is written.
void hs_events__start(void);
void hs_events__end(void);

// `sample` was added; may set sample->note. Call this and the next one only if hs_events_wanted is set.
void hs_events__allocated(struct hs_sample *sample, const struct hs_sampler_thread *thread, uint32_t stack);

// `sample` is about to be removed. `stack`: of the free; 0: unknown.
void hs_events__released(const struct hs_sample *sample, const struct hs_sampler_thread *thread, uint32_t stack);

// stats_interval: the allocated bytes of the process increased from `before` to `now`. Call without the lock.
void hs_events__consider_statistics(uint64_t before, uint64_t now);

// Prints the statistics. Set by the shim; NULL: not available.
extern void (*hs_events_print_statistics)(void);

// prof.reset: all samples and pairs are about to be removed.
void hs_events__forget(void);

// Calls the program's hook for a sampled block, if there is one. Without the lock, with thread->inside set.
void hs_events__emit_sample(const void *block, size_t requested, size_t usable, uint32_t stack);
void hs_events__emit_free(const void *block, size_t usable);

// The stack as changed by the program's backtrace hook; 0: the hook returned none. For the sampler.
uint32_t hs_events__stack_by_hook(struct hs_sampler_thread *thread);

// The stack in the thread's memo, limited to the innermost `count` frames; 0: it could not be stored.
uint32_t hs_events__innermost(struct hs_sampler_thread *thread, uint32_t count);

// prof.stats.*: live samples and all samples, by the size class that jemalloc uses for the request.
struct hs_class_count hs_class_counts__live(uint32_t size_class);
struct hs_class_count hs_class_counts__total(uint32_t size_class);

// Starts the log. `path` NULL: an automatic name. False: it is running already.
bool hs_allocation_log__start(const char *path);

// Writes the log. False: it is not running, or could not be written. Then it is lost and can be started again.
bool hs_allocation_log__stop(void);
#pragma GCC visibility pop

#endif
