// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the functions of an allocator do around the real ones.
#ifndef HEAPSONDE_SHIMS_TRACE_HOOKS_H
#define HEAPSONDE_SHIMS_TRACE_HOOKS_H

#include "arch/likely.h"
#include "runtime/enter.h"
#include "runtime/record.h"
#include "shims/common/real.h"

static inline void hs_trace__note(struct hs_thread *thread, const struct hs_registers *caller, uint32_t kind,
                                  void *block, size_t size, size_t usable)
{
    thread->last_recorded = (uintptr_t)block;
    hs_record__allocation(thread, caller, kind, (uintptr_t)block, size, usable ? usable : size);
}

static inline void hs_trace__allocated(struct hs_thread *thread, const struct hs_registers *caller, uint32_t kind,
                                       void *block, size_t size)
{
    if (HS_LIKELY(block))
        hs_trace__note(thread, caller, kind, block, size, hs_real.malloc_usable_size(block));
    hs_record__leave(thread);
}

// The body of a function that returns the block that `call` gives.
#define HS_TRACE_ALLOCATION(kind, size, call)                                                                          \
    do {                                                                                                               \
        struct hs_thread *thread = hs_record__enter(HS_MODE_ALLOC);                                                    \
        if (HS_UNLIKELY(!thread))                                                                                      \
            return call;                                                                                               \
        struct hs_registers caller;                                                                                    \
        HS_CAPTURE_CALLER(&caller);                                                                                    \
        void *block = call;                                                                                            \
        hs_trace__allocated(thread, &caller, kind, block, size);                                                       \
        return block;                                                                                                  \
    } while (0)

// What a real realloc did, and the end of recording it: a failed one changed nothing; one that returned NULL for size 0
// freed the block. `usable`: the block's usable size, 0: not known.
void hs_trace__reallocated(struct hs_thread *thread, const struct hs_registers *caller, uintptr_t old, uint64_t began,
                           void *block, size_t size, size_t usable);

static inline size_t hs_trace__usable(void *block)
{
    return block ? hs_real.malloc_usable_size(block) : 0;
}

// Records a free and carries it out by `real`, which has up to three arguments; NULL: by free().
void hs_trace__release(void *block, size_t second, size_t third, void *real) HS_COLD __attribute__((noinline));

#endif
