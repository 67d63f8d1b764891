// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The allocation family of C. Each function calls the real one and changes nothing about it; a free first looks whether
// the block is a sample.
#include "arch/likely.h"
#include "runtime/memory.h"
#include "runtime/prof/sampler.h"
#include "runtime/prof/samples.h"
#include "shims/prof/hooks.h"

#include <errno.h>

// ---- allocation -----------------------------------------------------------------------------------------------------

#define ALLOCATE(size, call)                                                                                           \
    do {                                                                                                               \
        void *block = call;                                                                                            \
        if (HS_UNLIKELY(!block))                                                                                       \
            return block;                                                                                              \
        HS_PROF_RETURN(block, size);                                                                                   \
    } while (0)

// For real functions that may call each other through the names that are interposed.
#define ALLOCATE_NESTED(size, call)                                                                                    \
    do {                                                                                                               \
        struct hs_nesting nesting = hs_prof__enter_real();                                                             \
        void *block = call;                                                                                            \
        hs_prof__leave_real(nesting);                                                                                  \
        if (HS_UNLIKELY(!block))                                                                                       \
            return block;                                                                                              \
        HS_PROF_RETURN(block, size);                                                                                   \
    } while (0)

HS_EXPORT void *malloc(size_t size);
// A malloc that fails is tried twice: the fast path cannot tell that from one that it must not look at.
static __attribute__((noinline)) void *malloc_slowly(size_t size)
{
    void *block = hs_real.malloc(size);
    return block ? hs_prof__count_slowly(block, size) : NULL;
}

HS_EXPORT void *malloc(size_t size)
{
    void *block = hs_prof_quick_malloc(size);
    if (HS_UNLIKELY(!block))
        return malloc_slowly(size);
    HS_PROF_RETURN_QUICKLY(block, size);
}

HS_EXPORT void *calloc(size_t count, size_t size);
HS_EXPORT void *calloc(size_t count, size_t size)
{
    if (HS_UNLIKELY(!hs_sampler_self->quick)) // of an unknown allocator
        ALLOCATE_NESTED(count * size, hs_real.calloc(count, size));
    ALLOCATE(count * size, hs_real.calloc(count, size));
}

HS_EXPORT HS_COLD void *memalign(size_t alignment, size_t size);
HS_EXPORT void *memalign(size_t alignment, size_t size)
{
    if (HS_UNLIKELY(!hs_real.memalign))
        hs_real__resolve();
    if (HS_UNLIKELY(!hs_real.memalign))
        return hs_bootstrap__allocate(alignment, size);
    ALLOCATE_NESTED(size, hs_real.memalign(alignment, size));
}

HS_EXPORT HS_COLD void *aligned_alloc(size_t alignment, size_t size);
HS_EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    if (HS_UNLIKELY(!hs_real.aligned_alloc))
        hs_real__resolve();
    if (HS_UNLIKELY(!hs_real.aligned_alloc))
        return memalign(alignment, size);
    ALLOCATE_NESTED(size, hs_real.aligned_alloc(alignment, size));
}

HS_EXPORT HS_COLD void *valloc(size_t size);
HS_EXPORT void *valloc(size_t size)
{
    if (HS_UNLIKELY(!hs_real.valloc))
        hs_real__resolve();
    if (HS_UNLIKELY(!hs_real.valloc))
        return memalign(hs_memory__page_size(), size);
    ALLOCATE_NESTED(size, hs_real.valloc(size));
}

HS_EXPORT HS_COLD void *pvalloc(size_t size);
HS_EXPORT void *pvalloc(size_t size)
{
    if (HS_UNLIKELY(!hs_real.pvalloc))
        hs_real__resolve();
    size_t page = hs_memory__page_size();
    if (HS_UNLIKELY(!hs_real.pvalloc))
        return memalign(page, (size + page - 1) & ~(page - 1));
    ALLOCATE_NESTED(size, hs_real.pvalloc(size));
}

HS_EXPORT HS_COLD int posix_memalign(void **result, size_t alignment, size_t size);
HS_EXPORT int posix_memalign(void **result, size_t alignment, size_t size)
{
    if (HS_UNLIKELY(!hs_real.posix_memalign))
        hs_real__resolve();
    if (HS_UNLIKELY(!hs_real.posix_memalign))
        return ENOMEM;
    struct hs_nesting nesting = hs_prof__enter_real();
    int failed = hs_real.posix_memalign(result, alignment, size);
    hs_prof__leave_real(nesting);
    if (failed || !*result)
        return failed;
    struct hs_registers caller;
    HS_CAPTURE_CALLER(&caller);
    hs_prof__count(&caller, *result, size);
    return 0;
}

// ---- free -----------------------------------------------------------------------------------------------------------

HS_EXPORT void free(void *block);
HS_EXPORT void free(void *block)
{
    struct hs_sampler_thread *thread = hs_sampler_self;
    const struct hs_filter *filter = atomic_load_explicit(&thread->filter, memory_order_relaxed);
    if (HS_UNLIKELY(hs_filter__stops(filter, (uintptr_t)block)) || HS_UNLIKELY(hs_prof_is_mapped(block))) {
        hs_prof__free_slowly(block);
        return;
    }
    thread->deallocated += hs_prof_usable_in_header(block);
    hs_real.free(block);
}

HS_EXPORT HS_COLD void cfree(void *block);
HS_EXPORT void cfree(void *block)
{
    free(block);
}

// What the size is good for is checked by the real function; it is given a block that is no sample any more.
static HS_COLD bool release(void *block)
{
    struct hs_registers caller;
    HS_CAPTURE_CALLER(&caller);
    if (!block || (hs_filter__may_hold((uintptr_t)block) && hs_prof__release(&caller, block)))
        return false;
    if (hs_sampler_self->ready)
        hs_sampler_self->deallocated += hs_prof_counted_size(hs_real.malloc_usable_size(block));
    return true;
}

HS_EXPORT HS_COLD void free_sized(void *block, size_t size);
HS_EXPORT void free_sized(void *block, size_t size)
{
    if (!hs_real.free_sized)
        free(block);
    else if (release(block))
        hs_real.free_sized(block, size);
}

HS_EXPORT HS_COLD void free_aligned_sized(void *block, size_t alignment, size_t size);
HS_EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size)
{
    if (!hs_real.free_aligned_sized)
        free(block);
    else if (release(block))
        hs_real.free_aligned_sized(block, alignment, size);
}

// ---- realloc --------------------------------------------------------------------------------------------------------

// A block of the bootstrap arena moves to the real allocator.
static HS_COLD void *move_from_bootstrap(void *old, size_t size)
{
    size_t length = hs_bootstrap__size(old);
    void *block = hs_real.malloc(size);
    if (block)
        __builtin_memcpy(block, old, length < size ? length : size);
    return block;
}

static HS_COLD void *reallocate_nested(void *old, size_t size)
{
    struct hs_nesting nesting = hs_prof__enter_real();
    void *block = hs_real.realloc(old, size);
    hs_prof__leave_real(nesting);
    return block;
}

// The real part. The old block's sample is taken out before it: as soon as the real realloc has let go of the block,
// somebody else may get its address.
static inline void *reallocate(void *old, size_t size)
{
    if (HS_UNLIKELY(hs_bootstrap__owns(old)))
        return move_from_bootstrap(old, size);
    struct hs_sampler_thread *thread = hs_sampler_self;
    size_t usable =
        thread->quick ? hs_prof_usable_in_header(old) : hs_prof_counted_size(hs_real.malloc_usable_size(old));
    struct hs_taken_sample taken = {0, 0};
    if (HS_UNLIKELY(hs_filter__may_hold((uintptr_t)old)))
        taken = hs_sampler__take(thread, (uintptr_t)old);
    void *block = thread->quick ? hs_real.realloc(old, size) : reallocate_nested(old, size);
    bool failed = !block && size;
    if (HS_LIKELY(!failed && thread->ready))
        thread->deallocated += usable;
    if (HS_UNLIKELY(taken.index) && failed)
        hs_sampler__give_back(thread, taken);
    else if (HS_UNLIKELY(taken.index))
        hs_sampler__drop(thread, taken);
    return block;
}

static inline void *reallocate_nothing(size_t size)
{
    return HS_LIKELY(hs_sampler_self->quick) ? hs_real.realloc(NULL, size) : reallocate_nested(NULL, size);
}

// realloc(block, 0), as the option zero_realloc wants it.
static HS_COLD __attribute__((noinline)) void *reallocate_to_nothing(void *old)
{
    __atomic_fetch_add(&hs_prof_zero_reallocs, 1, __ATOMIC_RELAXED);
    switch (hs_prof_options.zero_realloc) {
    case HS_ZERO_REALLOC_ABORT:
        hs_prof__abort("<jemalloc>: Called realloc(non-null-ptr, 0) with \"zero_realloc:abort\" set\n");
        return NULL;
    case HS_ZERO_REALLOC_FREE:
        free(old);
        return NULL;
    case HS_ZERO_REALLOC_ALLOC:
        return reallocate(old, 1);
    default:
        return reallocate(old, 0);
    }
}

HS_EXPORT void *realloc(void *old, size_t size);
HS_EXPORT void *realloc(void *old, size_t size)
{
    if (!old)
        ALLOCATE(size, reallocate_nothing(size));
    ALLOCATE(size, HS_LIKELY(size) ? reallocate(old, size) : reallocate_to_nothing(old));
}

HS_EXPORT void *reallocarray(void *old, size_t count, size_t size);
HS_EXPORT void *reallocarray(void *old, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        hs_real__set_errno(ENOMEM);
        return NULL;
    }
    if (!old)
        ALLOCATE(total, reallocate_nothing(total));
    ALLOCATE(total, HS_LIKELY(total) ? reallocate(old, total) : reallocate_to_nothing(old));
}

// ---- queries --------------------------------------------------------------------------------------------------------

HS_EXPORT size_t malloc_usable_size(void *block);
HS_EXPORT size_t malloc_usable_size(void *block)
{
    if (HS_UNLIKELY(block && hs_bootstrap__owns(block)))
        return hs_bootstrap__size(block);
    return hs_real.malloc_usable_size(block);
}
