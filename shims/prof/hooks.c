// SPDX-License-Identifier: MIT OR Apache-2.0
#include "shims/prof/hooks.h"

static size_t usable_size(const struct hs_sampler_thread *thread, void *block, size_t requested)
{
    size_t usable = thread->quick ? hs_prof_usable_in_header(block) : hs_real.malloc_usable_size(block);
    return hs_prof_counted_size(usable ? usable : requested);
}

void hs_prof__count(const struct hs_registers *caller, void *block, size_t requested)
{
    struct hs_sampler_thread *thread = hs_sampler_self;
    size_t usable = usable_size(thread, block, requested);
    if (HS_LIKELY(thread->allocated + usable < thread->next))
        thread->allocated += usable;
    else
        hs_sampler__allocated_slowly(thread, caller, block, requested, usable);
}

void *hs_prof__count_slowly(void *block, size_t requested)
{
    struct hs_sampler_thread *thread = hs_sampler_self;
    if (hs_bootstrap__owns(block)) {
        hs_filter__hold_always((uintptr_t)block);
        hs_sampler__spread_filter();
        return block;
    }
    size_t usable = usable_size(thread, block, requested);
    if (thread->allocated + usable < thread->next) {
        thread->allocated += usable;
        return block;
    }
    struct hs_registers caller;
    HS_CAPTURE_CALLER(&caller);
    hs_sampler__allocated_slowly(thread, &caller, block, requested, usable);
    return block;
}

static void *refuse(size_t size)
{
    (void)size;
    return NULL;
}

void *(*hs_prof_quick_malloc)(size_t size) = refuse;

bool hs_prof__release(const struct hs_registers *caller, void *block)
{
    if (hs_bootstrap__owns(block))
        return true;
    hs_sampler__released_slowly(hs_sampler_self, hs_records__are_wanted() ? caller : NULL, (uintptr_t)block);
    return false;
}

void hs_prof__free_slowly(void *block)
{
    if (!block)
        return;
    if (hs_filter__may_hold((uintptr_t)block)) {
        struct hs_registers caller = {0};
        if (HS_UNLIKELY(hs_records__are_wanted()) && hs_sampler__self())
            HS_CAPTURE_CALLER(&caller);
        if (hs_prof__release(caller.pc ? &caller : NULL, block))
            return;
    }
    struct hs_sampler_thread *thread = hs_sampler_self;
    if (thread->ready)
        thread->deallocated += hs_prof_counted_size(hs_real.malloc_usable_size(block));
    hs_real.free(block);
}
