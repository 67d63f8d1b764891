// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The allocation family of C. Each function calls the real one and changes nothing about it; a free first looks whether
// the block is a sample.
#include "arch/likely.h"
#include "runtime/memory.h"
#include "runtime/prof/sampler.h"
#include "runtime/prof/samples.h"
#include "shims/common/aligned.h"
#include "shims/common/operators.h"
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
static HS_COLD __attribute__((noinline)) void *calloc_nested(size_t count, size_t size)
{
    ALLOCATE_NESTED(count * size, hs_real.calloc(count, size));
}

HS_EXPORT void *calloc(size_t count, size_t size)
{
    if (HS_UNLIKELY(!hs_sampler_self->quick)) // of an unknown allocator
        return calloc_nested(count, size);
    ALLOCATE(count * size, hs_real.calloc(count, size));
}

static HS_COLD __attribute__((noinline)) void *allocate_aligned(size_t first, size_t size,
                                                                aligned_function *const *real)
{
    if (HS_UNLIKELY(!*real))
        hs_real__resolve();
    if (HS_UNLIKELY(!*real))
        return allocate_fallback(first, size, real);
    ALLOCATE_NESTED(size, (*real)(first, size));
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

// ---- operators of the C++ library -----------------------------------------------------------------------------------

// With the size itself, more than the usable size of a block exceeds it: blocks that are rounded up to whole pages have
// at least a page.
enum { EXCESS = 8192 };

// The stack of a sample has the C++ library's operator in it, so that one makes the sample. It also does what there is
// to do when there is no memory.
static void *make_directly(uintptr_t size, uintptr_t second, uintptr_t third, struct operator* operator)
{
    (void)second, (void)third, (void)operator;
    const struct hs_sampler_thread *thread = hs_sampler_self;
    if (HS_UNLIKELY(thread->allocated + 2 * (uint64_t)size + EXCESS >= thread->next))
        return hs_operator__library_new(size, 0, 0, NULL);
    void *block = hs_prof_quick_malloc(size);
    if (HS_UNLIKELY(!block))
        return hs_operator__library_new(size, 0, 0, NULL);
    HS_PROF_RETURN_QUICKLY(block, size);
}

hs_operator_function *const hs_operator__directly[HS_OPERATOR_KINDS] = {NULL, make_directly, (void *)free};

// ---- free with more arguments ---------------------------------------------------------------------------------------

HS_EXPORT HS_COLD void cfree(void *block);
HS_EXPORT void cfree(void *block)
{
    free(block);
}

typedef void sized_function(void *block, size_t second, size_t third);

HS_COLD void hs_prof__release_with(void *block, size_t second, size_t third, void *real)
{
    if (!real) {
        free(block);
        return;
    }
    struct hs_registers caller;
    HS_CAPTURE_CALLER(&caller);
    if (!block || (hs_filter__may_hold((uintptr_t)block) && hs_prof__release(&caller, block)))
        return;
    if (hs_sampler_self->ready)
        hs_sampler_self->deallocated += hs_prof_counted_size(hs_real.malloc_usable_size(block));
    ((sized_function *)real)(block, second, third);
}

HS_EXPORT HS_COLD void free_sized(void *block, size_t size);
HS_EXPORT void free_sized(void *block, size_t size)
{
    hs_prof__release_with(block, size, 0, (void *)hs_real.free_sized);
}

HS_EXPORT HS_COLD void free_aligned_sized(void *block, size_t alignment, size_t size);
HS_EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size)
{
    hs_prof__release_with(block, alignment, size, (void *)hs_real.free_aligned_sized);
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

// The real part. The old block's sample is taken out before it: as soon as the real realloc has released the block,
// another thread may get its address.
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
    ALLOCATE(size, !old              ? reallocate_nothing(size)
                   : HS_LIKELY(size) ? reallocate(old, size)
                                     : reallocate_to_nothing(old));
}

HS_EXPORT HS_COLD void *reallocarray(void *old, size_t count, size_t size);
HS_EXPORT void *reallocarray(void *old, size_t count, size_t size)
{
    size_t total;
    if (!__builtin_mul_overflow(count, size, &total))
        return realloc(old, total);
    hs_real__set_errno(ENOMEM);
    return NULL;
}

// ---- queries --------------------------------------------------------------------------------------------------------

HS_EXPORT size_t malloc_usable_size(void *block);
HS_EXPORT size_t malloc_usable_size(void *block)
{
    if (HS_UNLIKELY(block && hs_bootstrap__owns(block)))
        return hs_bootstrap__size(block);
    return hs_real.malloc_usable_size(block);
}
