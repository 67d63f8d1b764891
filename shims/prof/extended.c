// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The *allocx family. An allocator that has it gets the call with all its flags; any other one serves it with what it
// has: arenas and thread caches mean nothing to it.
#include "runtime/prof/size_classes.h"
#include "shims/prof/hooks.h"

enum { ALIGNMENT_BITS = 63, ZERO = 64, NATURAL_ALIGNMENT = 2 * sizeof(void *) };

// As jemalloc's: blocks of up to SMALL bytes share pages, others begin at LARGE.
enum { SMALL = 14336, LARGE = 16384, PAGE = 4096 };

static struct {
    void *(*mallocx)(size_t size, int flags);
    void *(*rallocx)(void *block, size_t size, int flags);
    size_t (*xallocx)(void *block, size_t size, size_t extra, int flags);
    size_t (*nallocx)(size_t size, int flags);
} next;
static _Atomic bool next_is_known;

static __attribute__((noinline)) void look_for_next(void)
{
    void *found = hs_real__find("mallocx");
    if (found && hs_real__same_module(found, (const void *)hs_real.malloc)) {
        *(void **)&next.mallocx = found;
        *(void **)&next.rallocx = hs_real__find("rallocx");
        *(void **)&next.xallocx = hs_real__find("xallocx");
        *(void **)&next.nallocx = hs_real__find("nallocx");
    }
    atomic_store_explicit(&next_is_known, true, memory_order_release);
}

static inline bool has_next(void)
{
    if (HS_UNLIKELY(!atomic_load_explicit(&next_is_known, memory_order_acquire)))
        look_for_next();
    return next.mallocx != NULL;
}

static inline size_t alignment_of(int flags)
{
    return (size_t)1 << (flags & ALIGNMENT_BITS & (sizeof(size_t) * 8 - 1));
}

static size_t usable_size(void *block)
{
    return hs_bootstrap__owns(block) ? hs_bootstrap__size(block) : hs_real.malloc_usable_size(block);
}

// ---- allocation -----------------------------------------------------------------------------------------------------

static void *allocate_aligned(size_t size, int flags)
{
    if (!hs_real.memalign)
        hs_real__resolve();
    struct hs_nesting nesting = hs_prof__enter_real();
    void *block = hs_real.memalign ? hs_real.memalign(alignment_of(flags), size) : NULL;
    hs_prof__leave_real(nesting);
    if (block && flags & ZERO)
        __builtin_memset(block, 0, size);
    return block;
}

static void *allocate(size_t size, int flags)
{
    if (has_next())
        return next.mallocx(size, flags);
    if (HS_UNLIKELY(alignment_of(flags) > NATURAL_ALIGNMENT))
        return allocate_aligned(size, flags);
    return flags & ZERO ? hs_real.calloc(1, size) : hs_real.malloc(size);
}

HS_EXPORT void *mallocx(size_t size, int flags);
HS_EXPORT void *mallocx(size_t size, int flags)
{
    void *block = allocate(size, flags);
    if (HS_UNLIKELY(!block))
        return NULL;
    HS_PROF_RETURN(block, size);
}

// ---- sizes ----------------------------------------------------------------------------------------------------------

HS_EXPORT size_t sallocx(const void *block, int flags);
HS_EXPORT size_t sallocx(const void *block, int flags)
{
    (void)flags;
    return usable_size((void *)(uintptr_t)block);
}

static uint64_t aligned_class(uint64_t size, uint64_t alignment)
{
    if (size <= SMALL && alignment <= PAGE) {
        uint64_t class_size = hs_size_class((size + alignment - 1) & ~(alignment - 1));
        if (class_size < LARGE)
            return class_size;
    }
    uint64_t class_size = size <= LARGE ? LARGE : hs_size_class(size), end;
    if (!hs_size_class(alignment) || __builtin_add_overflow(class_size, alignment + PAGE, &end) || end > SIZE_MAX)
        return 0;
    return class_size;
}

// What a request would get of jemalloc: programs round their requests up with it.
HS_EXPORT size_t nallocx(size_t size, int flags);
HS_EXPORT size_t nallocx(size_t size, int flags)
{
    if (has_next() && next.nallocx)
        return next.nallocx(size, flags);
    size_t alignment = alignment_of(flags);
    return (size_t)(alignment == 1 ? hs_size_class(size) : aligned_class(size, alignment));
}

// ---- change of size -------------------------------------------------------------------------------------------------

// What is behind the old block's end is zero afterwards.
static void *resize(void *old, size_t old_usable, size_t size, int flags)
{
    bool moves = alignment_of(flags) > NATURAL_ALIGNMENT || hs_bootstrap__owns(old);
    void *block = moves ? allocate(size, flags & ~ZERO) : hs_real.realloc(old, size);
    if (!block)
        return NULL;
    size_t usable = hs_real.malloc_usable_size(block);
    if (moves) {
        __builtin_memcpy(block, old, old_usable < size ? old_usable : size);
        if (!hs_bootstrap__owns(old))
            hs_real.free(old);
    }
    if (flags & ZERO && usable > old_usable)
        __builtin_memset((char *)block + old_usable, 0, usable - old_usable);
    return block;
}

// As realloc() does it: the old block's sample is out before the real function lets go of the address.
static void *reallocate(void *old, size_t size, int flags)
{
    struct hs_sampler_thread *thread = hs_sampler_self;
    size_t usable = usable_size(old);
    bool jemalloc = has_next() && next.rallocx && !hs_bootstrap__owns(old);
    struct hs_taken_sample taken = {0, 0};
    if (HS_UNLIKELY(hs_filter__may_hold((uintptr_t)old)))
        taken = hs_sampler__take(thread, (uintptr_t)old);
    void *block = jemalloc ? next.rallocx(old, size, flags) : resize(old, usable, size, flags);
    if (block && thread->ready)
        thread->deallocated += hs_prof_counted_size(usable);
    if (taken.index && !block)
        hs_sampler__give_back(thread, taken);
    else if (taken.index)
        hs_sampler__drop(thread, taken);
    return block;
}

HS_EXPORT void *rallocx(void *old, size_t size, int flags);
HS_EXPORT void *rallocx(void *old, size_t size, int flags)
{
    void *block = reallocate(old, size, flags);
    if (HS_UNLIKELY(!block))
        return NULL;
    HS_PROF_RETURN(block, size);
}

// Nothing grows in place where there is no such function: its size as it is is always an answer.
HS_EXPORT size_t xallocx(void *block, size_t size, size_t extra, int flags);
HS_EXPORT size_t xallocx(void *block, size_t size, size_t extra, int flags)
{
    size_t before = usable_size(block);
    if (!has_next() || !next.xallocx || hs_bootstrap__owns(block))
        return before;
    size_t now = next.xallocx(block, size, extra, flags);
    struct hs_sampler_thread *thread = hs_sampler_self;
    if (now == before || !thread->ready)
        return now;
    // A block of another size is another block to the sampler.
    struct hs_registers caller;
    HS_CAPTURE_CALLER(&caller);
    if (hs_filter__may_hold((uintptr_t)block))
        hs_sampler__drop(thread, hs_sampler__take(thread, (uintptr_t)block));
    thread->deallocated += hs_prof_counted_size(before);
    hs_prof__count(&caller, block, size);
    return now;
}

// ---- free -----------------------------------------------------------------------------------------------------------

extern void free(void *block);

HS_EXPORT void dallocx(void *block, int flags);
HS_EXPORT void dallocx(void *block, int flags)
{
    (void)flags;
    free(block);
}

HS_EXPORT void sdallocx(void *block, size_t size, int flags);
HS_EXPORT void sdallocx(void *block, size_t size, int flags)
{
    (void)size, (void)flags;
    free(block);
}
