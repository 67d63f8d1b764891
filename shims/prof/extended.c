// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The *allocx family. An allocator that has it gets the call with all its flags; any other one serves it with what it
// has: arenas and thread caches mean nothing to it. It is asked for what nallocx() says, since programs use all of
// that.
#include "runtime/prof/size_classes.h"
#include "shims/prof/hooks.h"

enum { ALIGNMENT_BITS = 63, ZERO = 64, NATURAL_ALIGNMENT = 2 * sizeof(void *) };

// Like jemalloc's: blocks of up to SMALL bytes share pages, others begin at LARGE.
enum { SMALL = 14336, LARGE = 16384, PAGE = 4096 };

static struct {
    void *(*mallocx)(size_t size, int flags);
    void *(*rallocx)(void *block, size_t size, int flags);
    size_t (*xallocx)(void *block, size_t size, size_t extra, int flags);
    size_t (*nallocx)(size_t size, int flags);
    void (*dallocx)(void *block, int flags);
    void (*sdallocx)(void *block, size_t size, int flags);
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
        *(void **)&next.dallocx = hs_real__find("dallocx");
        *(void **)&next.sdallocx = hs_real__find("sdallocx");
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

// ---- sizes ----------------------------------------------------------------------------------------------------------

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

// The size class that jemalloc would use for a request; 0: impossible.
static size_t class_of(size_t size, int flags)
{
    size_t alignment = alignment_of(flags);
    return (size_t)(alignment == 1 ? hs_size_class(size) : aligned_class(size, alignment));
}

HS_EXPORT size_t nallocx(size_t size, int flags);
HS_EXPORT size_t nallocx(size_t size, int flags)
{
    return has_next() && next.nallocx ? next.nallocx(size, flags) : class_of(size, flags);
}

HS_EXPORT size_t sallocx(const void *block, int flags);
HS_EXPORT size_t sallocx(const void *block, int flags)
{
    (void)flags;
    return usable_size((void *)(uintptr_t)block);
}

// ---- allocation -----------------------------------------------------------------------------------------------------

static void *allocate_aligned(size_t size, size_t alignment)
{
    if (!hs_real.memalign)
        hs_real__resolve();
    struct hs_nesting nesting = hs_prof__enter_real();
    void *block = hs_real.memalign ? hs_real.memalign(alignment, size) : NULL;
    hs_prof__leave_real(nesting);
    return block;
}

// Makes zero what the block has beyond `from`: all of it may be used.
static void clear_from(char *block, size_t from)
{
    size_t usable = usable_size(block);
    if (usable > from)
        __builtin_memset(block + from, 0, usable - from);
}

static void *allocate(size_t size, int flags)
{
    if (has_next())
        return next.mallocx(size, flags);
    size_t class_size = class_of(size, flags);
    if (HS_UNLIKELY(!class_size))
        return NULL;
    bool aligned = alignment_of(flags) > NATURAL_ALIGNMENT, zero = flags & ZERO;
    void *block = HS_UNLIKELY(aligned) ? allocate_aligned(class_size, alignment_of(flags))
                  : zero               ? hs_real.calloc(1, class_size)
                                       : hs_real.malloc(class_size);
    if (block && zero)
        clear_from(block, aligned ? 0 : class_size);
    return block;
}

HS_EXPORT void *mallocx(size_t size, int flags);
HS_EXPORT void *mallocx(size_t size, int flags)
{
    void *block = allocate(size, flags);
    if (HS_UNLIKELY(!block))
        return NULL;
    HS_PROF_RETURN(block, size);
}

// ---- change of size -------------------------------------------------------------------------------------------------

// All that both blocks have is kept; what is behind the old block's end is zero afterwards, where that is asked for.
static void *resize(void *old, size_t old_usable, size_t size, int flags)
{
    size_t class_size = class_of(size, flags);
    bool moves = alignment_of(flags) > NATURAL_ALIGNMENT || hs_bootstrap__owns(old);
    void *block = !class_size ? NULL : moves ? allocate(size, flags & ~ZERO) : hs_real.realloc(old, class_size);
    if (!block)
        return NULL;
    if (moves) {
        size_t usable = usable_size(block);
        __builtin_memcpy(block, old, old_usable < usable ? old_usable : usable);
        if (!hs_bootstrap__owns(old))
            hs_real.free(old);
    }
    if (flags & ZERO)
        clear_from(block, old_usable);
    return block;
}

// As in realloc(): the old block's sample is taken out before the real function releases the address.
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

// Without such a function, no block grows in place: the unchanged size is always a valid answer.
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

HS_EXPORT void dallocx(void *block, int flags);
HS_EXPORT void dallocx(void *block, int flags)
{
    hs_prof__release_with(block, (size_t)flags, 0, has_next() ? (void *)next.dallocx : NULL);
}

HS_EXPORT void sdallocx(void *block, size_t size, int flags);
HS_EXPORT void sdallocx(void *block, size_t size, int flags)
{
    hs_prof__release_with(block, size, (size_t)flags, has_next() ? (void *)next.sdallocx : NULL);
}
