// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The additional work of every interposed allocation function: a few instructions (runtime/prof/sampler.h).
#ifndef HEAPSONDE_SHIMS_PROF_HOOKS_H
#define HEAPSONDE_SHIMS_PROF_HOOKS_H

#include "arch/likely.h"
#include "runtime/prof/events.h"
#include "runtime/prof/sampler.h"
#include "runtime/prof/samples.h"
#include "shims/common/real.h"
#include "unwind/capture.h"

#pragma GCC visibility push(hidden)
// Finds out by trying whether sizes can be read from the word before a block; before libc's constructors have run, or
// with another allocator, it is asked.
void hs_prof__try_headers(void);

// Whether the word before a block of the program's allocator says what the allocator does.
bool hs_prof__agrees(const void *block);

// The rest of an allocation or a free that the fast path cannot do: to be called as the last thing of an interposed
// function, so that the compiler jumps there and the caller is the program's.
void *hs_prof__count_slowly(void *block, size_t requested) __attribute__((noinline));
void hs_prof__free_slowly(void *block) __attribute__((noinline));

// The same from elsewhere. `caller`: the frame that called the interposed function.
void hs_prof__count(const struct hs_registers *caller, void *block, size_t requested);

// A block that the filter knows. True when it is of the bootstrap arena: there is nothing to free. `caller` may be
// NULL.
bool hs_prof__release(const struct hs_registers *caller, void *block);

// A free with more arguments than the block; called at the end of an interposed function. The real function checks
// these arguments. When it is called, the block is no sample any more. `real` may be NULL: then free() is called.
void hs_prof__release_with(void *block, size_t second, size_t third, void *real) __attribute__((noinline));

// The real malloc, where sizes may be read from the word before a block; else one that returns NULL.
extern void *(*hs_prof_quick_malloc)(size_t size);

// realloc(block, 0) calls, for stats.zero_reallocs.
extern size_t hs_prof_zero_reallocs;

// Prints a message as jemalloc does (malloc_message, else standard error), and ends the program.
void hs_prof__abort(const char *message) __attribute__((noreturn));
#pragma GCC visibility pop

// Bytes the program may use of a block of glibc's.
static inline size_t hs_prof_usable_in_header(const void *block)
{
    size_t header = ((const size_t *)block)[-1];
    size_t usable = (header & ~(size_t)7) - sizeof(size_t);
    // The block has pages of its own, with one more word before it.
    return HS_UNLIKELY(header & 2) ? usable - sizeof(size_t) : usable;
}

// In musl an empty block has no usable bytes. It counts as one byte, so that it can be a sample.
static inline size_t hs_prof_counted_size(size_t usable)
{
    return HS_LIKELY(usable) ? usable : 1;
}

// Whether the block has pages of its own.
static inline bool hs_prof_is_mapped(const void *block)
{
    return ((const size_t *)block)[-1] & 2;
}

// Returns a block that was just allocated, counted, and sampled when that is due. Its size may be read.
#define HS_PROF_RETURN_QUICKLY(block, requested)                                                                       \
    do {                                                                                                               \
        struct hs_sampler_thread *thread_ = hs_sampler_self;                                                           \
        if (HS_LIKELY(!hs_prof_is_mapped(block))) {                                                                    \
            uint64_t allocated_ = thread_->allocated + hs_prof_usable_in_header(block);                                \
            if (HS_LIKELY(allocated_ < thread_->next)) {                                                               \
                thread_->allocated = allocated_;                                                                       \
                return block;                                                                                          \
            }                                                                                                          \
        }                                                                                                              \
        return hs_prof__count_slowly(block, requested);                                                                \
    } while (0)

#define HS_PROF_RETURN(block, requested)                                                                               \
    do {                                                                                                               \
        if (HS_LIKELY(hs_sampler_self->quick))                                                                         \
            HS_PROF_RETURN_QUICKLY(block, requested);                                                                  \
        return hs_prof__count_slowly(block, requested);                                                                \
    } while (0)

// Between these, what the real allocator asks of itself by the interposed names is not counted.
struct hs_nesting {
    struct hs_sampler_thread *thread; // NULL: nothing to restore
    uint64_t allocated, deallocated, next;
};

static inline struct hs_nesting hs_prof__enter_real(void)
{
    struct hs_sampler_thread *thread = hs_sampler__self();
    if (!thread || thread->inside)
        return (struct hs_nesting){0};
    struct hs_nesting before = {thread, thread->allocated, thread->deallocated, thread->next};
    thread->inside = 1;
    thread->next = 0;
    return before;
}

static inline void hs_prof__leave_real(struct hs_nesting before)
{
    if (!before.thread)
        return;
    before.thread->allocated = before.allocated;
    before.thread->deallocated = before.deallocated;
    before.thread->inside = 0;
    before.thread->next = before.next;
    // A thread that changes the rate increments the epoch and then stores 0, which the line above may have overwritten.
    atomic_thread_fence(memory_order_seq_cst);
    if (HS_UNLIKELY(atomic_load_explicit(&hs_sampler.rate_epoch, memory_order_relaxed) != before.thread->epoch))
        before.thread->next = 0;
}

#endif
