// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The records of the threads of the program, and what is asked of the sampler as a whole.
#ifndef HEAPSONDE_RUNTIME_PROF_SAMPLER_THREADS_H
#define HEAPSONDE_RUNTIME_PROF_SAMPLER_THREADS_H

#include "runtime/prof/options.h"
#include "runtime/prof/sampler_thread.h"

#pragma GCC visibility push(hidden)
// Call once, when the options are known.
void hs_sampler__start(void);

// Whether profiling can be used: opt.prof, or switched on later from outside.
bool hs_sampler__is_on(void);

// The record of the calling thread; it is created if it does not exist. NULL: out of memory, less than 8 KiB of stack
// left, or a child of vfork. Such a thread is not sampled.
struct hs_sampler_thread *hs_sampler__self(void);

// Makes the calling thread, one of ours with empty thread-local variables, a thread without a record of its own, such
// as hs_sampler_nobody.
void hs_sampler__be(struct hs_sampler_thread *record);

// Of a library that was put into a running process: where hs_sampler_self will be, from the thread pointer on; 0: where
// it is.
extern intptr_t hs_sampler_self_will_be_at;

// The record of threads that have none.
extern struct hs_sampler_thread hs_sampler_nobody;

// Nothing is sampled any more, and no thread gets a record. No record has the number of a thread afterwards.
void hs_sampler__end(void);

// Adds to what threads have allocated that have ended. Requires the table's lock.
void hs_sampler__count_gone(uint64_t bytes);

// The record with index 1 to hs_sampler__thread_count(). `tid` 0: unused.
struct hs_sampler_thread *hs_sampler__thread_at(uint32_t index);
uint32_t hs_sampler__thread_count(void);

// Finds threads that have ended. Requires the table's lock.
void hs_sampler__collect_gone(void);

// The allocator stores the size of a block, with flags in the lowest three bits, in the word before it, like glibc.
// False: this cannot be used.
bool hs_sampler__sizes_are_in_headers(void);

// Call after an addition to the filter and before the block can be freed: makes threads use a new filter.
void hs_sampler__spread_filter(void);

// Whether this is another process in the memory of this one: a child of vfork.
bool hs_sampler__is_vforked(void);

// Sums over all threads.
uint64_t hs_sampler__total_allocated(void);
uint64_t hs_sampler__total_deallocated(void);

// Allocates what the thread needs to walk its stack. False: out of memory.
bool hs_sampler__remember_stacks(struct hs_sampler_thread *thread);

// In a forked child: all other threads have ended.
void hs_sampler__keep_only_self(void);
#pragma GCC visibility pop

#endif
