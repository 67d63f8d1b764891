// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The operators of an allocator that brings its own. Where they call malloc and free by the interposed names, these
// have counted already.
#include "shims/common/operators.h"

#include "shims/prof/hooks.h"

static __thread uint64_t counted_before __attribute__((tls_model("initial-exec")));

// tcmalloc's malloc_usable_size() itself calls operator new, until it has got what it makes there.
static __thread bool asks __attribute__((tls_model("initial-exec")));

static size_t usable_size(void *block)
{
    asks = true;
    size_t usable = hs_prof_counted_size(hs_operator__usable_size(block));
    asks = false;
    return usable;
}

void hs_operator__enter_new(void)
{
    counted_before = hs_sampler_self->allocated;
}

void hs_operator__leave_new(const struct hs_registers *caller, void *block, size_t size)
{
    struct hs_sampler_thread *thread = hs_sampler_self;
    if (!block || asks || thread->allocated != counted_before)
        return;
    size_t usable = usable_size(block);
    thread = hs_sampler_self;
    if (thread->allocated + usable < thread->next)
        thread->allocated += usable;
    else
        hs_sampler__allocated_slowly(thread, caller, block, size, usable);
}

bool hs_operator__enter_delete(const struct hs_registers *caller, void *block)
{
    if (hs_filter__may_hold((uintptr_t)block))
        hs_sampler__released_slowly(hs_sampler_self, caller, (uintptr_t)block);
    struct hs_sampler_thread *thread = hs_sampler_self;
    if (thread->ready)
        counted_before = thread->deallocated += usable_size(block);
    return thread->ready;
}

void hs_operator__leave_delete(void)
{
    hs_sampler_self->deallocated = counted_before;
}
